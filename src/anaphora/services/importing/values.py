"""What a parser yields, and the checks that all parsers share; every complaint names the file and the place in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Literal

from anaphora.domain.keys import checked_id, checked_text
from anaphora.domain.messages import NewMessage, Part, Role
from anaphora.errors import InvalidInput
from anaphora.rules.admission import new_message

#: a wrong word longer than this is not repeated in the error
_MAX_SHOWN = 40

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


class BadFile(InvalidInput):
    """A file, or one place in it, that cannot be imported.

    Attributes:
        file: the path as given.
        where: the line or the JSON path, such as `line 17` or `[3].messages[2]`; empty for the file as a whole.

    """

    def __init__(self, file: str, where: str, problem: str) -> None:
        super().__init__(": ".join(filter(None, (file, where, problem))))
        self.file = file
        self.where = where


@dataclass(frozen=True, slots=True)
class Place:
    """A value's place: the file, the line if the file is read by lines, and the path inside the JSON value."""

    file: str
    line: int | None = None
    path: str = ""

    def child(self, step: str | int) -> Place:
        """The place of a member (a name) or an element (a number) of the value here."""
        return Place(self.file, self.line, self.path + (f"[{step}]" if isinstance(step, int) else f".{step}"))

    @property
    def where(self) -> str:
        """`line 17`, `[3].messages[2]`, or `line 17, messages[2]`."""
        line = "" if self.line is None else f"line {self.line}"
        return ", ".join(filter(None, (line, self.path.removeprefix("."))))

    def bad(self, problem: str) -> BadFile:
        """The error that says what is wrong here."""
        return BadFile(self.file, self.where, problem)


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file: the whole object, an element of the outermost array, or a line."""

    value: object
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """Messages of one session, in order.

    A session may come in several pieces, one after the other or with others between: together they are the session.
    """

    #: None = the file does not say
    user: str | None
    session: str
    started_at: datetime | None
    messages: tuple[NewMessage, ...]
    #: as in `Append.turns`
    turns: Literal["single", "turn", "own"]
    #: the place in the file
    where: str
    #: the path of the file as given
    file: str
    #: what the messages are marked with: `import:openai`, ...
    source: str
    #: the larger conversation of which this session is a part; None = the session is the whole
    conversation: str | None = None


class Calls:
    """Ids for the calls of formats that have none: each result belongs to the oldest call without one."""

    def __init__(self) -> None:
        self._made = 0
        self._open: deque[str] = deque()

    def call(self) -> str:
        """The id of a new call."""
        self._made += 1
        self._open.append(f"call-{self._made}")
        return self._open[-1]

    def result(self) -> str | None:
        """The id of the call that the next result answers; None if there is none."""
        return self._open.popleft() if self._open else None


def nameless(place: Place, number: int) -> str:
    """The name of the `number`th conversation of a file, from 1, that has no name of its own."""
    return identifier(f"{PurePath(place.file).stem}-{number}", place, "a session named after the file")


def mapping(value: object, place: Place, what: str) -> Mapping[str, Any]:
    """The JSON object that stands here."""
    if not isinstance(value, dict):
        raise place.bad(f"expected {what} as a JSON object, not {kind(value)}")
    return value


def array(value: object, place: Place, what: str) -> list[Any]:
    """The JSON array that stands here."""
    if not isinstance(value, list):
        raise place.bad(f"expected {what} as a JSON array, not {kind(value)}")
    return value


def text(value: object, place: Place, what: str) -> str:
    """The string that stands here, if every store can hold it."""
    if not isinstance(value, str):
        raise place.bad(f"expected {what} as a string, not {kind(value)}")
    try:
        return checked_text(value, what)
    except InvalidInput as error:
        raise place.bad(str(error)) from None


def identifier(value: object, place: Place, what: str) -> str:
    """The identifier that stands here; a whole number is taken as its digits."""
    name = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value, place, what)
    try:
        return checked_id(name, what)
    except InvalidInput as error:
        raise place.bad(str(error)) from None


def first_identifier(value: Mapping[str, Any], place: Place, *names: str) -> str | None:
    """The identifier under the first of these names that is there and not null."""
    for name in names:
        if value.get(name) is not None:
            return identifier(value[name], place.child(name), name)
    return None


def month_of(name: str) -> int | None:
    """The number of an English month; read by hand because names must not depend on the locale."""
    return _MONTHS.index(name.lower()) + 1 if name.lower() in _MONTHS else None


def timestamp(value: object, place: Place) -> datetime | None:
    """The time that stands here, in UTC: ISO 8601 (UTC if it names no zone) or seconds since 1970; None for null."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value.strip())
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise place.bad("expected a time in ISO 8601, such as 2024-05-08T13:56:00Z, or in seconds since 1970")


def message(
    place: Place,
    role: Role,
    content: str,
    *,
    name: str | None = None,
    parts: Sequence[Part] = (),
    metadata: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
) -> NewMessage:
    """The message that stands here, if the log would take it."""
    try:
        return new_message(role, content, name=name, parts=parts, metadata=metadata, created_at=created_at)
    except InvalidInput as error:
        raise place.bad(str(error)) from None


def choice(value: object, place: Place, known: Mapping[str, Role]) -> Role:
    """The role behind the word that stands here."""
    role = known.get(value) if isinstance(value, str) else None
    if role is None:
        said = ascii(value) if isinstance(value, str) and len(value) <= _MAX_SHOWN else kind(value)
        raise place.bad(f"expected one of {', '.join(known)}, not {said}")
    return role


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a string", int: "a number", float: "a number", list: "an array", dict: "an object"}
    return names[type(value)]
