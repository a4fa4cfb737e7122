"""The lines of an export: the one source of its writer, its parser and its JSON Schema.

Laws: a record is one line of JSON in UTF-8; its keys stand in the order of the fields here; a field that has its
default is left out; times are RFC 3339 in UTC with microseconds. So the same records give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema

from anaphora.domain.keys import MAX_ID_CHARS, SeqRange, checked_id, checked_text
from anaphora.domain.messages import Role, Trust
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.errors import InvalidInput

#: of the format; raised when older versions of Anaphora would misread what is written
VERSION: Final = 1

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_TIME_SCHEMA = {"type": "string", "format": "date-time", "pattern": f"^{_TIME.pattern}$"}
_SPAN_SCHEMA = {
    "type": "array",
    "items": {"type": "integer", "minimum": 0},
    "minItems": 2,
    "maxItems": 2,
    "description": "[start, stop): from the first number to before the second.",
}
#: breaks lines for some readers; inside JSON strings they can be written by their codes
_BREAKS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})
#: the largest number that every database holds in a column of whole numbers
_MOST: Final = 2**31 - 1
#: characters of an explanation
_MAX_SHOWN: Final = 200


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
    if len(value) != 2 or not all(type(number) is int and number <= _MOST for number in value):
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
Count: TypeAlias = Annotated[int, Field(ge=0, le=_MOST)]
Json: TypeAlias = dict[str, Any]
_RoleName: TypeAlias = Annotated[Role, Field(strict=False)]
_TrustName: TypeAlias = Annotated[Trust, Field(strict=False)]
_MethodName: TypeAlias = Annotated[Method, Field(strict=False)]
_StatusName: TypeAlias = Annotated[SummaryStatus, Field(strict=False)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class HeaderRecord(_Model):
    """The first line."""

    record: Literal["export"]
    format: Literal["anaphora"]
    version: Literal[1] = Field(description="Of the format. Later ones are refused.")


class SessionRecord(_Model):
    """One conversation. Its messages follow, then its summaries, then the moves of its readers."""

    record: Literal["session"]
    user: Name
    agent: Name
    session: Name
    strategy: Name | None = Field(default=None, description="How it is summarised; null: as configured.")
    subject: Text | None = None
    messages: Count = Field(description="How many follow, deleted ones too.")
    turn_finished: bool = Field(default=True, description="Whether the last turn has its answer.")
    created_at: Time
    updated_at: Time
    ended_at: Time | None = None


class MessageRecord(_Model):
    """One message as it is now. Its earlier versions follow. One that was deleted says nothing."""

    record: Literal["message"]
    id: Id
    seq: Count = Field(description="Its number in the session, from 0, without holes.")
    turn: Count = Field(description="The number of the first message of its turn.")
    role: _RoleName
    name: Text | None = None
    content: Text = ""
    parts: list[Json] = Field(default_factory=list)
    metadata: Json = Field(default_factory=dict)
    tokens: Count
    source: Text
    trust: _TrustName
    created_at: Time = Field(description="When it was said.")
    appended_at: Time = Field(description="When it was stored.")
    version: int = Field(default=1, ge=1, le=_MOST)
    changed_at: Time | None = Field(default=None, description="When it was last edited or deleted.")
    deleted: bool = False


class VersionRecord(_Model):
    """What the message before said in an earlier version."""

    record: Literal["version"]
    seq: Count
    version: int = Field(ge=1, le=_MOST)
    name: Text | None = None
    content: Text = ""
    parts: list[Json] = Field(default_factory=list)
    metadata: Json = Field(default_factory=dict)
    tokens: Count
    changed_at: Time | None = None
    replaced_at: Time = Field(description="When the next version took its place.")
    replaced_head: Count = Field(description="How many messages the session had then.")


class PointRecord(_Model):
    """One statement of a summary."""

    range: Span
    elided: list[Span] = Field(default_factory=list, description="What of the range it says nothing about.")
    text: Text
    method: _MethodName
    tokens: Count


class StateRecord(_Model):
    """A status that a summary reached, and when."""

    status: _StatusName
    at: Time
    log_head: Count = Field(description="How many messages the session had then.")


class SummaryRecord(_Model):
    """One version of a summary, with its points and every status that it ever had."""

    record: Literal["summary"]
    id: Id
    strategy: Name
    version: int = Field(ge=1, le=_MOST)
    base_id: Id | None = Field(default=None, description="The version that it carried on from.")
    range: Span
    status: _StatusName
    method: _MethodName
    model: Text | None = None
    prompt_version: Text | None = None
    trust: _TrustName
    tokens: Count
    generation_ms: Count
    created_at: Time
    points: list[PointRecord] = Field(min_length=1)
    states: list[StateRecord] = Field(min_length=1)


class MoveRecord(_Model):
    """A reader of the session went there; where it went last, it stands."""

    record: Literal["move"]
    reader: Name
    position: Count
    summary_id: Id | None = None
    at: Time
    log_head: Count = Field(description="How many messages the session had then.")


class ReceiptRecord(_Model):
    """What an append returned."""

    record: Literal["receipt"]
    id: Id
    user: Name
    agent: Name
    session: Name
    range: Span
    created_at: Time
    erased: bool = Field(default=False, description="The session was reset since: its messages are gone.")


class FooterRecord(_Model):
    """The last line: what the export holds, and the sum of all lines before."""

    record: Literal["end"]
    users: Count
    sessions: Count
    messages: Count
    versions: Count
    summaries: Count
    moves: Count
    receipts: Count
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of all lines before, each with its line feed.")


Record: TypeAlias = (
    HeaderRecord
    | SessionRecord
    | MessageRecord
    | VersionRecord
    | SummaryRecord
    | MoveRecord
    | ReceiptRecord
    | FooterRecord
)

#: what `record` may be, in the order in which records stand
KINDS: Final = ("export", "session", "message", "version", "summary", "move", "receipt", "end")


def header() -> HeaderRecord:
    """The header of this version."""
    return HeaderRecord(record="export", format="anaphora", version=VERSION)


def is_header(value: object) -> bool:
    """True if a JSON value is the first line of an export, of whichever version."""
    return isinstance(value, Mapping) and (value.get("record"), value.get("format")) == ("export", "anaphora")


def line_of(record: Record) -> str:
    """The record as a line, with its line feed."""
    text = json.dumps(
        record.model_dump(exclude_defaults=True), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return text.translate(_BREAKS) + "\n"


def record_of(line: str) -> Record:
    """The record of a line.

    Raises:
        InvalidInput: it is none; the message names the field, and never what it holds.

    """
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"expected valid JSON ({error.msg[:1].lower()}{error.msg[1:]})") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"expected valid JSON ({error})") from None
    if is_header(value) and type(value.get("version")) is int and value["version"] > VERSION:
        raise InvalidInput(f"the export was written by a later version of Anaphora ({value['version']}): upgrade first")
    if not isinstance(value, dict) or value.get("record") not in KINDS:
        raise InvalidInput(f"expected a record of an export: an object whose `record` is one of {', '.join(KINDS)}")
    try:
        return _adapter().validate_python(value)
    except ValidationError as error:
        raise InvalidInput(_explained(error)) from None


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a line."""
    made = _adapter().json_schema(schema_generator=_Untitled)
    del made["discriminator"]  # a word of OpenAPI, not of JSON Schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an Anaphora export",
        **made,
    }


class _Untitled(GenerateJsonSchema):
    """Without the titles of fields, which repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Annotated[Record, Field(discriminator="record")])


def _explained(error: ValidationError) -> str:
    """The first thing that is wrong, in one line, without what was given."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"][1:])
    said = first["msg"].removeprefix("Value error, ")
    return f"{place.removeprefix('.') or 'record'}: {said[:1].lower()}{said[1:]}"[:_MAX_SHOWN]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
