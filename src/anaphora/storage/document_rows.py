"""Documents as rows, and rows as documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anaphora.domain.documents import Document, DocumentChunk, namespace_from, namespace_text
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.storage.document_filters import namespace_hash
from anaphora.storage.document_tables import document_chunks, documents
from anaphora.storage.types import AnyRow

#: all but the content
HEAD_COLUMNS = tuple(column for column in documents.c if column.name not in {"content", "identity", "namespace_hash"})
CHUNK_COLUMNS = tuple(column for column in document_chunks.c if column.name != "tenant_id")


def identity_of(document: Document) -> str:
    """What the document is known by in its namespace: its key, or without one what it says."""
    return f"sha256:{document.content_hash}" if document.key is None else f"key:{document.key}"


def document_values(tenant: str, document: Document) -> Mapping[str, Any]:
    """The document as a row."""
    span = document.range
    return {
        "tenant_id": tenant,
        "id": document.id,
        "namespace": namespace_text(document.namespace),
        "namespace_hash": namespace_hash(document.namespace),
        "identity": identity_of(document),
        "name": document.key,
        "title": document.title,
        "doc_type": document.doc_type,
        "metadata": dict(document.metadata),
        "content_hash": document.content_hash,
        "content": document.content,
        "tokens": document.tokens,
        "chunks": document.chunks,
        "trust": document.trust.value,
        "source": document.source,
        "session_uid": document.session_id,
        "start": None if span is None else span.start,
        "stop": None if span is None else span.stop,
        "version": document.version,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


def document_from(row: AnyRow, content: str | None = None) -> Document:
    """The document in a row of `HEAD_COLUMNS`."""
    return Document(
        id=row.id,
        namespace=namespace_from(row.namespace),
        key=row.name,
        title=row.title,
        doc_type=row.doc_type,
        metadata=row.metadata,
        content_hash=row.content_hash,
        content=content,
        tokens=row.tokens,
        chunks=row.chunks,
        trust=Trust(row.trust),
        source=row.source,
        session_id=row.session_uid,
        range=None if row.start is None else SeqRange(row.start, row.stop),
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def chunk_values(tenant: str, chunks: Iterable[DocumentChunk]) -> Sequence[Mapping[str, Any]]:
    """The chunks as rows."""
    return [
        {
            "tenant_id": tenant,
            "document_id": chunk.document_id,
            "number": chunk.number,
            "text": chunk.text,
            "tokens": chunk.tokens,
            "start": chunk.start,
            "stop": chunk.stop,
        }
        for chunk in chunks
    ]


def chunk_from(row: AnyRow) -> DocumentChunk:
    """The chunk in a row of `CHUNK_COLUMNS`."""
    return DocumentChunk(
        document_id=row.document_id,
        number=row.number,
        text=row.text,
        tokens=row.tokens,
        start=row.start,
        stop=row.stop,
    )
