"""Rolling summary and the last pairs (seed 004), without its holes.

Everything older than the last `window_pairs` turns is summarised; what is not summarised yet stands verbatim. The
summary grows from where it ends, so that nothing lies between it and the window (holes 4.1, 4.2, 4.8, 4.9).
"""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Plan, Selection, Snapshot, State
from anaphora.errors import InvalidInput
from anaphora.rules.triggers import last_turns_start


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingPairs:
    """The default compaction. The defaults are the seed's."""

    #: turns (pairs of question and answer) that always stand verbatim
    window_pairs: int = 4
    #: messages that a session needs before its first summary
    min_messages_for_summary: int = 10
    #: messages that must have left the window before the next summary; deleted ones do not count
    summarise_after: int = 8
    #: size of the summary, in tokens
    summary_max_tokens: int = 150

    def __post_init__(self) -> None:
        if not 1 <= self.window_pairs <= TAIL_TURNS // 2:
            raise InvalidInput(f"window_pairs must be between 1 and {TAIL_TURNS // 2}")
        if self.summarise_after < 1 or self.min_messages_for_summary < 1:
            raise InvalidInput("min_messages_for_summary and summarise_after must be at least 1")
        if self.summary_max_tokens < 48:
            raise InvalidInput("summary_max_tokens must be at least 48")

    @property
    def name(self) -> str:
        """`rolling_pairs`."""
        return "rolling_pairs"

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

    def window_start(self, state: State) -> int:
        """First message of the verbatim window."""
        return last_turns_start(state, turns=self.window_pairs, messages=2 * self.window_pairs)

    def plan(self, state: State) -> Plan | None:
        """Everything before the window that is not summarised yet, when there is enough of it."""
        if state.head < self.min_messages_for_summary:
            return None
        stop = self.window_start(state)
        needed = 1 if state.covered_to == 0 or state.ended else self.summarise_after
        if stop <= state.covered_to or state.live(SeqRange(state.covered_to, stop)) < needed:
            return None
        return Plan(read=SeqRange(state.covered_to, stop), keep_from=0, max_tokens=self.summary_max_tokens)

    def rebuild_plan(self, state: State, target: int) -> Plan | None:
        """From where the rebuild stands up to the target, in as many batches as it takes."""
        if state.covered_to >= target or not state.live(SeqRange(state.covered_to, target)):
            return None
        return Plan(read=SeqRange(state.covered_to, target), keep_from=0, max_tokens=self.summary_max_tokens)

    def select(self, snapshot: Snapshot) -> Selection:
        """The whole summary, then everything after it word by word."""
        summary = snapshot.summary
        start = summary.range.stop if summary else 0
        return Selection(
            points=summary.points if summary else (),
            verbatim=SeqRange(start, snapshot.state.head),
            recent_from=max(start, self.window_start(snapshot.state)),
        )
