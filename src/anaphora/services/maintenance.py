"""The doctor: what a database itself can prove of the promises, judged without trusting the code that wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from anaphora.domain.keys import SeqRange, subtract
from anaphora.domain.plans import Snapshot
from anaphora.domain.summaries import Summary
from anaphora.domain.topics import Topic
from anaphora.errors import InvalidInput
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Unit
from anaphora.ports.strategies import Compaction
from anaphora.rules.coverage import account
from anaphora.services.settings import Strategies, live_reader
from anaphora.strategies.batch_extraction import BatchExtraction
from anaphora.strategies.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One law and whether the database keeps it."""

    #: the invariant, such as `I1`, or a word for what is no invariant
    id: str
    name: str
    ok: bool
    #: what was wrong, with ids and numbers only; or what was found
    detail: str = ""
    #: how many rows or sessions were looked at
    checked: int = 0
    #: worth knowing, but no broken promise: does not make the whole fail
    warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that was checked."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """True if no promise is broken."""
        return all(check.ok for check in self.checks if not check.warning)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """What is worth knowing."""
        return tuple(check for check in self.checks if check.warning and not check.ok)


class Judge(Protocol):
    """Says what is wrong with one session, or None."""

    def __call__(self, unit: Unit, row: SessionRow, /) -> str | None:
        """Judge the session as its live reader left it."""
        ...


@dataclass(slots=True)
class Findings:
    """Collects what is wrong: counts all of it, names the first few."""

    shown: int = 3
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, finding: str) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < self.shown:
            self.first.append(finding)

    def __str__(self) -> str:
        more = f" and {self.count - len(self.first):,} more" if self.count > len(self.first) else ""
        return "; ".join(self.first) + more


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageJudge:
    """I1, recomputed for one session: summary, verbatim and declared parts hold each message exactly once."""

    strategies: Strategies

    def __call__(self, unit: Unit, row: SessionRow, /) -> str | None:
        """What is wrong, or None."""
        tenant = row.key.tenant
        try:
            strategy = self.strategies.get(row.strategy)
            if isinstance(strategy, Topics):
                closed = unit.topics.list(tenant, row.id, limit=max(1, row.head))
                return _in_no_topic(row, strategy, closed[::-1])
            head, served = unit.summaries.served(tenant, row.id, live_reader(strategy.name))
        except InvalidInput as error:
            return str(error)
        return next(_faults(row, strategy, head, served), None)


def _in_no_topic(row: SessionRow, strategy: Topics, closed: Sequence[Topic]) -> str | None:
    """Whether all that is said of the session's topics and all that stands verbatim leave a message out."""
    selection = strategy.select(Snapshot(state=row.state(row.head), summary=None, topics=closed))
    coverage = account(
        row.head,
        summary_id=None,
        points=selection.points,
        verbatim=subtract((selection.verbatim,), row.deleted),
        deleted=row.deleted,
    )
    if not coverage.elided:
        return None
    return f"messages {', '.join(map(str, coverage.elided))} are in no topic that is described, and not verbatim"


def _faults(row: SessionRow, strategy: Compaction, head: Head, served: Summary | None) -> Iterator[str]:
    # what is served by chunks has no summaries: what was read for facts and is not shown is left out
    by_chunks = head.position if isinstance(strategy, BatchExtraction) else 0
    covered_to = served.range.stop if served else by_chunks
    if head.position != covered_to:
        yield f"the head stands at {head.position}, its summary ends at {covered_to}"
        return
    if covered_to > row.head:
        yield f"the summary speaks of messages up to {covered_to}, the log ends at {row.head}"
        return
    selection = strategy.select(Snapshot(state=row.state(head.position), summary=served))
    if selection.verbatim.start > covered_to or selection.verbatim.stop != row.head:
        yield f"messages [{covered_to}, {row.head}) should be verbatim, but only {selection.verbatim} are"
        return
    try:
        coverage = account(
            row.head,
            summary_id=None,
            points=selection.points,
            verbatim=subtract((selection.verbatim,), row.deleted),
            deleted=row.deleted,
        )
    except InvalidInput as error:
        yield str(error)
        return
    declared = [gap for point in served.points for gap in point.elided] if served else []
    before = [SeqRange(0, served.range.start if served else covered_to)]
    undeclared = subtract(coverage.elided, (*declared, *before))
    if undeclared:
        yield f"messages {', '.join(map(str, undeclared))} are left out, and no summary says so"
