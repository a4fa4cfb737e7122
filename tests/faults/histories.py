"""What several processes did to a few lists and saw of them, and what of that cannot be (F11).

Appends and reads are known by the moments at which they began and ended, on one clock. An append that never ended may
have happened or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True, kw_only=True)
class Append:
    """A value was put at the end of a list; one that was tried again begins at its first attempt."""

    key: str
    value: str
    begun: float
    #: None: nobody knows whether it happened
    ended: float | None = None
    #: the place that was acknowledged
    seq: int | None = None


@dataclass(frozen=True, kw_only=True)
class Read:
    """A whole list was read."""

    key: str
    values: Sequence[str]
    begun: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """Only the length of a list was seen."""

    key: str
    length: int
    begun: float
    ended: float


_Event = TypeVar("_Event", Append, Read, Glimpse)


def anomalies(appends: Iterable[Append], reads: Iterable[Read], glimpses: Iterable[Glimpse] = ()) -> list[str]:
    """Everything that is wrong, in words; nothing is wrong with an empty list."""
    appends_of, reads_of, glimpses_of = _by_key(appends), _by_key(reads), _by_key(glimpses)
    return [
        f"{key}: {what}"
        for key in sorted({*appends_of, *reads_of, *glimpses_of})
        for what in _of_one(appends_of[key], reads_of[key], glimpses_of[key])
    ]


def _by_key(events: Iterable[_Event]) -> dict[str, list[_Event]]:
    found: dict[str, list[_Event]] = defaultdict(list)
    for event in events:
        found[event.key].append(event)
    return found


def _of_one(appends: Sequence[Append], reads: Sequence[Read], glimpses: Sequence[Glimpse]) -> Iterator[str]:
    longest: Sequence[str] = max((read.values for read in reads), key=len, default=())
    yield from _doubled(longest)
    yield from _reordered(longest, reads)
    yield from _misplaced(longest, appends)
    yield from _lost(appends, reads)
    yield from _from_nowhere(appends, reads)
    yield from _stale(appends, reads, glimpses)


def _doubled(longest: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for value in longest:
        if value in seen:
            yield f"doubled: {value}"
        seen.add(value)


def _reordered(longest: Sequence[str], reads: Sequence[Read]) -> Iterator[str]:
    """All that was ever read is the beginning of one and the same list."""
    for read in reads:
        if list(read.values) != list(longest[: len(read.values)]):
            at = next(at for at, (one, other) in enumerate(zip(read.values, longest, strict=False)) if one != other)
            yield f"reordered: {read.values[at]} and {longest[at]} are both at {at}"


def _misplaced(longest: Sequence[str], appends: Sequence[Append]) -> Iterator[str]:
    for append in appends:
        if append.seq is not None and append.seq < len(longest) and longest[append.seq] != append.value:
            yield f"misplaced: {append.value} is not at {append.seq}"


def _lost(appends: Sequence[Append], reads: Sequence[Read]) -> Iterator[str]:
    """What was acknowledged before a read began is in it."""
    for read in reads:
        there = set(read.values)
        for append in appends:
            if append.ended is not None and append.ended < read.begun and append.value not in there:
                yield f"lost: {append.value}"


def _from_nowhere(appends: Sequence[Append], reads: Sequence[Read]) -> Iterator[str]:
    """Nothing is read before somebody has begun to write it."""
    begun = {append.value: append.begun for append in appends}
    for read in reads:
        for value in read.values:
            if value not in begun or begun[value] > read.ended:
                yield f"from nowhere: {value}"


def _stale(appends: Sequence[Append], reads: Sequence[Read], glimpses: Sequence[Glimpse]) -> Iterator[str]:
    """What was seen before is not unseen later; a glimpse shows at least what was acknowledged before."""
    lengths = [Glimpse(key=r.key, length=len(r.values), begun=r.begun, ended=r.ended) for r in reads]
    acknowledged = [
        Glimpse(key=a.key, length=a.seq + 1, begun=a.begun, ended=a.ended)
        for a in appends
        if a.seq is not None and a.ended is not None
    ]
    earlier = sorted((*lengths, *glimpses, *acknowledged), key=lambda seen: seen.ended)
    at, most = 0, 0
    for later in sorted((*lengths, *glimpses), key=lambda seen: seen.begun):
        while at < len(earlier) and earlier[at].ended < later.begun:
            most = max(most, earlier[at].length)
            at += 1
        if later.length < most:
            yield f"stale: {later.length} where {most} were known"
