"""Compression when there are too many tokens (seed 001), without its holes.

Over the threshold everything older than the kept messages is summarised, in as many calls as it takes. Where the kept
messages alone are over it, nothing is compressed again until enough has been said or has left them: no call a turn
for nothing (hole 1.10). The old summary feeds the next (1.5), each version knows its range (1.3), and numbers order
everything (1.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Plan, Selection, Snapshot, State
from anaphora.errors import InvalidInput
from anaphora.rules.triggers import last_turns_start

#: the share of the threshold that must have been said since the last compression, and that a summary may have at most
_SHARE: Final = 4
#: tokens of the smallest summary
_LEAST_SUMMARY: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """The compaction of seed 001. The first two defaults are the seed's."""

    #: tokens of the summary and of what is not summarised, beyond which the older messages are summarised
    threshold_tokens: int = 10_000
    #: messages that always stand verbatim
    recent_messages_to_keep: int = 10
    #: size of the summary, in tokens; a quarter of the threshold, where that is less
    summary_max_tokens: int = 800
    #: whether what was summarised is kept in the knowledge base too, and all of it when the session ends
    archive_conversations: bool = False

    def __post_init__(self) -> None:
        if self.threshold_tokens < _SHARE * _LEAST_SUMMARY:
            raise InvalidInput(f"threshold_tokens must be at least {_SHARE * _LEAST_SUMMARY}")
        if not 1 <= self.recent_messages_to_keep <= TAIL_TURNS:
            raise InvalidInput(f"recent_messages_to_keep must be between 1 and {TAIL_TURNS}")
        if self.summary_max_tokens < _LEAST_SUMMARY:
            raise InvalidInput(f"summary_max_tokens must be at least {_LEAST_SUMMARY}")

    @property
    def name(self) -> str:
        """`token_budget`."""
        return "token_budget"

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

    def kept_from(self, state: State) -> int:
        """First of the messages that stand verbatim whatever they cost: whole turns, the running one always."""
        return last_turns_start(state, turns=1, messages=self.recent_messages_to_keep)

    def plan(self, state: State) -> Plan | None:
        """Everything before the kept messages that is not summarised yet, over the threshold.

        What was begun is finished, even where its first call has brought the tokens below the threshold. A session
        that is archived is summarised to its end when it ends.
        """
        closes = state.ended and self.archive_conversations
        stop = state.head if closes else self.kept_from(state)
        left = state.live(SeqRange(state.covered_to, max(state.covered_to, stop)))
        if not left or not (closes or state.aim > state.covered_to or self._is_due(state, left)):
            return None
        return self._plan(state.covered_to, stop)

    def rebuild_plan(self, state: State, target: int) -> Plan | None:
        """From where the rebuild stands up to the target, in as many batches as it takes."""
        if state.covered_to >= target or not state.live(SeqRange(state.covered_to, target)):
            return None
        return self._plan(state.covered_to, target)

    def select(self, snapshot: Snapshot) -> Selection:
        """Points that say more than what stands verbatim, then the kept messages and all that is not summarised."""
        state, summary = snapshot.state, snapshot.summary
        kept = self.kept_from(state)
        start = min(summary.range.stop, kept) if summary else 0
        return Selection(
            points=tuple(p for p in summary.points if p.range.start < start) if summary else (),
            verbatim=SeqRange(start, state.head),
            recent_from=max(start, kept),
        )

    def _is_due(self, state: State, left: int) -> bool:
        """Over the threshold, and there is something to be gained: enough was said, or has left the kept messages."""
        if state.tokens <= self.threshold_tokens:
            return False
        return left >= self.recent_messages_to_keep or state.said * _SHARE >= self.threshold_tokens

    def _plan(self, start: int, stop: int) -> Plan:
        return Plan(
            read=SeqRange(start, stop),
            keep_from=0,
            max_tokens=min(self.summary_max_tokens, self.threshold_tokens // _SHARE),
            structured=True,
            archive=self.archive_conversations,
        )
