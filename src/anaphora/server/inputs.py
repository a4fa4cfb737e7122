"""What requests say, part by part: bounded, so that none of it can be too large for a store."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import Header, Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
)

from anaphora.domain.keys import MAX_ID_CHARS, MAX_LIMIT, checked_text

#: numbers of messages, versions and the like: what every store can hold
MOST: Final = 2**31 - 1
#: tokens of a prompt
MOST_TOKENS: Final = 10_000_000
#: characters of what is looked for
MOST_CHARS: Final = 10_000
_WRITTEN: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)", flags=re.ASCII)
_DIGITS: Final = 10


def _time(value: object) -> object:
    """Times are written as in RFC 3339; what else could be read as one was not meant so."""
    if isinstance(value, str) and not _WRITTEN.fullmatch(value):
        raise ValueError("a time is written like 2026-01-05T09:00:00Z, with its zone")
    if isinstance(value, int | float):
        raise ValueError("a time is a text like 2026-01-05T09:00:00Z")  # noqa: TRY004 - pydantic reads this one
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time lies between year 1 and year 9999 in UTC") from None
    return value


def _moment(value: object) -> object:
    """A number of messages or a time, also where both are texts."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= MOST:  # it would be read as the seconds of a time
            raise ValueError(f"a number of messages is 0 to {MOST}")
        return value
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("a moment is a number of messages, or a time like 2026-01-05T09:00:00Z")  # noqa: TRY004
    try:
        return _TIMES.validate_python(value)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None


def _text(value: str) -> str:
    return checked_text(value, "a text")


Time = Annotated[AwareDatetime, BeforeValidator(_time), AfterValidator(_in_utc)]
_TIMES: Final = TypeAdapter[datetime](Time)
#: a text that every store can hold
Text = Annotated[str, AfterValidator(_text)]
Whole = Annotated[int, Strict()]
#: the number of a message in its session, or how many there are
Seq = Annotated[int, Query(ge=0, le=MOST)]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
AsOf = Annotated[
    Annotated[int, Field(ge=0, le=MOST)] | Annotated[AwareDatetime, AfterValidator(_in_utc)] | None,
    BeforeValidator(_moment),
]
_AS_OF: Final = "A moment of the past: when the log held so many messages, or a time with its zone."
QueryAsOf = Annotated[AsOf, Query(description=_AS_OF)]
IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=MAX_ID_CHARS, description="Makes a retry harmless: the same answer comes back."),
]


class Body(BaseModel):
    """A body of a request; what it does not know is an error."""

    model_config = ConfigDict(extra="forbid")
