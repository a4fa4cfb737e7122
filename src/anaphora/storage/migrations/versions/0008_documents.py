"""Documents, their chunks, what those mean, and which of them wait for that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from anaphora.storage.migrations.parts import (
    json,
    moment,
    of_one_tenant,
    of_session,
    on_server,
    text,
    uid,
    whole,
)
from anaphora.storage.types import Halfvec

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TRUSTS = "trust IN ('owner_confirmed', 'owner_said', 'assistant', 'tool', 'other')"
_SOURCE = "(session_uid IS NULL) = (start IS NULL) AND (start IS NULL) = (stop IS NULL)"
#: each entry names its chunk, and nothing looks those names up by themselves
_WORDS = (
    "CREATE VIRTUAL TABLE document_words USING fts5(scope, body, document_id UNINDEXED, number UNINDEXED,"
    " tokenize='porter unicode61 remove_diacritics 2')"
)
_INDEX = (
    _WORDS,
    "CREATE VIRTUAL TABLE document_trigrams USING fts5(body, tokenize='trigram')",
)
#: see revision 0006
_FOUND = (
    "CREATE VIEW found_document_words AS SELECT tenant_id, document_id, number, words, unspaced FROM document_words"
    " WHERE tenant_id = current_setting('anaphora.tenant', true) WITH CHECK OPTION"
)
_QUEUE = "CREATE POLICY queue ON document_jobs FOR SELECT USING (current_setting('anaphora.scope', true) = 'queue')"


def upgrade() -> None:
    _documents()
    _chunks()
    _vectors()
    _jobs()
    if not on_server():
        for statement in _INDEX:
            op.execute(statement)
        return
    _words()
    for table in ("documents", "document_chunks", "document_vectors", "document_jobs", "document_words"):
        of_one_tenant(table)
    op.execute(_FOUND)
    op.execute(_QUEUE)


def _of_document(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant_id", "document_id"],
        ["documents.tenant_id", "documents.id"],
        name=op.f(f"fk_{table}_tenant_id_document_id"),
        ondelete="CASCADE",
    )


def _documents() -> None:
    op.create_table(
        "documents",
        text("tenant_id"),
        uid("id"),
        text("namespace"),
        text("namespace_hash"),
        text("identity"),
        text("name", nullable=True),
        text("title"),
        text("doc_type"),
        json("metadata"),
        text("content_hash"),
        text("content"),
        whole("tokens"),
        whole("chunks"),
        text("trust"),
        text("source"),
        uid("session_uid", nullable=True),
        whole("start", nullable=True),
        whole("stop", nullable=True),
        whole("version"),
        moment("created_at"),
        moment("updated_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_documents")),
        of_session("documents"),
        sa.UniqueConstraint(
            "tenant_id", "namespace_hash", "identity", name=op.f("uq_documents_tenant_id_namespace_hash_identity")
        ),
        sa.CheckConstraint(_TRUSTS, name=op.f("ck_documents_trust")),
        sa.CheckConstraint(_SOURCE, name=op.f("ck_documents_source")),
        sa.CheckConstraint("start >= 0 AND start < stop", name=op.f("ck_documents_span")),
        sa.CheckConstraint("version >= 1 AND tokens >= 0 AND chunks >= 0", name=op.f("ck_documents_counts")),
    )
    op.create_index(
        op.f("ix_documents_tenant_id_namespace_hash_id"), "documents", ["tenant_id", "namespace_hash", "id"]
    )
    op.create_index(op.f("ix_documents_tenant_id_session_uid"), "documents", ["tenant_id", "session_uid"])


def _chunks() -> None:
    op.create_table(
        "document_chunks",
        text("tenant_id"),
        uid("document_id"),
        whole("number"),
        text("text"),
        whole("tokens"),
        whole("start"),
        whole("stop"),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", "number", name=op.f("pk_document_chunks")),
        _of_document("document_chunks"),
        sa.CheckConstraint("number >= 0 AND start >= 0 AND start <= stop", name=op.f("ck_document_chunks_place")),
    )


def _vectors() -> None:
    op.create_table(
        "document_vectors",
        text("tenant_id"),
        uid("document_id"),
        whole("number"),
        whole("part"),
        text("space"),
        sa.Column("embedding", sa.LargeBinary().with_variant(Halfvec(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant_id", "document_id", "number", "space", "part", name=op.f("pk_document_vectors")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id", "number"],
            ["document_chunks.tenant_id", "document_chunks.document_id", "document_chunks.number"],
            name=op.f("fk_document_vectors_tenant_id_document_id_number"),
            ondelete="CASCADE",
        ),
    )


def _jobs() -> None:
    op.create_table(
        "document_jobs",
        text("tenant_id"),
        uid("document_id"),
        moment("run_at"),
        whole("attempt"),
        text("lease_owner", nullable=True),
        moment("lease_until", nullable=True),
        text("reason", nullable=True),
        moment("created_at"),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", name=op.f("pk_document_jobs")),
        _of_document("document_jobs"),
        sa.CheckConstraint("(lease_owner IS NULL) = (lease_until IS NULL)", name=op.f("ck_document_jobs_lease")),
    )
    op.create_index(op.f("ix_document_jobs_tenant_id_run_at"), "document_jobs", ["tenant_id", "run_at"])


def _words() -> None:
    op.create_table(
        "document_words",
        text("tenant_id"),
        uid("document_id"),
        whole("number"),
        sa.Column("words", postgresql.TSVECTOR, nullable=False),
        text("unspaced", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", "number", name=op.f("pk_document_words")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id", "number"],
            ["document_chunks.tenant_id", "document_chunks.document_id", "document_chunks.number"],
            name=op.f("fk_document_words_tenant_id_document_id_number"),
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_document_words_words", "document_words", ["words"], postgresql_using="gin")
    op.create_index(
        "ix_document_words_unspaced",
        "document_words",
        ["unspaced"],
        postgresql_using="gin",
        postgresql_ops={"unspaced": "gin_trgm_ops"},
        postgresql_where=sa.text("unspaced IS NOT NULL"),
    )
