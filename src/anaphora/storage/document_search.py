"""How chunks of documents are found on every database: by their words, and by what they mean."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.documents import Namespace, namespace_text
from anaphora.domain.vectors import Space
from anaphora.ports.documents import ChunkMatch, ChunkMatches, NearChunk, Shelf
from anaphora.rules.evidence import rarity
from anaphora.storage.document_filters import on_shelf
from anaphora.storage.document_tables import documents
from anaphora.storage.scope import token_of
from anaphora.storage.word_search import telling
from anaphora.storage.words import usable

#: a chunk: its document and its number
Place = tuple[UUID, int]


class DocumentSearch(ABC):
    """The index of chunks over one transaction, for a database that says where words stand and what is close."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    @abstractmethod
    def add(self, tenant: str, namespace: Namespace, document_id: UUID, texts: Sequence[str]) -> None:
        """Index the chunks of a document, which are numbered from 0."""

    @abstractmethod
    def forget(self, tenant: str, document_id: UUID) -> None:
        """Take a document out of the index. Call it before its chunks go."""

    def by_words(self, shelf: Shelf, *, terms: Sequence[str], pieces: Sequence[str], limit: int) -> ChunkMatches:
        """Chunks that have any of the terms or of the pieces, those whose words are rarest together first."""
        size = self._size(shelf)
        having = [0] * (len(terms) + len(pieces))
        having_word: dict[int, Sequence[Place]] = {}
        if size and limit > 0:
            for term, at in usable(terms).items():
                having_word[at] = self._with_term(shelf, term)
            for at, places in self._with_pieces(shelf, usable(pieces)).items():
                having_word[len(terms) + at] = places
        for at, places in having_word.items():
            having[at] = len(places)
        promise: dict[Place, float] = defaultdict(float)
        has: dict[Place, list[int]] = defaultdict(list)
        for at in telling(having):
            rare = rarity(size, having[at])
            for place in having_word[at]:
                promise[place] += rare
                has[place].append(at)
        # of equals those of later documents, and the earlier chunks of one
        best = heapq.nlargest(limit, promise, key=lambda place: (promise[place], place[0], -place[1]))
        found = [ChunkMatch(document_id, number, tuple(has[document_id, number])) for document_id, number in best]
        return ChunkMatches(chunks=size, having=tuple(having), found=found)

    def nearest(self, shelf: Shelf, *, space: Space, vector: Sequence[float], limit: int) -> Sequence[NearChunk]:
        """The chunks that are closest to the vector, best first: `limit` of them, or as many as there are."""
        wanted = space.unit(vector)
        if limit < 1 or not shelf.namespaces:
            return []
        found = self._closest(shelf, space, wanted, limit)
        best = heapq.nlargest(limit, found, key=lambda near: (near.similarity, near.document_id, -near.number))
        return [near._replace(similarity=max(-1.0, min(1.0, near.similarity))) for near in best]

    @abstractmethod
    def kept(self, vector: Sequence[float]) -> Any:  # noqa: ANN401 - what the driver takes
        """A vector as it is handed to the database."""

    @abstractmethod
    def _with_term(self, shelf: Shelf, term: str) -> Sequence[Place]:
        """The chunks of the shelf that have the term; of very many the newest."""

    @abstractmethod
    def _with_pieces(self, shelf: Shelf, pieces: Mapping[str, int]) -> Mapping[int, Sequence[Place]]:
        """The chunks of the shelf that have each of the pieces, by the piece's number; of very many the newest."""

    @abstractmethod
    def _closest(self, shelf: Shelf, space: Space, vector: Sequence[float], limit: int) -> Sequence[NearChunk]:
        """The closest chunks of the shelf, at least `limit` if there are so many, in any order."""

    def _ids(self, shelf: Shelf) -> sa.Select[Any]:
        """The documents of the shelf."""
        return sa.select(documents.c.id).where(*on_shelf(shelf, self._connection.dialect.name))

    def _size(self, shelf: Shelf) -> int:
        """How many chunks the namespaces have, whatever is asked of them: rarity must not depend on the question."""
        all_of_it = Shelf(tenant=shelf.tenant, namespaces=shelf.namespaces)
        conditions = on_shelf(all_of_it, self._connection.dialect.name)
        return int(
            self._connection.execute(sa.select(sa.func.sum(documents.c.chunks)).where(*conditions)).scalar() or 0
        )


def shelf_tokens(shelf: Shelf) -> Sequence[str]:
    """One of these stands beside the words of every chunk of the shelf. They only save work: I11 rests on the ids."""
    return [namespace_token(shelf.tenant, namespace) for namespace in shelf.namespaces]


def namespace_token(tenant: str, namespace: Namespace) -> str:
    """The token of a namespace."""
    return token_of("n", tenant, namespace_text(namespace))


def document_token(tenant: str, document_id: UUID) -> str:
    """The token of a document."""
    return token_of("d", tenant, document_id.hex)
