"""What the demonstration shows: live in a terminal, as lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from anaphora.cli.output import clean, plural
from anaphora.demo import plot
from anaphora.demo.replay import Finding, Measure, Step, Totals, Version
from anaphora.demo.script import Script

WIDEST = 100
#: links of the chain that are shown at a time
LINKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finished run."""

    script: Script
    strategy: str
    #: name of the model that summarised; None = extractive
    model: str | None
    totals: Totals
    measures: Sequence[Measure]
    versions: Sequence[Version]
    findings: Sequence[Finding]
    svg: Path
    #: the file that was kept, if the caller named one
    db: str | None
    #: why background work is still waiting or failed, if any is
    waiting: str | None
    seconds: float

    @property
    def ok(self) -> bool:
        """True if the account held at every turn."""
        return self.totals.intact == self.totals.turns


class View(Protocol):
    """Shows a run while it goes on."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def step(self, step: Step) -> None:
        """One more turn."""
        ...


class LiveView:
    """Redraws one picture in place."""

    def __init__(self, console: Console, script: Script) -> None:
        self._turns = script.turn_count
        self._width = min(console.width, WIDEST)
        self._height = max(5, min(12, console.height - 12))
        self._measures: list[Measure] = []
        self._versions: list[Version] = []
        self._live = Live(console=console, refresh_per_second=12, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def step(self, step: Step) -> None:
        """One more turn."""
        self._measures.append(step.measure)
        self._versions += step.versions
        self._live.update(self._picture())

    def _picture(self) -> RenderableType:
        now = self._measures[-1]
        intact = sum(m.fault is None for m in self._measures)
        head = Text.assemble(
            ("turn ", "dim"),
            f"{now.turn} of {self._turns}",
            ("   session ", "dim"),
            now.session,
            ("   message ", "dim"),
        ).append(f"{now.head}")
        return Group(
            head,
            plot.legend(),
            plot.terminal(self._measures, turns=self._turns, width=self._width, height=self._height),
            Text(),
            tokens_line(now.tokens, now.tokens_full_history),
            coverage_line(now, self._width),
            check_line(now, intact),
            chain_line([v for v in self._versions if v.session == now.session], self._width),
        )


class LineView:
    """Prints a line at each turn after which a summary was made, and at the last turn of a session."""

    def __init__(self, console: Console, script: Script) -> None:
        self._console = console
        self._last = {session.session: len(session.messages) - 2 for session in script.sessions}
        self._measures: list[Measure] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def step(self, step: Step) -> None:
        """One more turn."""
        now = step.measure
        self._measures.append(now)
        if not (step.versions or now.fault or now.head == self._last[now.session]):
            return
        intact = sum(m.fault is None for m in self._measures)
        made = ", ".join(f"{_name(v)} summarises {_span(v)}" for v in step.versions)
        mark = now.fault or f"every message accounted for at {intact} of {now.turn} turns"
        self._console.print(
            f"{now.session} turn {now.turn}: {now.tokens:,} tokens instead of {now.tokens_full_history:,} "
            f"({_saved(now.tokens, now.tokens_full_history)}); {now.summarised} summarised + {now.verbatim} "
            f"verbatim + {now.elided} elided = {now.head}: {mark}{'; ' + made if made else ''}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def tokens_line(tokens: int, full: int) -> Text:
    """A prompt with memory and without."""
    text = Text.assemble(("tokens     ", "dim"), (f"{tokens:,} with memory", "bright_green"))
    text.append("  ").append(f"{full:,} without", style="bright_red")
    return text.append(f"  {_saved(tokens, full)}", style="bold")


def coverage_line(measure: Measure, width: int) -> Text:
    """The parts of the conversation as a bar, with their numbers."""
    parts = ((measure.summarised, "█", "bright_green"), (measure.verbatim, "█", "cyan"), (measure.elided, "░", "dim"))
    names = ("summarised", "verbatim", "elided")
    text = Text("coverage   ", style="dim")
    room = max(10, width - 60)
    for length, (_, block, style) in zip(shares([p[0] for p in parts], room), parts, strict=True):
        text.append(block * length, style=style)
    for name, (count, block, style) in zip(names, parts, strict=True):
        text.append(f"  {block} ", style=style).append(f"{count} {name}")
    return text


def shares(counts: Sequence[int], room: int) -> list[int]:
    """Cells for each count out of `room`: in proportion, at least one for what is there, none for nothing."""
    whole = sum(counts)
    if not whole:
        return [0] * len(counts)
    cells = [max(1, count * room // whole) if count else 0 for count in counts]
    cells[max(range(len(counts)), key=counts.__getitem__)] += room - sum(cells)
    return cells


def check_line(measure: Measure, intact: int) -> Text:
    """Whether the account held, now and so far."""
    text = Text("check      ", style="dim")
    if measure.fault:
        text.append(f"✗ {measure.fault}", style="bold bright_red")
    else:
        text.append(f"✓ {measure.head} of {measure.head} messages accounted for exactly once", style="bright_green")
    return text.append(f"  ({intact} of {measure.turn} turns)", style="" if intact == measure.turn else "bright_red")


def chain_line(versions: Sequence[Version], width: int) -> Text:
    """The newest links of a chain, and what the newest says last."""
    text = Text("summaries  ", style="dim", no_wrap=True, overflow="ellipsis")
    if not versions:
        return text.append("none yet\n", style="dim")
    if len(versions) > LINKS:
        text.append("… ", style="dim")
    text.append(" → ".join(f"{_name(v)} {_span(v)}" for v in versions[-LINKS:]), style="")
    newest = versions[-1]
    text.append(f"  ({newest.tokens} tokens)\n", style="dim")
    said = clean(" ".join(newest.points[-1].split()))
    room = max(20, width - 13)
    return text.append(f"           “{said if len(said) <= room else said[: room - 1] + '…'}”", style="italic")


def closing(outcome: Outcome, width: int) -> RenderableType:
    """The end of a run: numbers, curves, answers, where the picture is."""
    parts: list[RenderableType] = [Text(), _numbers(outcome), Text()]
    parts += [plot.legend(), plot.terminal(outcome.measures, turns=outcome.totals.turns, width=width, height=10)]
    if outcome.findings:
        parts += [Text(), _answers_heading(outcome.findings)]
        parts += [line for finding in _one_of_each_kind(outcome.findings) for line in _answer(finding)]
    parts += [Text(), Text.assemble(("picture    ", "dim"), str(outcome.svg), overflow="fold")]
    if outcome.db:
        parts.append(Text.assemble(("database   ", "dim"), outcome.db, overflow="fold"))
    parts.append(Text.assemble(("next       ", "dim"), ("anaphora chat YOU", "bold")))
    shown = ("anaphora demo --serve", "bold")
    parts.append(Text.assemble(("           ", "dim"), shown, ("  what is remembered, on a page", "dim")))
    return Group(*parts)


def _numbers(outcome: Outcome) -> Text:
    totals = outcome.totals
    text = Text.assemble((outcome.script.title, "bold"))
    text.append(
        f": {totals.turns:,} turns, {totals.messages:,} messages, {plural(len(outcome.script.sessions), 'session')}"
    )
    text.append(f", {outcome.seconds:.0f} s\n", style="dim")
    text.append_text(tokens_line(totals.tokens, totals.tokens_full_history)).append("  (all prompts together)\n")
    good = outcome.ok
    text.append("check      ", style="dim")
    text.append("✓" if good else "✗", style="bright_green" if good else "bold bright_red")
    text.append(
        f" every message accounted for exactly once at {totals.intact:,} of {totals.turns:,} turns\n",
        style="bright_green" if good else "bold bright_red",
    )
    chains = len({v.session for v in outcome.versions})
    text.append("summaries  ", style="dim")
    text.append(f"{plural(totals.versions, 'version')} in {plural(chains, 'chain')}, {outcome.strategy}, ")
    text.append(f"by {outcome.model}\n" if outcome.model else "extractive: chosen sentences\n")
    text.append("elided     ", style="dim")
    text.append(
        f"{totals.elided:,} of {totals.messages:,} messages ({totals.elided_share:.0%}): "
        "not in the prompt, declared, found by search"
    )
    if outcome.waiting:
        text.append("\nwaiting    ", style="dim").append(outcome.waiting, style="yellow")
    return text


def _answers_heading(findings: Sequence[Finding]) -> Text:
    first = sum(finding.rank == 1 for finding in findings)
    return Text.assemble(
        ("Asked from the far past", "bold"),
        f": {first} of {len(findings)} questions lead to the right message at first place",
    )


def _one_of_each_kind(findings: Sequence[Finding]) -> list[Finding]:
    return list({finding.question.kind: finding for finding in reversed(findings)}.values())[::-1]


def _answer(finding: Finding) -> Iterator[RenderableType]:
    """A question, what was found, and whether that holds the answer."""
    question = finding.question
    yield Padding(Text.assemble(("? ", "bold cyan"), (question.question, "bold")), (0, 0, 0, 2))
    yield _detail("search", Text(question.search))
    if finding.found:
        session, message = finding.found[0]
        where = f"{message.created_at:%d %B %Y}, {session} message {message.seq}  "
        yield _detail("found", Text.assemble((where, "cyan"), f"“{' '.join(message.content.split())}”"))
    if finding.rank == 1:
        verdict = Text.assemble(("✓ it holds the answer: ", "bright_green"), question.answer)
    elif finding.rank is not None:
        verdict = Text(f"the answer is in the message found at place {finding.rank}", style="yellow")
    else:
        verdict = Text("✗ the answer was not found", style="bright_red")
    yield _detail("", verdict)


def _detail(label: str, text: Text) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=6, style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(label, text)
    return Padding(grid, (0, 0, 0, 4))


def _name(version: Version) -> str:
    return f"v{version.version}"


def _span(version: Version) -> str:
    """First and last message."""
    return f"{version.start}-{version.stop - 1}"


def _saved(tokens: int, full: int) -> str:
    """How much less in per cent; a short conversation may cost a little more than its history."""
    part = 1 - tokens / full if full else 0.0
    return f"{part:.0%} saved" if part >= 0 else f"{-part:.0%} more"
