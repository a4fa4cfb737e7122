"""What a search brings, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, overload
from uuid import UUID

from anaphora.domain.chunks import Chunk
from anaphora.domain.documents import Document, DocumentChunk
from anaphora.domain.facts import Fact
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message


class Kind(StrEnum):
    """What can be searched."""

    MESSAGES = "messages"
    FACTS = "facts"
    CHUNKS = "chunks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message that was found."""

    session_id: UUID
    key: SessionKey
    message: Message
    #: the passage of the message that answers best: the whole of a short one
    passage: str
    #: higher is better; comparable within one answer only
    score: float
    #: what the score is made of: "words", "meaning", "session", "speaker", "user", "rerank"
    scores: Mapping[str, float]
    #: words of the question that the passage has
    words: tuple[str, ...]
    #: cosine of question and passage, less what the passage has in common with all messages of the scope; None where
    #: the passage is not among the closest, or nothing was compared
    similarity: float | None
    #: 0 (nothing to do with the question) to 1, whatever the embedder; see docs/explanation/retrieval.md
    relevance: float

    def to_dict(self) -> dict[str, Any]:
        """Why it was found, as JSON types."""
        return _why(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactHit:
    """A fact that was found."""

    #: one's own with what it was learned from; of what others share, only what it says and whose it is
    fact: Fact
    #: 0 to 1: the highest of its scores
    relevance: float
    #: "words": the share of the question's words that it has; "message": the relevance of the message that it was
    #: learned from, less where what it quotes has fewer of the words than the message
    scores: Mapping[str, float] = field(default_factory=dict)
    #: words of the question that it has
    words: tuple[str, ...] = ()
    #: the message that it was found by; None: none was, or it is somebody else's
    hit: Hit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkHit:
    """A chunk that was found: it speaks of a message that was."""

    key: SessionKey
    chunk: Chunk
    #: of the best message that it speaks of
    relevance: float
    #: that message
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentHit:
    """A chunk of a document that was found."""

    #: without its content
    document: Document
    chunk: DocumentChunk
    #: higher is better; comparable within one answer only
    score: float
    #: what the score is made of: "words", "meaning", "document", "rerank"
    scores: Mapping[str, float]
    #: words of the question that the chunk has
    words: tuple[str, ...]
    #: cosine of the question and the closest passage; None where it is not among the closest, or nothing was compared
    similarity: float | None
    #: 0 (nothing to do with the question) to 1, whatever the embedder
    relevance: float

    def to_dict(self) -> dict[str, Any]:
        """Why it was found, as JSON types."""
        return _why(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentResult(Sequence[DocumentHit]):
    """The hits of a search in documents, best first."""

    hits: tuple[DocumentHit, ...] = ()
    #: what is not as it should be: "embedder" (there is none: words alone were compared), "vectors" (some documents
    #: are not compared by meaning yet), "rerank" (whoever should have put the best first did not answer)
    degraded: tuple[str, ...] = field(default=())

    @overload
    def __getitem__(self, index: int) -> DocumentHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DocumentHit]: ...
    def __getitem__(self, index: int | slice) -> DocumentHit | Sequence[DocumentHit]:
        """The hit at this place."""
        return self.hits[index]

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(Sequence[Hit]):
    """The hits of a search, best first. As a sequence it is the messages."""

    hits: tuple[Hit, ...] = ()
    #: if they were asked for, best first
    facts: tuple[FactHit, ...] = ()
    chunks: tuple[ChunkHit, ...] = ()
    #: what was found and is not among the hits, best first: there was no place for it
    dropped: tuple[Hit, ...] = ()
    #: what is not as it should be: "embedder" (there is none: words alone were compared), "vectors" (some messages
    #: are not compared by meaning yet), "rerank" (what should have put the best first did not answer)
    degraded: tuple[str, ...] = field(default=())

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        """The hit at this place."""
        return self.hits[index]

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)


def _why(hit: Hit | DocumentHit) -> dict[str, Any]:
    return {
        "score": round(hit.score, 4),
        "scores": {name: round(value, 4) for name, value in hit.scores.items()},
        "words": list(hit.words),
        "similarity": None if hit.similarity is None else round(hit.similarity, 4),
        "relevance": round(hit.relevance, 4),
    }
