"""How the command line shows documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anaphora.cli.ids import short_ids
from anaphora.cli.output import note, plural, say, table
from anaphora.domain.documents import Document
from anaphora.domain.search import DocumentHit, DocumentResult

_MISSING = {
    "embedder": "Searched by words alone: there is no embedder (`anaphora models pull`).",
    "vectors": "Some documents are not compared by meaning yet: run `anaphora worker --drain`.",
}


def document_json(document: Document) -> dict[str, Any]:
    """A document; its content if it was asked for."""
    return {
        "id": document.id,
        "namespace": list(document.namespace),
        "key": document.key,
        "title": document.title,
        "doc_type": document.doc_type,
        "metadata": document.metadata,
        "content_hash": document.content_hash,
        "tokens": document.tokens,
        "chunks": document.chunks,
        "trust": document.trust,
        "source": document.source,
        "range": document.range,
        "version": document.version,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        **({} if document.content is None else {"content": document.content}),
    }


def found_json(hit: DocumentHit) -> dict[str, Any]:
    """A chunk that was found, with its document and why."""
    chunk = hit.chunk
    return {
        "document": document_json(hit.document),
        "chunk": {"number": chunk.number, "text": chunk.text, "tokens": chunk.tokens, "at": [chunk.start, chunk.stop]},
        **hit.to_dict(),
    }


def show_documents(documents: Sequence[Document]) -> None:
    """A line for each document."""
    ids = short_ids(one.id for one in documents)
    table(
        ("id", "added", "type", "tokens", "title"),
        ((ids[one.id], one.created_at, one.doc_type, one.tokens, one.title) for one in documents),
        empty="There are no documents.",
    )


def show_found(found: DocumentResult) -> None:
    """A line for each chunk that was found."""
    ids = short_ids(hit.document.id for hit in found)
    table(
        ("id", "type", "title", "relevance", "text"),
        (
            (
                ids[hit.document.id],
                hit.document.doc_type,
                hit.document.title,
                round(hit.relevance, 2),
                hit.chunk.text,
            )
            for hit in found
        ),
        empty="Nothing was found.",
    )
    for missing in found.degraded:
        note(_MISSING.get(missing, f"Degraded: {missing}."))


def show_document(document: Document) -> None:
    """A document, whole."""
    say(document.title)
    what = f"{document.doc_type}, {plural(document.tokens, 'token')} in {plural(document.chunks, 'chunk')}"
    say(f"{document.id}, {what}, version {document.version}, trust {document.trust}")
    for name, value in document.metadata.items():
        say(f"  {name}: {value}")
    say()
    say(document.content or "")
