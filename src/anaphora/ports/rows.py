"""What goes into the store and comes out of it, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import NewMessage, Role, Trust
from anaphora.domain.plans import State


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One conversation as stored."""

    id: UUID
    key: SessionKey
    #: the strategy that it was opened with; None = the configured default
    strategy: str | None
    subject: str | None
    head: int
    turns: int
    turn_starts: tuple[int, ...]
    turn_finished: bool
    #: tokens of all messages together
    tokens: int
    #: messages that were deleted: sorted, disjoint, not adjacent
    deleted: tuple[SeqRange, ...] = ()
    #: raised by reset and erase: work planned before it is void
    epoch: int
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None

    def state(self, covered_to: int) -> State:
        """The session as a reader whose head stands at `covered_to` sees it."""
        return State(
            head=self.head,
            covered_to=covered_to,
            turn_starts=self.turn_starts,
            turn_finished=self.turn_finished,
            ended=self.ended_at is not None,
            deleted=self.deleted,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far one reader of a session is."""

    position: int = 0
    summary_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Messages to be appended to one session, in one transaction with the planning of background work."""

    key: SessionKey
    #: used when the session does not exist yet
    session_id: UUID
    receipt_id: UUID
    messages: tuple[NewMessage, ...]
    ids: tuple[UUID, ...]
    tokens: tuple[int, ...]
    trusts: tuple[Trust, ...]
    #: "single": each message by its role; "turn": together they are one turn; "own": each is a turn of its own
    turns: str
    source: str
    idempotency_key: str | None
    #: tells a retry from another body; empty without a key
    body_hash: str
    strategy: str | None
    subject: str | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReceipt:
    """An append that happened."""

    session_id: UUID
    range: SeqRange
    #: epoch of the session at the append: if it was raised since, the messages are gone
    epoch: int


class WordMatch(NamedTuple):
    """A passage that has some of the words that were looked for."""

    session_id: UUID
    key: SessionKey
    seq: int
    #: which passage of the message, and how many it has
    part: int
    parts: int
    #: which of the words, by their places among those that were looked for
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMatches:
    """What a search by words found; how good that is, a rule decides (`rules.ranking`)."""

    #: how many messages the scope has
    messages: int
    #: of each word in how many passages of the scope it stands; common ones may not be counted to the end
    having: tuple[int, ...]
    #: those whose words are rarest together, best first; of equals the newest
    found: Sequence[WordMatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Who said a message."""

    role: Role
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageVector:
    """What a passage of a message means: a message has one or more, numbered from 0."""

    seq: int
    part: int
    #: of which message, and of which of its versions: a vector that comes too late is not kept
    message_id: UUID
    version: int
    vector: Sequence[float]


class VectorMatch(NamedTuple):
    """A passage found by its meaning."""

    session_id: UUID
    key: SessionKey
    seq: int
    part: int
    #: cosine, -1 to 1
    similarity: float
