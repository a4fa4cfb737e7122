"""Sliding-window summaries in a version chain (seed 000), without its holes.

A summary covers the last `window` messages; points from before the window are dropped by their ranges, not by asking
a model (hole 0.9). What leaves the window is declared elided, and search finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Plan, Selection, Snapshot, State
from anaphora.errors import InvalidInput
from anaphora.rules.triggers import window_start


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow:
    """The compaction of seed 000. The defaults are the seed's."""

    #: messages that a summary covers
    window: int = 14
    #: the first summary is due when the last message has this seq or a later one
    summarise_after_seq: int = 5
    #: new messages before the next summary; 1 = after every finished turn, as in the seed
    min_new_messages: int = 1
    #: messages that always stand verbatim, even where the summary covers them
    keep_verbatim: int = 4
    #: size of the summary, in tokens
    summary_max_tokens: int = 300

    def __post_init__(self) -> None:
        if not 2 <= self.window <= TAIL_TURNS:
            raise InvalidInput(f"window must be between 2 and {TAIL_TURNS}")
        if not 0 <= self.keep_verbatim <= self.window:
            raise InvalidInput("keep_verbatim must be between 0 and window")
        if self.min_new_messages < 1 or self.summarise_after_seq < 0:
            raise InvalidInput("min_new_messages must be at least 1 and summarise_after_seq at least 0")
        if self.summary_max_tokens < 48:
            raise InvalidInput("summary_max_tokens must be at least 48")

    @property
    def name(self) -> str:
        """`sliding_window`."""
        return "sliding_window"

    @property
    def job(self) -> JobKind:
        """Summaries carry it on."""
        return JobKind.SUMMARISE

    @property
    def shows_chunks(self) -> int:
        """None: what is not verbatim is summarised."""
        return 0

    @property
    def least_importance(self) -> int:
        """Every fact is kept."""
        return 1

    def plan(self, state: State) -> Plan | None:
        """The window up to the last finished turn."""
        done = state.turn_finished or state.ended or not state.turn_starts
        stop = state.head if done else state.turn_starts[-1]
        needed = 1 if state.ended else self.min_new_messages
        if stop - 1 < self.summarise_after_seq or stop <= state.covered_to:
            return None
        if state.live(SeqRange(state.covered_to, stop)) < needed:
            return None
        return self._reach(state, stop)

    def rebuild_plan(self, state: State, target: int) -> Plan | None:
        """The window as it ends at the target: one step, since nothing before it is kept."""
        return self._reach(state, target) if state.covered_to < target else None

    def _reach(self, state: State, stop: int) -> Plan | None:
        """The window that ends there; None if everything in it was deleted."""
        start = window_start(state, stop=stop, size=self.window)
        read = SeqRange(max(start, state.covered_to), stop)
        if not state.live(read):
            return None
        return Plan(read=read, keep_from=start, max_tokens=self.summary_max_tokens)

    def select(self, snapshot: Snapshot) -> Selection:
        """Points that say more than what stands verbatim, then the newest messages word by word."""
        state, summary = snapshot.state, snapshot.summary
        recent = state.turn_start(max(0, state.head - self.keep_verbatim)) if self.keep_verbatim else state.head
        start = min(summary.range.stop, recent) if summary else 0
        return Selection(
            points=tuple(p for p in summary.points if p.range.start < start) if summary else (),
            verbatim=SeqRange(start, state.head),
            recent_from=max(start, recent),
        )
