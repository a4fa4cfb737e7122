"""What is drawn: parts of bars and points of plots, as numbers for templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anaphora.domain.context import Coverage
from anaphora.domain.keys import SeqRange

#: units of a drawing's width; of a plot, its height and what is kept free for numbers
WIDTH: Final = 1000
PLOT_WIDTH, PLOT_HEIGHT, LEFT, BELOW, ABOVE = 720, 280, 64, 34, 14
_PARTS: Final = ("summarised", "verbatim", "elided", "deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a bar."""

    kind: str
    range: SeqRange
    x: float
    width: float


def bar(coverage: Coverage) -> Sequence[Part]:
    """Where each message of a session is, in their order."""
    ranges = sorted((span, kind) for kind in _PARTS for span in getattr(coverage, kind))
    return [stretch(span, coverage.head, kind) for span, kind in ranges]


def stretch(span: SeqRange, head: int, kind: str = "summarised") -> Part:
    """A range of a session as a part of a bar as wide as the session."""
    scale = WIDTH / max(head, 1)
    return Part(kind=kind, range=span, x=round(span.start * scale, 2), width=round(len(span) * scale, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a prompt cost at a moment of a session, with memory and without."""

    #: messages that the session had
    head: int
    tokens: int
    full: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Two lines over the messages of a session."""

    tokens: str
    full: str
    #: the area between them
    between: str
    #: where the lines end
    ends: tuple[float, float, float]
    #: heights of the horizontal lines, and the numbers beside them
    rows: Sequence[tuple[float, int]]
    columns: Sequence[tuple[float, int]]
    width: int = PLOT_WIDTH
    height: int = PLOT_HEIGHT
    left: int = LEFT


def moments(head: int, most: int) -> Sequence[int]:
    """At most so many moments of a session, evenly over it: a plot costs the same however long it is."""
    count = min(head, most)
    return sorted({round(head * at / count) for at in range(1, count + 1)}) if count else []


def plot(samples: Sequence[Sample]) -> Plot:
    """The lines through the samples."""
    most_head, most = samples[-1].head, _round_up(max(max(each.full, each.tokens) for each in samples))

    def x(head: int) -> float:
        return round(LEFT + (PLOT_WIDTH - LEFT - 12) * head / most_head, 1)

    def y(tokens: int) -> float:
        return round(ABOVE + (PLOT_HEIGHT - ABOVE - BELOW) * (1 - tokens / most), 1)

    kept = [(x(each.head), y(each.tokens)) for each in samples]
    whole = [(x(each.head), y(each.full)) for each in samples]
    return Plot(
        tokens=_line(kept),
        full=_line(whole),
        between=f"{_line(whole)} {_line(kept[::-1], first='L')} Z",
        ends=(kept[-1][0], kept[-1][1], whole[-1][1]),
        rows=[(y(most * at // 4), most * at // 4) for at in range(5)],
        columns=[(x(most_head * at // 4), most_head * at // 4) for at in range(5)],
    )


def _line(points: Sequence[tuple[float, float]], first: str = "M") -> str:
    return " ".join(f"{first if at == 0 else 'L'}{x} {y}" for at, (x, y) in enumerate(points))


def _round_up(value: int) -> int:
    """The next number that divides into four round steps."""
    step = 4
    while step * 10 < value:
        step *= 10
    return next(step * times for times in range(1, 12) if step * times >= value) if value else 4
