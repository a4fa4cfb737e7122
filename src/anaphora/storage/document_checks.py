"""What must hold of documents, as questions to the database."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from anaphora.storage.document_tables import document_chunks, documents
from anaphora.storage.laws import Breach, Law, of_session
from anaphora.storage.tables import sessions


def document_laws() -> tuple[Law, ...]:
    """The laws of documents."""
    return (
        Law(
            id="documents",
            name="every document has its chunks, and the messages that it was made of",
            table=documents,
            breaches=(*_chunks(), *_sources()),
        ),
    )


def _chunks() -> Iterator[Breach]:
    counted = (
        sa.select(
            document_chunks.c.tenant_id,
            document_chunks.c.document_id,
            sa.func.count().label("count"),
            sa.func.max(document_chunks.c.number).label("last"),
        )
        .group_by(document_chunks.c.tenant_id, document_chunks.c.document_id)
        .subquery()
    )
    its = (counted.c.tenant_id == documents.c.tenant_id) & (counted.c.document_id == documents.c.id)
    yield (
        "documents whose chunks are not numbered without a hole",
        sa.select(documents.c.id)
        .outerjoin(counted, its)
        .where(
            sa.or_(documents.c.chunks != sa.func.coalesce(counted.c.count, 0), counted.c.last != documents.c.chunks - 1)
        ),
    )
    own = (document_chunks.c.tenant_id == documents.c.tenant_id) & (document_chunks.c.document_id == documents.c.id)
    yield (
        "documents with a chunk that is not in them",
        sa.select(documents.c.id)
        .join(document_chunks, own)
        .where(
            document_chunks.c.text
            != sa.func.substr(
                documents.c.content, document_chunks.c.start + 1, document_chunks.c.stop - document_chunks.c.start
            )
        ),
    )


def _sources() -> Iterator[Breach]:
    yield (
        "documents made of messages that are not there",
        sa.select(documents.c.id).join(sessions, of_session(documents)).where(documents.c.stop > sessions.c.head),
    )
