"""What the fields of an export's lines may hold, how they are written, and how they are read back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Self, TypeAlias, cast
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    WithJsonSchema,
)

from anaphora.domain.keys import MAX_ID_CHARS, SeqRange, checked_id, checked_text
from anaphora.domain.messages import Role, Trust
from anaphora.domain.summaries import Method, SummaryStatus

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_TIME_SCHEMA = {"type": "string", "format": "date-time", "pattern": f"^{_TIME.pattern}$"}
_SPAN_SCHEMA = {
    "type": "array",
    "items": {"type": "integer", "minimum": 0},
    "minItems": 2,
    "maxItems": 2,
    "description": "[start, stop): from the first number to before the second.",
}
#: the largest number that every database holds in a column of whole numbers
MOST: Final = 2**31 - 1


def _as_uuid(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = UUID(value)
    if str(found) != value:
        raise ValueError("a UUID has lower-case letters and hyphens")
    return found


def _as_time(value: object) -> object:
    if not isinstance(value, str):
        return value
    if not _TIME.fullmatch(value):
        raise ValueError("a time looks like 2026-05-08T13:56:00.000000Z")
    return datetime.fromisoformat(value)


def _time_text(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def _as_span(value: object) -> object:
    if not isinstance(value, list):
        return value
    if len(value) != 2 or not all(type(number) is int and number <= MOST for number in value):
        raise ValueError("a range is two whole numbers")
    return SeqRange(*value)


Id: TypeAlias = Annotated[
    InstanceOf[UUID],
    BeforeValidator(_as_uuid),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "uuid"}),
]
Time: TypeAlias = Annotated[
    InstanceOf[datetime],
    BeforeValidator(_as_time),
    PlainSerializer(_time_text, return_type=str),
    WithJsonSchema(_TIME_SCHEMA),
]
Span: TypeAlias = Annotated[
    InstanceOf[SeqRange],
    BeforeValidator(_as_span),
    PlainSerializer(lambda span: [span.start, span.stop], return_type=list[int]),
    WithJsonSchema(_SPAN_SCHEMA),
]
Text: TypeAlias = Annotated[str, AfterValidator(partial(checked_text, what="it"))]
Name: TypeAlias = Annotated[
    str, AfterValidator(partial(checked_id, what="it")), Field(min_length=1, max_length=MAX_ID_CHARS)
]
Count: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Json: TypeAlias = dict[str, Any]
RoleName: TypeAlias = Annotated[Role, Field(strict=False)]
TrustName: TypeAlias = Annotated[Trust, Field(strict=False)]
MethodName: TypeAlias = Annotated[Method, Field(strict=False)]
StatusName: TypeAlias = Annotated[SummaryStatus, Field(strict=False)]


class RecordModel(BaseModel):
    """A line, or a part of one: nothing that it does not name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @classmethod
    def of(cls, source: object, **more: Any) -> Self:  # noqa: ANN401 - the fields, by name
        """What `source` says, field by field; what it says otherwise, or not, is given. Nothing is checked."""
        said = {name: getattr(source, name) for name in cls.model_fields if name not in more}
        return cast("Self", cls.model_construct(**said, **more))
