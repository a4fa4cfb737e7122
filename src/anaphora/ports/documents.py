"""What we need of a store of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from anaphora.domain.documents import ChunkVector, Document, DocumentChunk, Namespace, Outcome
from anaphora.domain.filters import Filter
from anaphora.domain.keys import SeqRange
from anaphora.domain.vectors import Space
from anaphora.ports.rows import SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Which documents are meant: those of the namespaces, and of those the ones for which the rest holds."""

    tenant: str
    namespaces: tuple[Namespace, ...]
    #: None: of any type
    doc_types: tuple[str, ...] | None = None
    where: Filter | None = None


class KeptDocument(NamedTuple):
    """A document as it is now, and what became of the one that was handed in."""

    document: Document
    outcome: Outcome


class ChunkMatch(NamedTuple):
    """A chunk that has some of the words that were looked for."""

    document_id: UUID
    number: int
    #: which of the words, by their places among those that were looked for
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkMatches:
    """What a search by words found."""

    #: how many chunks the namespaces have
    chunks: int
    #: of each word in how many chunks it stands; common ones may not be counted to the end
    having: tuple[int, ...]
    #: those whose words are rarest together, best first
    found: Sequence[ChunkMatch]


class NearChunk(NamedTuple):
    """A chunk found by its meaning."""

    document_id: UUID
    number: int
    #: cosine, -1 to 1
    similarity: float


class DocumentLease(NamedTuple):
    """A document that waits for vectors, taken on by one worker."""

    document_id: UUID
    owner: str
    #: counted when it is taken, so that crashes count
    attempt: int


class Documents(Protocol):
    """Documents of one tenant, each in a namespace; what is asked of another namespace is not there.

    Those that were made of a session that is out of sight are not found, neither by id or key nor in lists or searches.
    """

    def put(self, tenant: str, document: Document, chunks: Sequence[DocumentChunk]) -> KeptDocument:
        """Keep a document with its chunks, and plan their vectors.

        One with the same key in its namespace, or without a key one with the same content, keeps its id and its
        beginning, and becomes this one; if it says all of this already, nothing is changed.
        """
        ...

    def is_missing(self, tenant: str, document: Document) -> bool:
        """Whether there is neither a document of this id, nor in its namespace one that is known by the same."""
        ...

    def replace(self, tenant: str, old: Document, new: Document, chunks: Sequence[DocumentChunk]) -> Document | None:
        """Put another version in the place of a document; None, and nothing changed, if it is not there as it was.

        Raises `InvalidInput` if another document of the namespace has the key, or without one the content.
        """
        ...

    def get(self, tenant: str, namespace: Namespace, document_id: UUID) -> Document | None:
        """The document with its content, or None."""
        ...

    def find(self, tenant: str, namespace: Namespace, key: str) -> Document | None:
        """The document with this key, with its content, or None."""
        ...

    def list(self, shelf: Shelf, *, limit: int, before: UUID | None = None) -> Sequence[Document]:
        """Without their contents, the last that came first; with `before`, those that came before that one."""
        ...

    def described(self, shelf: Shelf, wanted: Sequence[UUID]) -> Mapping[UUID, Document]:
        """Those of them that are on the shelf, without their contents."""
        ...

    def chunks(self, tenant: str, places: Sequence[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], DocumentChunk]:
        """Chunks by document and number; what is not there is left out."""
        ...

    def delete(self, tenant: str, namespace: Namespace, document_id: UUID) -> bool:
        """Leave nothing of the document; False if it is not there."""
        ...

    def of_session(self, tenant: str, session_id: UUID, span: SeqRange | None = None) -> Sequence[Document]:
        """Documents that were made of messages of the session (of the span), without contents, the earliest first."""
        ...

    def forget(self, row: SessionRow, seq: int | None) -> int:
        """Leave nothing of what may speak of this message (None: of any of the session); how many documents went.

        That is what was made of it, and whatever was archived (`ARCHIVE`) behind it: a model that makes a summary is
        shown what was said before.
        """
        ...

    def by_words(self, shelf: Shelf, *, terms: Sequence[str], pieces: Sequence[str], limit: int) -> ChunkMatches:
        """Chunks that have any of the terms, whole words in any of their forms, or of the pieces, letter by letter.

        Nothing in them is syntax; a term of several words is a phrase. The places of `ChunkMatch.words` count the
        terms first, then the pieces.
        """
        ...

    def nearest(self, shelf: Shelf, *, space: Space, vector: Sequence[float], limit: int) -> Sequence[NearChunk]:
        """The chunks that are closest to the vector, best first.

        Raises `InvalidInput` for a vector that does not belong into the space.
        """
        ...

    def put_vectors(self, tenant: str, space: Space, document: Document, vectors: Sequence[ChunkVector]) -> int:
        """Keep what chunks mean, instead of what is there; none if the document is another by now. How many are kept.

        Raises `InvalidInput` for a vector that does not belong into the space; then nothing is changed.
        """
        ...

    def without_vectors(self, tenant: str, document_id: UUID, space: Space, *, limit: int) -> Sequence[DocumentChunk]:
        """Chunks that have no vector in the space yet, in order."""
        ...

    def is_behind(self, shelf: Shelf, space: Space) -> bool:
        """Whether chunks of the shelf have no vector in the space yet."""
        ...

    def behind(self, tenant: str, space: Space, *, after: UUID | None, limit: int) -> Sequence[UUID]:
        """Documents with chunks that have no vector in the space yet, by their ids, those behind `after`."""
        ...

    def forget_others(self, tenant: str, space: Space, *, limit: int) -> int:
        """Drop vectors of all spaces but this one, of up to `limit` chunks; how many went."""
        ...

    def plan(self, tenant: str, document_id: UUID, *, now: datetime) -> bool:
        """The document waits for vectors: whoever makes them may start. False if it waits already."""
        ...

    def claim(
        self, tenant: str, document_id: UUID, *, owner: str, now: datetime, lease_seconds: float
    ) -> DocumentLease | None:
        """Take it on, if it waits and nobody else has."""
        ...

    def taken(self, tenant: str, lease: DocumentLease) -> Document | None:
        """The document that was taken on, without its content; None if it is not ours any more."""
        ...

    def holds(self, tenant: str, lease: DocumentLease) -> bool:
        """Whether it is still ours (I5)."""
        ...

    def done(self, tenant: str, lease: DocumentLease) -> bool:
        """It waits no more; False if it is not ours."""
        ...

    def later(self, tenant: str, lease: DocumentLease, *, run_at: datetime, reason: str) -> bool:
        """Give it back for later; False if it is not ours."""
        ...
