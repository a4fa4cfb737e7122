"""Keep what was compressed as a document of the user's knowledge base, in the commit of the summary (hole 1.2).

A document is known by its session and its range: a retry keeps the same one, and what is made again takes its place.
An edit or a deletion takes those away that may speak of the message, later ones too, since the model was shown what was
said before; the rebuild of the summary brings them back (1.17). So nothing is kept that was made with a stale summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from anaphora.domain.documents import ARCHIVE, Document, DocumentChunk
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, least_trusted
from anaphora.domain.structures import Structure
from anaphora.domain.summaries import Point
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.archived import archived, as_document
from anaphora.rules.documents import Chunking
from anaphora.rules.tokens import Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """A stretch of a session that was just summarised."""

    span: SeqRange
    messages: Sequence[Message]
    #: what is said of it alone
    points: Sequence[Point]
    structure: Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A stretch as a document, ready to be kept."""

    document: Document
    chunks: tuple[DocumentChunk, ...]

    def keep(self, unit: Unit, row: SessionRow) -> None:
        """Keep it instead of those that speak of any of its messages."""
        for old in unit.documents.of_session(row.key.tenant, row.id, self.document.range):
            if old.source == ARCHIVE and old.range != self.document.range:
                unit.documents.delete(row.key.tenant, old.namespace, old.id)
        unit.documents.put(row.key.tenant, self.document, self.chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiving:
    """Makes documents of stretches."""

    count: Count
    chunking: Chunking = field(default_factory=Chunking)

    def made_of(self, row: SessionRow, found: Compressed, *, document_id: UUID, now: datetime) -> Archive:
        """The stretch as a document. Nothing is read or written."""
        messages, structure = found.messages, found.structure
        told = archived(
            row.key,
            found.span,
            narrative="\n".join(point.text for point in found.points),
            topics=structure.texts("topics"),
            entities=structure.texts("entities"),
            decisions=structure.texts("decisions"),
            questions=structure.texts("open_questions"),
            message_count=len(messages),
            first_at=min(message.created_at for message in messages),
            last_at=max(message.created_at for message in messages),
        )
        document, chunks = as_document(
            told,
            found.span,
            document_id=document_id,
            session_id=row.id,
            trust=least_trusted(message.trust for message in messages),
            now=now,
            chunking=self.chunking,
            count=self.count,
        )
        return Archive(document=document, chunks=tuple(chunks))
