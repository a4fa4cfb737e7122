"""What goes into the store and comes out of it, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
    #: after how many silent days it expires, if not after those of its agent
    keep_days: float | None = None
    #: since when it is out of sight; None: it is not
    expired_at: datetime | None = None

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

    def state_at(self, head: Head) -> State:
        """The same, with what the head knows of tokens."""
        return replace(
            self.state(head.position),
            tokens=self.tokens - head.tokens + head.summary_tokens,
            said=self.tokens - head.seen,
            aim=head.aim,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far one reader of a session is. Two that stand in the same place are equal."""

    position: int = 0
    summary_id: UUID | None = None
    #: up to where it had meant to go when it was moved here
    aim: int = field(default=0, compare=False)
    #: tokens of the messages before it, and of its version: kept by the store, for readers that make versions
    tokens: int = field(default=0, compare=False)
    summary_tokens: int = field(default=0, compare=False)
    #: tokens of the whole session when it was moved here
    seen: int = field(default=0, compare=False)


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
    #: the tenant's erasure epoch when what is appended was made, of what was there then; None: it is new
    erasures: int | None = None
    #: by which the messages would be known again if they had been erased
    marks: tuple[str, ...] = ()


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
