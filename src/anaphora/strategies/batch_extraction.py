"""Chunks and facts out of batches of messages (seed 002), without its holes.

Its own threshold and window leave messages in neither (hole 2.1), a backlog grows because a batch is read for each
message that comes (2.2), and a short conversation yields nothing (2.3). Here a backlog is read batch by batch until
less than the threshold is left, what is left is read when nothing more is said, and a session that is served by this
strategy shows verbatim whatever no batch has reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anaphora.domain.chunks import Chunk
from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Plan, Selection, Snapshot, State
from anaphora.domain.summaries import Point
from anaphora.errors import InvalidInput
from anaphora.rules.triggers import last_turns_start

#: also the name of the reader that says how far a session was read for facts
NAME: Final = "batch_extraction"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchExtraction:
    """Reads for facts; and serves a session by its chunks. The defaults are the seed's."""

    #: messages that may be unread before a batch is due; 0: every finished turn is due at once
    threshold: int = 30
    #: messages of a batch, unless its first turn is longer
    batch: int = 20
    #: of a session that is served by this strategy: messages that always stand verbatim
    keep_verbatim: int = 20
    #: and how many chunks stand beside them
    chunks: int = 3

    def __post_init__(self) -> None:
        if self.threshold < 0 or self.batch < 1 or self.chunks < 0:
            raise InvalidInput("threshold and chunks must not be negative, and batch must be at least 1")
        if not 1 <= self.keep_verbatim <= TAIL_TURNS:
            raise InvalidInput(f"keep_verbatim must be between 1 and {TAIL_TURNS}")

    @property
    def name(self) -> str:
        """`batch_extraction`."""
        return NAME

    @property
    def job(self) -> JobKind:
        """None is ever planned: who reads for facts makes the chunks."""
        return JobKind.SUMMARISE

    @property
    def shows_chunks(self) -> int:
        """Those that answer the question best."""
        return self.chunks

    @property
    def least_importance(self) -> int:
        """Every fact is kept."""
        return 1

    def due(self, state: State, *, quiet: bool) -> SeqRange | None:
        """What is to be read next, in as many batches as it takes; None if nothing is due.

        Args:
            state: with the head of the reader in `covered_to`.
            quiet: nothing was said for so long that nothing more is waited for.

        """
        over = quiet or state.ended
        stop = state.head if over or state.turn_finished else state.turn_start(state.head - 1) if state.head else 0
        unread = SeqRange(state.covered_to, max(state.covered_to, stop))
        count = state.live(unread)
        if not count or not (over or count > self.threshold):
            return None
        return unread

    def plan(self, state: State) -> Plan | None:  # noqa: ARG002 - the protocol's
        """None: there is no summary to be made; the chunks are made by whoever reads for facts."""
        return None

    def rebuild_plan(self, state: State, target: int) -> Plan | None:  # noqa: ARG002 - the protocol's
        """None, for the same reason."""
        return None

    def select(self, snapshot: Snapshot) -> Selection:
        """The newest messages and all that no batch has reached, and the chunks that were found for the question."""
        state = snapshot.state
        window = last_turns_start(state, turns=1, messages=self.keep_verbatim)
        start = min(window, state.covered_to)
        best = [chunk for chunk in snapshot.chunks if chunk.range.stop <= start][: self.chunks]
        return Selection(
            points=tuple(sorted(map(_point, best), key=lambda point: point.range.start)),
            verbatim=SeqRange(start, state.head),
            recent_from=max(start, window),
        )


def _point(chunk: Chunk) -> Point:
    return Point(text=chunk.text, range=chunk.range, method=chunk.method, tokens=chunk.tokens)
