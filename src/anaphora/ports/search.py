"""How messages are found: by their words, and by what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from anaphora.domain.messages import Message
from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector, SessionRow, VectorMatch, Voice, WordMatches


class WordIndex(Protocol):
    """Full-text search; the scope is part of the index."""

    def find(
        self,
        tenant: str,
        user: str,
        *,
        agent: str | None,
        session_id: UUID | None,
        terms: Sequence[str],
        pieces: Sequence[str],
        limit: int,
    ) -> WordMatches:
        """Passages that have any of the terms, whole words in any of their forms, or of the pieces, letter by letter.

        Nothing in them is syntax; a term of several words is a phrase. The places of `WordMatch.words` count the terms
        first, then the pieces.
        """
        ...


class VectorIndex(Protocol):
    """Vectors of passages. They are derived: what changes or erases a message takes them with it."""

    def put(self, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        """Keep the vectors, instead of all that their messages had in this space; how many are kept.

        Those of messages that are gone, or say something else by now, are not kept. Raises `InvalidInput` for a
        vector that does not belong into the space; then nothing is changed.
        """
        ...

    def nearest(
        self,
        tenant: str,
        user: str,
        *,
        agent: str | None,
        session_id: UUID | None,
        space: Space,
        vector: Sequence[float],
        limit: int,
    ) -> Sequence[VectorMatch]:
        """The passages that are closest to the vector, best first: `limit` of them, or as many as there are.

        Of equals, those of later sessions (by their ids) and messages first. Raises `InvalidInput` for a vector that
        does not belong into the space.
        """
        ...

    def common(
        self, tenant: str, user: str, *, agent: str | None, session_id: UUID | None, space: Space
    ) -> Sequence[float]:
        """The mean of the vectors of the scope, or of very many of them; empty if there are none."""
        ...


class Embedding(Protocol):
    """How far each session has vectors, in one space or another."""

    def pending(self, row: SessionRow, space: Space, *, limit: int) -> Sequence[Message]:
        """Live messages that have no vector in the space yet, in order, the first `limit` of them."""
        ...

    def embedded(self, row: SessionRow, space: Space, stop: int) -> None:
        """Note that every live message before `stop` has its vectors."""
        ...

    def changed(self, row: SessionRow, seq: int) -> None:
        """Note that the message has no vectors any more, in no space."""
        ...

    def is_behind(self, tenant: str, user: str, *, agent: str | None, session_id: UUID | None, space: Space) -> bool:
        """Whether messages of the scope have no vector in the space yet."""
        ...

    def behind(self, tenant: str, space: Space, *, after: UUID | None, limit: int) -> Sequence[SessionRow]:
        """Sessions with messages that have no vector in the space yet, by their ids, those behind `after`."""
        ...

    def forget_others(self, tenant: str, space: Space, *, limit: int) -> int:
        """Drop vectors of all spaces but this one, of up to `limit` messages; how many went."""
        ...


class Lookup(Protocol):
    """Messages of several sessions by their places: session and number."""

    def messages(self, tenant: str, places: Iterable[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], Message]:
        """The live ones; what is not there is left out."""
        ...

    def voices(self, tenant: str, places: Iterable[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], Voice]:
        """Who said the live ones, without reading what they say."""
        ...
