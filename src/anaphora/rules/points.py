"""How the points of the next summary version come to be: placed, slid, merged, fitted. Nothing is lost silently."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from anaphora.domain.keys import SeqRange, subtract, union
from anaphora.domain.summaries import Method, Point
from anaphora.rules.text import truncate
from anaphora.rules.tokens import Count

#: how many separate elided stretches one point keeps apart; beyond that, neighbours are joined
MAX_ELIDED = 32

Statement = tuple[str, tuple[SeqRange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the tokens of a summary are divided before the model is asked."""

    #: for the new points together
    new: int
    #: for the one point that the oldest become
    merged: int
    #: how many of the oldest points should become one: 0, or at least 2
    merge: int


def shares(points: Sequence[Point], max_tokens: int) -> Shares:
    """A third for what is new; where that leaves too little for the rest, its oldest become one of at most a third."""
    new = max(16, max_tokens // 3)
    merged = max(12, max_tokens // 3)
    held = sum(point.tokens for point in points)
    if held + new <= max_tokens or len(points) < 2:
        return Shares(new=new, merged=merged, merge=0)
    room = max(0, max_tokens - new - merged)
    kept, rest = 0, 0
    for point in reversed(points):
        if rest + point.tokens > room or len(points) - kept <= 2:
            break
        rest += point.tokens
        kept += 1
    return Shares(new=new, merged=merged, merge=len(points) - kept)


def place(statements: Sequence[Statement], span: SeqRange, *, method: Method, count: Count) -> tuple[Point, ...]:
    """Statements with citations inside the span as points that tile it.

    Statements whose citations interleave become one point. A message of the span that no statement cites is elided.
    """
    groups: list[tuple[list[str], list[SeqRange]]] = []
    for text, cites in sorted(statements, key=lambda item: (min(item[1]).start, max(c.stop for c in item[1]))):
        hull = min(cites).start
        if groups and hull < max(c.stop for c in groups[-1][1]):
            groups[-1][0].append(text)
            groups[-1][1].extend(cites)
        else:
            groups.append(([text], list(cites)))
    points: list[Point] = []
    for index, (texts, cited) in enumerate(groups):
        start = span.start if index == 0 else points[-1].range.stop
        later = groups[index + 1][1] if index + 1 < len(groups) else None
        tile = SeqRange(start, min(later).start if later else span.stop)
        text = " ".join(dict.fromkeys(texts))
        points.append(
            Point(
                text=text,
                range=tile,
                elided=_simplified(subtract((tile,), cited), tile),
                method=method,
                tokens=count(text),
            )
        )
    return tuple(points)


def slide(points: Sequence[Point], keep_from: int) -> tuple[Point, ...]:
    """The points that are not wholly before `keep_from`; one that straddles it stays (seed 000, made exact)."""
    return tuple(point for point in points if point.range.stop > keep_from)


def merge(points: Sequence[Point], text: str, *, method: Method, count: Count) -> Point:
    """Neighbouring points as one with the union of their ranges: what was elided stays declared.

    If one of them was made without a model, so was the result: it will be made again when a model is there.
    """
    method = next((point.method for point in points if point.method is not Method.MODEL), method)
    tile = SeqRange(points[0].range.start, points[-1].range.stop)
    elided = union(span for point in points for span in point.elided)
    return Point(text=text, range=tile, elided=_simplified(elided, tile), method=method, tokens=count(text))


def drop(points: Sequence[Point], index: int) -> tuple[Point, ...]:
    """The points without one of them: its neighbour answers for its range and declares all of it elided."""
    gone = points[index]
    heir_index = index + 1 if index + 1 < len(points) else index - 1
    heir = points[heir_index]
    tile = SeqRange(min(gone.range.start, heir.range.start), max(gone.range.stop, heir.range.stop))
    elided = _simplified(union((*heir.elided, gone.range)), tile)
    wider = replace(heir, range=tile, elided=elided)
    return tuple(wider if at == heir_index else point for at, point in enumerate(points) if at != index)


def keep_only(points: Sequence[Point], keep: Collection[int]) -> tuple[Point, ...]:
    """The points with these indexes (at least one of them exists); the others' ranges are declared elided."""
    kept = tuple(points)
    for index in reversed(range(len(points))):
        if index not in keep and len(kept) > 1:
            kept = drop(kept, index)
    return kept


def fit(points: Sequence[Point], max_tokens: int, *, count: Count, new_from: int) -> tuple[Point, ...]:
    """The points within `max_tokens` together, at least one of them.

    First the new points (those that start at `new_from` or later) that speak for the fewest messages go, while more
    than one is left; then the oldest; the last one standing is truncated.
    """
    kept = tuple(points)
    while sum(point.tokens for point in kept) > max_tokens and len(kept) > 1:
        fresh = [at for at, point in enumerate(kept) if point.range.start >= new_from]
        if len(fresh) > 1:
            kept = drop(kept, min(fresh, key=lambda at: (_covered_count(kept[at]), -kept[at].tokens)))
        else:
            kept = drop(kept, 0)
    if sum(point.tokens for point in kept) > max_tokens:
        text = truncate(kept[0].text, max_tokens, count)
        kept = (replace(kept[0], text=text, tokens=count(text)), *kept[1:])
    return kept


def _covered_count(point: Point) -> int:
    return sum(len(span) for span in point.covered)


def _simplified(elided: Sequence[SeqRange], tile: SeqRange) -> tuple[SeqRange, ...]:
    """At most MAX_ELIDED stretches: those nearest to each other are joined, declaring more left out, never less."""
    spans = list(elided)
    while len(spans) > MAX_ELIDED:
        at = min(range(len(spans) - 1), key=lambda i: spans[i + 1].start - spans[i].stop)
        joined = SeqRange(spans[at].start, spans[at + 1].stop)
        if joined == tile:
            break
        spans[at : at + 2] = [joined]
    return tuple(spans)
