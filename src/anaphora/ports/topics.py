"""What we need of a store of topics, and of whoever is asked about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Topic, TopicMatch, TopicVector, View
from anaphora.domain.vectors import Space
from anaphora.ports.rows import SessionRow


class Topics(Protocol):
    """Closed topics of sessions. They are derived: what erases a session takes them with it."""

    def insert(self, row: SessionRow, topic: Topic) -> None:
        """Keep a topic that was closed."""
        ...

    def get(self, tenant: str, topic_id: UUID) -> Topic | None:
        """The topic, or None."""
        ...

    def list(self, tenant: str, session_id: UUID, *, limit: int, before: int | None = None) -> Sequence[Topic]:
        """Topics of a session, newest first; with `before`, those that start before that message."""
        ...

    def sessions(
        self,
        tenant: str,
        strategies: Collection[str | None],
        *,
        user: str | None = None,
        agent: str | None = None,
        limit: int,
    ) -> Sequence[SessionRow]:
        """Sessions that have topics, the last used first: closed ones, or messages in one of these strategies."""
        ...

    def between(self, tenant: str, session_id: UUID, span: SeqRange, *, limit: int) -> Sequence[Topic]:
        """Topics of a session that hold messages of the span, newest first."""
        ...

    def at(self, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Topic]:
        """The topics of a session that hold any of the messages, in order, each once."""
        ...

    def nearest(
        self,
        tenant: str,
        user: str,
        *,
        agents: Collection[str] | None,
        besides: UUID | None,
        space: Space,
        vector: Sequence[float],
        limit: int,
    ) -> Sequence[TopicMatch]:
        """Of a user's newest topics those whose name or summary is closest to a vector, closest first.

        Topics that are stale, and sessions out of sight, are left out; so is the session `besides`, and with `agents`
        those of all other agents.
        """
        ...

    def mark_stale(self, row: SessionRow, seq: int) -> bool:
        """The topic that holds the message is to be described again; False if none does."""
        ...

    def to_describe(self, tenant: str, session_id: UUID, *, without_model: bool) -> Topic | None:
        """The oldest topic that is to be described: not yet, stale, or (with `without_model`) not by a model."""
        ...

    def replace(self, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        """Another description of the same topic, or none of it at all; False if it is not there as it was."""
        ...

    def put_vectors(self, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        """Keep what views of topics mean, instead of what is there; those of topics that are gone are not kept.

        Raises `InvalidInput` for a vector that does not belong into the space.
        """
        ...

    def vectors(
        self, tenant: str, space: Space, topics: Iterable[UUID]
    ) -> Mapping[UUID, Mapping[View, Sequence[float]]]:
        """What the views of the topics mean; topics without vectors in the space are left out."""
        ...

    def without_vectors(self, row: SessionRow, space: Space, *, limit: int) -> Sequence[Topic]:
        """Described topics of the session that have no vectors in the space yet, oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest:
    """A topic that is to be named and summarised."""

    #: live messages of `range`, in order
    messages: tuple[Message, ...]
    range: SeqRange
    #: tokens that the summary may have
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDraft:
    """A name and a summary: nothing is believed of them yet."""

    name: str
    summary: str
    method: Method
    model: str | None
    prompt_version: str | None
    #: sentences of the prompt, which neither may repeat
    echoes: tuple[str, ...] = ()


class TopicDescriber(Protocol):
    """Names and summarises topics. Raises the errors of `ChatModel`."""

    async def describe(self, request: TopicRequest) -> TopicDraft:
        """What the topic is called, and what was said in it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentsRequest:
    """A stretch of a session, from the beginning of its open topic on, that is to be divided into topics."""

    #: live messages, in order; at least one
    messages: tuple[Message, ...]
    #: numbers of messages that begin a topic, and of those that may
    certain: tuple[int, ...]
    doubtful: tuple[int, ...]
    #: messages that a topic has before another may begin
    least: int
    #: the last topic ends too: the session is over
    ends: bool
    #: tokens that each summary may have
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDraft:
    """A topic of the stretch: nothing is believed of it yet."""

    #: the number of its first message
    first: int
    #: None: nothing was said of it
    draft: TopicDraft | None


class TopicJudge(Protocol):
    """Says where topics begin, and what they were about. Raises the errors of `ChatModel`."""

    async def segments(self, request: SegmentsRequest) -> tuple[SegmentDraft, ...]:
        """The topics of the stretch, oldest first: the first begins with it."""
        ...
