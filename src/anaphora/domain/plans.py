"""What a strategy sees and what it decides. Both are values; neither touches a database or a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anaphora.domain.chunks import Chunk
from anaphora.domain.keys import SeqRange, count_in
from anaphora.domain.summaries import Point, Summary
from anaphora.domain.topics import Topic

#: how many of the newest turns a session remembers the starts of; windows must fit in it
TAIL_TURNS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A session's log as a reader sees it: numbers only, the same size whatever the length of the history."""

    #: the next sequence number = how many messages were ever appended
    head: int
    #: the reader's own head: everything below is summarised or declared
    covered_to: int
    #: starts of the newest turns, ascending, at most TAIL_TURNS of them
    turn_starts: tuple[int, ...]
    #: the newest turn has its answer
    turn_finished: bool
    #: the session was ended: what is due, is due now
    ended: bool = False
    #: messages that were deleted: sorted, disjoint
    deleted: tuple[SeqRange, ...] = ()
    #: tokens of the summary and of all messages behind it: what of the history a prompt without a budget would hold
    tokens: int = 0
    #: tokens that were said since the reader's head was last moved
    said: int = 0
    #: up to where the reader had meant to go when it stopped at `covered_to`, for that was enough for one call
    aim: int = 0

    def live(self, span: SeqRange) -> int:
        """How many messages of the span are still there."""
        return len(span) - count_in(span, self.deleted)

    def turn_start(self, seq: int) -> int:
        """Start of the turn that holds `seq`; the oldest known start if it lies before all of them."""
        best = self.turn_starts[0] if self.turn_starts else 0
        for start in self.turn_starts:
            if start > seq:
                break
            best = start
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A claim on the log: read `read`, carry on from the base, keep what starts at `keep_from` or later."""

    #: the messages to be summarised; half-open, at turn boundaries
    read: SeqRange
    #: points that end at or before this are dropped; a point that straddles it stays
    keep_from: int
    #: the size that the points of the new version may have together, in tokens
    max_tokens: int
    #: whether topics, names, decisions and questions are listed beside the points
    structured: bool = False
    #: whether what was read is to be kept in the knowledge base
    archive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What `context()` found in one transaction."""

    state: State
    #: the served version, if there is one
    summary: Summary | None
    #: what was found of the session for the question, best first
    chunks: Sequence[Chunk] = ()
    #: its newest closed topics, oldest first
    topics: Sequence[Topic] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What of the history should stand in the prompt, before the budget speaks."""

    #: points of the served version, in order
    points: tuple[Point, ...]
    #: messages that should stand verbatim: always up to the head
    verbatim: SeqRange
    #: from here on messages are "recent"; what is verbatim before is the "gap"
    recent_from: int
