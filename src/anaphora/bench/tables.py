"""Results as people read them: rows of text, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anaphora.bench.compare import Change
from anaphora.bench.result import COUNT, RATE, RATIO, Figure, Result, Target

MET, MISSED = "met", "missed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Text in rows and columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def shown(value: float | str, unit: str = COUNT) -> str:
    """A value with its unit, in as many digits as mean something."""
    if isinstance(value, str):
        return value
    size = abs(value)
    digits = 0 if value == int(value) or size >= 100 else 1 if size >= 10 else 2
    return f"{value:,.{digits}f}{unit if unit in {RATE, RATIO, COUNT} else f' {unit}'}"


def target(wanted: Target, unit: str) -> str:
    """A target as a bound."""
    if wanted.at_least is not None:
        return f">= {shown(wanted.at_least, unit)}"
    return f"<= {shown(wanted.at_most or 0.0, unit)}"


def verdict(figure: Figure) -> str:
    """Whether the target was met; empty without one."""
    return {True: MET, False: MISSED, None: ""}[figure.met]


def table(result: Result) -> Table:
    """The figures: cases side by side where every figure has them all, else one figure a row."""
    cases = tuple(dict.fromkeys(figure.case for figure in result.figures))
    names = tuple(dict.fromkeys(figure.name for figure in result.figures))
    by_place = {(figure.name, figure.case): figure for figure in result.figures}
    if len(cases) > 1 and len(by_place) == len(cases) * len(names):
        rows = tuple((name, *(_judged(by_place[name, case]) for case in cases)) for name in names)
        return Table(columns=("", *cases), rows=rows)
    return Table(columns=("", "of", "measured", "target", ""), rows=tuple(map(_row, result.figures)))


def comparison(changes: Sequence[Change]) -> Table:
    """Then and now, and the ratio of the two."""
    words = {True: "better", False: "worse", None: ""}
    rows = tuple(
        (
            change.question,
            change.name,
            change.case,
            shown(change.old, change.unit),
            shown(change.new, change.unit),
            "-" if change.ratio is None else shown(change.ratio, RATIO),
            words[change.better],
        )
        for change in changes
    )
    return Table(columns=("question", "", "of", "old", "new", "ratio", ""), rows=rows)


def described(result: Result) -> str:
    """What the result was measured on, in one line."""
    machine, versions = result.machine, dict(result.versions)
    memory = f", {machine['memory_gib']:g} GiB" if machine.get("memory_gib") else ""
    load = f", load {machine['load']:g} before" if machine.get("load") is not None else ""
    ran = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{machine.get('system')} {machine.get('arch')}, {machine.get('cores')} cores{memory}{load}; {ran}; "
        f"seed {result.seed}; {result.started_at:%Y-%m-%d}; {shown(result.seconds, 's')}"
        + ("; quick: too small to say anything about speed" if result.quick else "")
    )


def markdown(results: Sequence[Result]) -> str:
    """The results as a part of a page: a heading, a table and what must be known for each."""
    return "\n".join(line for result in results for line in _section(result))


def _section(result: Result) -> Iterator[str]:
    drawn = table(result)
    yield f"### `{result.question}`"
    yield ""
    yield result.asks
    yield ""
    yield _line(drawn.columns)
    yield _line(["---"] * len(drawn.columns))
    for row in drawn.rows:
        yield _line([f"**{cell}**" if cell == MISSED else cell.replace("|", "\\|") for cell in row])
    yield ""
    yield " ".join(result.notes)
    yield ""
    yield f"Measured on {described(result)}."
    yield ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def _row(figure: Figure) -> tuple[str, ...]:
    wanted = "" if figure.target is None else target(figure.target, figure.unit)
    return figure.name, figure.case, shown(figure.value, figure.unit), wanted, verdict(figure)


def _judged(figure: Figure) -> str:
    """A cell of cases side by side: what was measured, and the target if there is one."""
    if figure.target is None:
        return shown(figure.value, figure.unit)
    return f"{shown(figure.value, figure.unit)} ({target(figure.target, figure.unit)}: {verdict(figure)})"
