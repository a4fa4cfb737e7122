"""How messages are found: by their words, and by what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector, SessionRow, VectorHit, WordHit


class WordIndex(Protocol):
    """Full-text search; the scope is part of the index."""

    def search(
        self,
        tenant: str,
        user: str,
        *,
        agent: str | None,
        session_id: UUID | None,
        terms: Sequence[str],
        trigrams: Sequence[str],
        limit: int,
    ) -> Sequence[WordHit]:
        """Messages with any of the words (or all of the trigram strings), best first."""
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
    ) -> Sequence[VectorHit]:
        """The passages that are closest to the vector, best first: `limit` of them, or as many as there are.

        Of equals, those of later sessions (by their ids) and messages first. Raises `InvalidInput` for a vector that
        does not belong into the space.
        """
        ...
