"""The tables of documents. The laws of `storage.tables` hold for them too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.messages import Trust
from anaphora.storage.columns import (
    metadata,
    of_session_key,
    one_of,
    tenant_column,
    text_column,
    time_column,
    uuid_column,
)
from anaphora.storage.types import json_type, vector_type


def _of_document() -> sa.ForeignKeyConstraint:
    """The row goes with its document."""
    return sa.ForeignKeyConstraint(
        ["tenant_id", "document_id"], ["documents.tenant_id", "documents.id"], ondelete="CASCADE"
    )


#: what is kept beside the log. `identity` is what a document is known by in its namespace: its key, or its content
documents = sa.Table(
    "documents",
    metadata,
    tenant_column(),
    uuid_column("id"),
    text_column("namespace"),
    text_column("namespace_hash"),
    text_column("identity"),
    text_column("name", nullable=True),
    text_column("title"),
    text_column("doc_type"),
    sa.Column("metadata", json_type(), nullable=False),
    text_column("content_hash"),
    text_column("content"),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    text_column("trust"),
    text_column("source"),
    uuid_column("session_uid", nullable=True),
    sa.Column("start", sa.Integer),
    sa.Column("stop", sa.Integer),
    sa.Column("version", sa.Integer, nullable=False),
    time_column("created_at"),
    time_column("updated_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    of_session_key(),
    sa.UniqueConstraint("tenant_id", "namespace_hash", "identity"),
    sa.Index(None, "tenant_id", "namespace_hash", "id"),
    sa.Index(None, "tenant_id", "session_uid"),
    one_of("trust", Trust),
    sa.CheckConstraint("(session_uid IS NULL) = (start IS NULL) AND (start IS NULL) = (stop IS NULL)", name="source"),
    sa.CheckConstraint("start >= 0 AND start < stop", name="span"),
    sa.CheckConstraint("version >= 1 AND tokens >= 0 AND chunks >= 0", name="counts"),
)

#: the pieces of documents that are searched
document_chunks = sa.Table(
    "document_chunks",
    metadata,
    tenant_column(),
    uuid_column("document_id"),
    sa.Column("number", sa.Integer, nullable=False),
    text_column("text"),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "document_id", "number"),
    _of_document(),
    sa.CheckConstraint("number >= 0 AND start >= 0 AND start <= stop", name="place"),
)

#: what the passages of chunks mean, by one embedder or several
document_vectors = sa.Table(
    "document_vectors",
    metadata,
    tenant_column(),
    uuid_column("document_id"),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    text_column("space"),
    sa.Column("embedding", vector_type(), nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "document_id", "number", "space", "part"),
    sa.ForeignKeyConstraint(
        ["tenant_id", "document_id", "number"],
        ["document_chunks.tenant_id", "document_chunks.document_id", "document_chunks.number"],
        ondelete="CASCADE",
    ),
)

#: documents that wait for vectors. No word of what they say stands here: workers look for what is due of all tenants
document_jobs = sa.Table(
    "document_jobs",
    metadata,
    tenant_column(),
    uuid_column("document_id"),
    time_column("run_at"),
    sa.Column("attempt", sa.Integer, nullable=False),
    text_column("lease_owner", nullable=True),
    time_column("lease_until", nullable=True),
    text_column("reason", nullable=True),
    time_column("created_at"),
    sa.PrimaryKeyConstraint("tenant_id", "document_id"),
    _of_document(),
    sa.Index(None, "tenant_id", "run_at"),
    sa.CheckConstraint("(lease_owner IS NULL) = (lease_until IS NULL)", name="lease"),
)
