"""Facts with their sources and histories, subjects, chunks; and the jobs that extract them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import (
    flag,
    json,
    kinds_of_jobs,
    moment,
    of_one_tenant,
    on_server,
    text,
    uid,
    whole,
)

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_BELIEVED = sa.text("state IN ('active', 'review')")
_TABLES = (
    "subjects",
    "subject_members",
    "facts",
    "fact_versions",
    "fact_sources",
    "fact_terms",
    "fact_tombstones",
    "chunks",
)


def upgrade() -> None:
    _subjects()
    _subject_members()
    _facts()
    _fact_versions()
    _fact_sources()
    _fact_terms()
    _fact_tombstones()
    _chunks()
    kinds_of_jobs(["summarise", "rebuild", "embed", "extract", "reextract"])
    if on_server():
        for table in _TABLES:
            of_one_tenant(table)


def _subjects() -> None:
    op.create_table(
        "subjects",
        text("tenant_id"),
        text("id"),
        text("name"),
        text("owner_id"),
        moment("created_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_subjects")),
    )
    op.create_index(op.f("ix_subjects_tenant_id_owner_id"), "subjects", ["tenant_id", "owner_id"])


def _subject_members() -> None:
    op.create_table(
        "subject_members",
        text("tenant_id"),
        text("subject_id"),
        text("user_id"),
        moment("added_at"),
        sa.PrimaryKeyConstraint("tenant_id", "subject_id", "user_id", name=op.f("pk_subject_members")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "subject_id"],
            ["subjects.tenant_id", "subjects.id"],
            name=op.f("fk_subject_members_tenant_id_subject_id"),
            ondelete="CASCADE",
        ),
    )
    op.create_index(op.f("ix_subject_members_tenant_id_user_id"), "subject_members", ["tenant_id", "user_id"])


def _facts() -> None:
    op.create_table(
        "facts",
        text("tenant_id"),
        uid("id"),
        text("user_id"),
        text("agent_id", nullable=True),
        text("subject_id"),
        text("category"),
        text("content"),
        text("content_key"),
        whole("importance"),
        whole("standing"),
        text("visibility"),
        text("state"),
        flag("pinned"),
        text("trust"),
        text("doubt", nullable=True),
        moment("valid_from"),
        moment("valid_to", nullable=True),
        uid("superseded_by", nullable=True),
        whole("version"),
        moment("created_at"),
        moment("updated_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_facts")),
        sa.CheckConstraint("content <> ''", name=op.f("ck_facts_content")),
        sa.CheckConstraint("importance >= 1 AND importance <= 10", name=op.f("ck_facts_importance")),
        sa.CheckConstraint("state IN ('active', 'review', 'closed')", name=op.f("ck_facts_state")),
        sa.CheckConstraint(
            "trust IN ('owner_confirmed', 'owner_said', 'assistant', 'tool', 'other')", name=op.f("ck_facts_trust")
        ),
        sa.CheckConstraint("version >= 1", name=op.f("ck_facts_version")),
        sa.CheckConstraint("visibility IN ('private', 'shared')", name=op.f("ck_facts_visibility")),
    )
    op.create_index(
        op.f("ix_facts_tenant_id_subject_id_visibility_state_standing"),
        "facts",
        ["tenant_id", "subject_id", "visibility", "state", "standing"],
    )
    op.create_index(op.f("ix_facts_tenant_id_superseded_by"), "facts", ["tenant_id", "superseded_by"])
    op.create_index(
        op.f("ix_facts_tenant_id_user_id_subject_id_state_standing"),
        "facts",
        ["tenant_id", "user_id", "subject_id", "state", "standing"],
    )
    op.create_index(
        "uq_facts_content",
        "facts",
        ["tenant_id", "user_id", "subject_id", "content_key"],
        unique=True,
        sqlite_where=_BELIEVED,
        postgresql_where=_BELIEVED,
    )


def _fact_versions() -> None:
    op.create_table(
        "fact_versions",
        text("tenant_id"),
        uid("fact_id"),
        whole("version"),
        text("action"),
        moment("at"),
        text("category"),
        text("content"),
        whole("importance"),
        text("visibility"),
        text("state"),
        flag("pinned"),
        text("trust"),
        text("doubt", nullable=True),
        moment("valid_to", nullable=True),
        uid("superseded_by", nullable=True),
        whole("restores", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "fact_id", "version", name=op.f("pk_fact_versions")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "fact_id"],
            ["facts.tenant_id", "facts.id"],
            name=op.f("fk_fact_versions_tenant_id_fact_id"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(
            "action IN ('learned', 'added', 'edited', 'pinned', 'unpinned', 'confirmed', 'shared', 'unshared',"
            " 'superseded', 'reopened', 'undone')",
            name=op.f("ck_fact_versions_action"),
        ),
    )


def _fact_sources() -> None:
    op.create_table(
        "fact_sources",
        text("tenant_id"),
        uid("fact_id"),
        uid("session_uid"),
        whole("seq"),
        uid("message_id"),
        text("quote"),
        whole("start"),
        whole("stop"),
        text("trust"),
        text("model", nullable=True),
        text("prompt_version", nullable=True),
        moment("learned_at"),
        sa.PrimaryKeyConstraint("tenant_id", "fact_id", "session_uid", "seq", name=op.f("pk_fact_sources")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "fact_id"],
            ["facts.tenant_id", "facts.id"],
            name=op.f("fk_fact_sources_tenant_id_fact_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_uid"],
            ["sessions.tenant_id", "sessions.id"],
            name=op.f("fk_fact_sources_tenant_id_session_uid"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("start >= 0 AND start <= seq AND seq < stop", name=op.f("ck_fact_sources_span")),
        sa.CheckConstraint(
            "trust IN ('owner_confirmed', 'owner_said', 'assistant', 'tool', 'other')",
            name=op.f("ck_fact_sources_trust"),
        ),
    )
    op.create_index(
        op.f("ix_fact_sources_tenant_id_session_uid_seq"), "fact_sources", ["tenant_id", "session_uid", "seq"]
    )


def _fact_terms() -> None:
    op.create_table(
        "fact_terms",
        text("tenant_id"),
        uid("fact_id"),
        text("user_id"),
        text("subject_id"),
        text("term"),
        sa.PrimaryKeyConstraint("tenant_id", "fact_id", "term", name=op.f("pk_fact_terms")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "fact_id"],
            ["facts.tenant_id", "facts.id"],
            name=op.f("fk_fact_terms_tenant_id_fact_id"),
            ondelete="CASCADE",
        ),
    )
    op.create_index(op.f("ix_fact_terms_tenant_id_subject_id_term"), "fact_terms", ["tenant_id", "subject_id", "term"])
    op.create_index(op.f("ix_fact_terms_tenant_id_user_id_term"), "fact_terms", ["tenant_id", "user_id", "term"])


def _fact_tombstones() -> None:
    op.create_table(
        "fact_tombstones",
        text("tenant_id"),
        uid("id"),
        text("user_id"),
        text("subject_id"),
        json("marks"),
        moment("created_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_fact_tombstones")),
    )
    op.create_index(
        op.f("ix_fact_tombstones_tenant_id_user_id_subject_id"),
        "fact_tombstones",
        ["tenant_id", "user_id", "subject_id"],
    )


def _chunks() -> None:
    op.create_table(
        "chunks",
        text("tenant_id"),
        uid("id"),
        uid("session_uid"),
        whole("start"),
        whole("stop"),
        text("text"),
        whole("tokens"),
        text("method"),
        text("model", nullable=True),
        text("prompt_version", nullable=True),
        text("trust"),
        moment("first_at"),
        moment("last_at"),
        moment("created_at"),
        flag("stale"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_chunks")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_uid"],
            ["sessions.tenant_id", "sessions.id"],
            name=op.f("fk_chunks_tenant_id_session_uid"),
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("tenant_id", "session_uid", "start", name=op.f("uq_chunks_tenant_id_session_uid_start")),
        sa.CheckConstraint("method IN ('model', 'extractive', 'digest')", name=op.f("ck_chunks_method")),
        sa.CheckConstraint("start >= 0 AND start < stop", name=op.f("ck_chunks_span")),
        sa.CheckConstraint("text <> ''", name=op.f("ck_chunks_text")),
        sa.CheckConstraint(
            "trust IN ('owner_confirmed', 'owner_said', 'assistant', 'tool', 'other')", name=op.f("ck_chunks_trust")
        ),
    )
