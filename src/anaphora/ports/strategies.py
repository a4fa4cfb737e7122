"""The two kinds of reader of the log, both pure."""

from __future__ import annotations

from typing import Protocol

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import Plan, Selection, Snapshot, State


class Compaction(Protocol):
    """Keeps the prompt small: decides what to summarise and what of the history stands in the prompt."""

    @property
    def name(self) -> str:
        """The name under which sessions and summaries know it."""
        ...

    @property
    def shows_chunks(self) -> int:
        """How many chunks stand in a prompt at most; 0: it shows none."""
        ...

    @property
    def job(self) -> JobKind:
        """The kind of job that carries it on."""
        ...

    @property
    def least_importance(self) -> int:
        """How important a fact of its sessions must be to be kept, 1 to 10, unless settings say otherwise."""
        ...

    def plan(self, state: State) -> Plan | None:
        """What is due now, or None. The same state always gives the same plan."""
        ...

    def rebuild_plan(self, state: State, target: int) -> Plan | None:
        """What a rebuild that stands at `state.covered_to` should read next to reach `target`; None when there."""
        ...

    def select(self, snapshot: Snapshot) -> Selection:
        """What of the history should stand in the prompt."""
        ...


class Extraction(Protocol):
    """Learns from the log: decides what is to be read for facts."""

    @property
    def name(self) -> str:
        """The name under which its reader is known."""
        ...

    @property
    def batch(self) -> int:
        """Messages of one batch, unless its first turn is longer."""
        ...

    def due(self, state: State, *, quiet: bool) -> SeqRange | None:
        """What is to be read next, in as many batches as it takes; None if nothing is due.

        `quiet`: nothing was said for so long that nothing more is waited for.
        """
        ...
