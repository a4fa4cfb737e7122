"""Who and which: session keys, ranges of the log, and time-ordered ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from uuid import UUID

from anaphora.errors import InvalidInput

MAX_ID_CHARS = 200
#: four names stand together in one entry of an index, which has room for little more
MAX_ID_BYTES = 512
#: entries of one list
MAX_LIMIT = 1000
#: how Python keeps the bytes of a command line that are no UTF-8
_UNREAD = frozenset(map(chr, range(0xDC80, 0xDD00)))


def checked_text(value: str, what: str) -> str:
    """The value itself, if every store can hold it.

    Raises:
        InvalidInput: it is no string, or holds NUL or lone surrogates.

    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}")
    if "\x00" in value:
        raise InvalidInput(f"{what} contains a NUL character: remove it")
    if value.isascii():
        return value
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        if value[error.start] in _UNREAD:
            raise InvalidInput(f"{what} is not valid UTF-8") from None
        raise InvalidInput(f"{what} contains half a surrogate pair: it is not valid Unicode text") from None
    return value


def checked_id(value: str, what: str) -> str:
    """An identifier as given: 1 to 200 characters of any script, at most 512 bytes; never a path, never normalised."""
    checked_text(value, what)
    if not value.strip():
        raise InvalidInput(f"{what} must not be empty")
    if len(value) > MAX_ID_CHARS:
        raise InvalidInput(f"{what} is longer than {MAX_ID_CHARS} characters")
    if not value.isascii() and len(value.encode()) > MAX_ID_BYTES:
        raise InvalidInput(f"{what} is longer than {MAX_ID_BYTES} bytes of UTF-8")
    return value


def check_names(*, tenant: str, user: str | None = None, agent: str | None = None) -> None:
    """Refuse names that cannot be one; None names nobody in particular.

    Raises:
        InvalidInput: one is empty, too long, or no text that every store can hold.

    """
    for what, name in (("tenant", tenant), ("user", user), ("agent", agent)):
        if name is not None:
            checked_id(name, what)


def check_limit(limit: int, most: int = MAX_LIMIT) -> None:
    """Refuse to list none, or too many at once.

    Raises:
        InvalidInput: it is no whole number between 1 and `most`.

    """
    if type(limit) is not int:
        raise InvalidInput(f"limit must be a whole number from 1 to {most}")
    if not 1 <= limit <= most:
        raise InvalidInput(f"limit must be between 1 and {most}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """The name of one conversation. Two keys are the same session only if all four parts are equal."""

    tenant: str
    user: str
    agent: str
    session: str

    def __post_init__(self) -> None:
        for part in ("tenant", "user", "agent", "session"):
            checked_id(getattr(self, part), part)


@dataclass(frozen=True, slots=True, order=True)
class SeqRange:
    """A half-open range `[start, stop)` of sequence numbers: the only range type."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise InvalidInput(f"not a range of sequence numbers: [{self.start}, {self.stop})")

    def __len__(self) -> int:
        return self.stop - self.start

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and self.start <= seq < self.stop

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.stop))

    def __str__(self) -> str:
        return f"[{self.start}, {self.stop})"

    def contains(self, other: SeqRange) -> bool:
        """True if every number of the other range is in this one."""
        return not other or (self.start <= other.start and other.stop <= self.stop)

    def clip(self, other: SeqRange) -> SeqRange:
        """What both ranges share; empty (at this range's nearer end) if they share nothing."""
        start = min(max(self.start, other.start), self.stop)
        return SeqRange(start, max(start, min(self.stop, other.stop)))


_START = attrgetter("start")


def union(ranges: Iterable[SeqRange]) -> tuple[SeqRange, ...]:
    """The same numbers as sorted, disjoint, non-adjacent ranges."""
    out: list[SeqRange] = []
    stop = -1
    for item in sorted((r for r in ranges if r.start < r.stop), key=_START):
        if item.start > stop:
            out.append(item)
        elif item.stop > stop:
            out[-1] = SeqRange(out[-1].start, item.stop)
        stop = max(stop, item.stop)
    return tuple(out)


def subtract(whole: Iterable[SeqRange], holes: Iterable[SeqRange]) -> tuple[SeqRange, ...]:
    """The numbers of `whole` that are in none of `holes`, as sorted disjoint ranges."""
    left: list[SeqRange] = []
    gaps = union(holes)
    near = 0
    for item in union(whole):
        start = item.start
        while near < len(gaps) and gaps[near].stop <= start:
            near += 1
        following = near
        while following < len(gaps) and gaps[following].start < item.stop:
            gap = gaps[following]
            if gap.start > start:
                left.append(SeqRange(start, gap.start))
            start = gap.stop
            following += 1
        if start < item.stop:
            left.append(SeqRange(start, item.stop))
    return tuple(left)


def count_in(span: SeqRange, ranges: Iterable[SeqRange]) -> int:
    """How many numbers of the span are in one of the disjoint ranges."""
    return sum(len(span.clip(item)) for item in ranges)


def uuid7(now: datetime, randomness: bytes) -> UUID:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds, then random bits.

    Args:
        now: an aware time.
        randomness: at least 10 random bytes.

    """
    millis = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    tail = int.from_bytes(randomness[:10], "big")
    value = (millis << 80) | (0x7 << 76) | ((tail >> 68 & 0xFFF) << 64) | (0b10 << 62) | (tail & ((1 << 62) - 1))
    return UUID(int=value)
