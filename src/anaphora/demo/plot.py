"""The two curves of the demonstration, for a terminal (braille) and for a page (SVG)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

from rich.text import Text

from anaphora.demo.replay import Measure, Totals

WITHOUT, WITH = "without memory", "with memory"

#: bits of a braille cell by row and column (Unicode block U+2800)
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_STYLE = {WITHOUT: "bright_red", WITH: "bright_green"}


def nice_ceiling(value: float) -> tuple[int, int]:
    """A round number at or above the value, and the step of three to six even marks up to it."""
    if value <= 4:
        return 4, 1
    power = 10 ** math.floor(math.log10(value / 3))
    step = next(
        int(power * factor) for factor in (1, 2, 2.5, 5, 10) if value / (power * factor) <= 6 and _whole(power * factor)
    )
    return step * math.ceil(value / step), step


def _whole(value: float) -> bool:
    return value == int(value)


# -- terminal ---------------------------------------------------------------------------------------------------


def terminal(measures: Sequence[Measure], *, turns: int, width: int = 72, height: int = 12, top: int = 0) -> Text:
    """Tokens of every prompt over the turns.

    Args:
        measures: the turns so far.
        turns: of the whole run: the width of the plot is theirs.
        width: columns, labels included.
        height: lines of the plot, without the axis.
        top: at least this number at the upper end, so that a growing plot need not jump.

    """
    peak = max((m.tokens_full_history for m in measures), default=0)
    ceiling, step = nice_ceiling(max(peak, top, 100))
    height = max(1, (height - 1) // (ceiling // step)) * (ceiling // step) + 1  # so that the marks stand evenly
    label_width = len(f"{ceiling:,}") + 1
    columns = max(10, width - label_width - 1)
    canvas = _Canvas(columns, height)
    for name in (WITHOUT, WITH):
        for _, session in groupby(measures, key=lambda measure: measure.session):
            canvas.draw([(m.turn, _value(m, name)) for m in session], turns, ceiling, _STYLE[name])
    marks = {round((1 - value / ceiling) * (height - 1)): f"{value:,}" for value in range(0, ceiling + 1, step)}
    text = Text(no_wrap=True, overflow="crop")
    for row in range(height):
        text.append(f"{marks.get(row, ''):>{label_width}}", style="dim").append(
            "┤" if row in marks else "│", style="dim"
        )
        text.append_text(canvas.row(row)).append("\n")
    text.append(" " * label_width + "└" + "─" * columns + "\n", style="dim")
    ends = f"{1:<{columns // 2}}{f'turn {turns:,}':>{columns - columns // 2}}"
    return text.append(" " * (label_width + 1) + ends, style="dim")


def legend() -> Text:
    """What the two curves are, also where there is no colour."""
    text = Text("tokens of each prompt   ")
    for name, place in ((WITHOUT, "upper"), (WITH, "lower")):
        text.append("━━ ", style=_STYLE[name]).append(f"{name} ({place})   ")
    return text


class _Canvas:
    """Braille cells of two by four dots; the last curve that touches a cell gives it its colour."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._bits = [[0] * columns for _ in range(rows)]
        self._styles = [[""] * columns for _ in range(rows)]

    def draw(self, points: Sequence[tuple[int, int]], turns: int, ceiling: int, style: str) -> None:
        wide, tall = 2 * self._columns - 1, 4 * self._rows - 1
        at = [
            (round((turn - 1) / max(1, turns - 1) * wide), round((1 - min(value, ceiling) / ceiling) * tall))
            for turn, value in points
        ]
        for first, second in zip(at, at[1:] or at, strict=False):
            for x, y in _line(first, second):
                self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
                self._styles[y // 4][x // 2] = style

    def row(self, row: int) -> Text:
        text = Text()
        for bits, style in zip(self._bits[row], self._styles[row], strict=True):
            text.append(chr(0x2800 + bits) if bits else " ", style=style)
        return text


def _line(first: tuple[int, int], second: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Every dot between two dots."""
    steps = max(abs(second[0] - first[0]), abs(second[1] - first[1]), 1)
    for step in range(steps + 1):
        part = step / steps
        yield round(first[0] + (second[0] - first[0]) * part), round(first[1] + (second[1] - first[1]) * part)


def _value(measure: Measure, name: str) -> int:
    return measure.tokens_full_history if name == WITHOUT else measure.tokens


# -- page -------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 960, 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 30, 104, 74
_INK, _SOFT, _GRID, _PAPER = "#1f2933", "#52606d", "#e4e7eb", "#ffffff"
_FONTS = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
_COLOUR = {WITHOUT: "#c2410c", WITH: "#0f766e"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Where a turn and a number of tokens stand on the page."""

    turns: int
    ceiling: int
    step: int

    def x(self, turn: float) -> float:
        return _LEFT + (turn - 1) / max(1, self.turns - 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, tokens: float) -> float:
        return _HEIGHT - _BOTTOM - tokens / self.ceiling * (_HEIGHT - _TOP - _BOTTOM)


def svg(measures: Sequence[Measure], totals: Totals, *, title: str, note: str) -> str:
    """The curves as a picture of its own: light ground, labelled axes, no font or script from elsewhere.

    Args:
        measures: the turns.
        totals: of the same run, for the heading.
        title: of the conversation.
        note: how the summaries were made.

    """
    ceiling, step = nice_ceiling(max((m.tokens_full_history for m in measures), default=0))
    frame = _Frame(turns=len(measures), ceiling=ceiling, step=step)
    said = f"{totals.turns:,} turns, {totals.messages:,} messages, {totals.saved:.0%} fewer prompt tokens"
    account = f"{totals.intact:,} of {totals.turns:,} turns: every message accounted for"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-labelledby="title desc" font-family="{_FONTS}">'
    )
    parts = [
        opening,
        f'<title id="title">{escape(f"{title}: tokens of each prompt, with and without memory")}</title>',
        f'<desc id="desc">{escape(f"{said}; {account}; {note}")}</desc>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{_PAPER}"/>',
        _label(_LEFT, 34, said, size=20, weight="600"),
        _label(_LEFT, 57, f"“{title}” · {account} · {note}", size=13, fill=_SOFT),
        *_legend(),
        *_axes(frame),
        *_sessions(measures, frame),
        *(_curve(measures, name, frame) for name in (WITHOUT, WITH)),
        *_peak(measures, frame),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _label(
    x: float, y: float, text: str, *, size: int = 13, fill: str = _INK, anchor: str = "start", weight: str = "400"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )


def _legend() -> Iterator[str]:
    x = float(_LEFT)
    for name, text in (
        (WITHOUT, "without memory: the whole history"),
        (WITH, "with memory: summary and recent messages"),
    ):
        yield f'<line x1="{x:.1f}" y1="80" x2="{x + 24:.1f}" y2="80" stroke="{_COLOUR[name]}" stroke-width="3"/>'
        yield _label(x + 32, 84.5, text, fill=_COLOUR[name], weight="600")
        x += 70 + 7.8 * len(text)


def _axes(frame: _Frame) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    for value in range(0, frame.ceiling + 1, frame.step):
        y = frame.y(value)
        colour = _SOFT if value == 0 else _GRID
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="{colour}"/>'
        yield _label(_LEFT - 10, y + 4.5, f"{value:,}", fill=_SOFT, anchor="end")
    _, step = nice_ceiling(frame.turns)
    for turn in sorted({1, *range(step, frame.turns + 1, step)}):
        x = frame.x(turn)
        yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="{_SOFT}"/>'
        yield _label(x, bottom + 20, f"{turn:,}", fill=_SOFT, anchor="middle")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield _label(middle, _HEIGHT - 16, "turn of the conversation", fill=_SOFT, anchor="middle")
    across = (_TOP + bottom) / 2
    yield (
        f'<text x="22" y="{across:.1f}" font-size="13" fill="{_SOFT}" text-anchor="middle" '
        f'transform="rotate(-90 22 {across:.1f})">tokens of the prompt</text>'
    )


def _sessions(measures: Sequence[Measure], frame: _Frame) -> Iterator[str]:
    """A dashed line where a session begins, and its name beside it."""
    names = list(dict.fromkeys(m.session for m in measures))
    bottom = _HEIGHT - _BOTTOM
    for name in names:
        first = next(m.turn for m in measures if m.session == name)
        x = frame.x(first)
        if first > 1:
            yield (
                f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{_SOFT}" '
                'stroke-dasharray="3 4" stroke-opacity="0.7"/>'
            )
        at_edge = x + 9.5 * len(name) > _WIDTH - _RIGHT
        anchor = "end" if at_edge else "start"
        yield _label(_WIDTH - _RIGHT if at_edge else x, bottom + 38, name, fill=_SOFT, anchor=anchor, weight="600")


def _curve(measures: Sequence[Measure], name: str, frame: _Frame) -> str:
    """One path a session: a new session starts anew, it does not fall."""
    path: list[str] = []
    last: str | None = None
    for measure in measures:
        command = "L" if measure.session == last else "M"
        path.append(f"{command}{frame.x(measure.turn):.1f} {frame.y(_value(measure, name)):.1f}")
        last = measure.session
    return (
        f'<path d="{" ".join(path)}" fill="none" stroke="{_COLOUR[name]}" stroke-width="2.5" '
        'stroke-linejoin="round" stroke-linecap="round"/>'
    )


def _peak(measures: Sequence[Measure], frame: _Frame) -> Iterator[str]:
    """Both prompts in numbers where the history was longest."""
    if not measures:
        return
    longest = max(measures, key=lambda measure: measure.tokens_full_history)
    tallest = max(measure.tokens for measure in measures if measure.session == longest.session)
    x = frame.x(longest.turn)
    for name, height in ((WITHOUT, longest.tokens_full_history), (WITH, tallest)):
        y = frame.y(height) - 10
        yield _label(x - 4, y, f"{_value(longest, name):,}", fill=_COLOUR[name], anchor="end", weight="600")
