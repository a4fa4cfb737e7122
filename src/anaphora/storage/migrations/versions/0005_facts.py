"""Facts with their sources and histories, subjects, chunks; and the jobs that extract them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('summarise', 'rebuild', 'embed', 'extract', 'reextract')"
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
#: a transaction sees and writes the rows of the tenant that it named, whatever its statements say
_OF_ONE_TENANT = (
    sa.DDL("ALTER TABLE %(table)s ENABLE ROW LEVEL SECURITY"),
    sa.DDL("ALTER TABLE %(table)s FORCE ROW LEVEL SECURITY"),
    sa.DDL("CREATE POLICY tenant ON %(table)s USING (tenant_id = current_setting('anaphora.tenant', true))"),
    sa.DDL("CREATE POLICY examined ON %(table)s FOR SELECT USING (current_setting('anaphora.scope', true) = 'all')"),
)
#: SQLite changes no constraint of a table that is there
_JOBS = """
CREATE TABLE jobs_new (
    tenant_id TEXT NOT NULL,
    id CHAR(32) NOT NULL,
    session_uid CHAR(32) NOT NULL,
    kind TEXT NOT NULL,
    state TEXT DEFAULT 'queued' NOT NULL,
    start INTEGER,
    stop INTEGER,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    run_at TEXT NOT NULL,
    lease_owner TEXT,
    lease_until TEXT,
    rearm BOOLEAN NOT NULL,
    needs_model BOOLEAN NOT NULL,
    from_seq INTEGER,
    epoch INTEGER NOT NULL,
    reason TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CONSTRAINT pk_jobs PRIMARY KEY (tenant_id, id),
    CONSTRAINT fk_jobs_tenant_id_session_uid FOREIGN KEY(tenant_id, session_uid)
        REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT ck_jobs_kind CHECK (kind IN ('summarise', 'rebuild', 'embed', 'extract', 'reextract')),
    CONSTRAINT ck_jobs_state CHECK (state IN ('queued', 'running', 'done', 'failed')),
    CONSTRAINT ck_jobs_lease CHECK (state <> 'running' OR (lease_owner IS NOT NULL AND lease_until IS NOT NULL))
)
"""
_LIVE = "WHERE state IN ('queued', 'running')"
_COPY_JOBS = (
    "INSERT INTO jobs_new (tenant_id, id, session_uid, kind, state, start, stop, attempt, max_attempts, run_at,"
    " lease_owner, lease_until, rearm, needs_model, from_seq, epoch, reason, created_at, updated_at)"
    " SELECT tenant_id, id, session_uid, kind, state, start, stop, attempt, max_attempts, run_at,"
    " lease_owner, lease_until, rearm, needs_model, from_seq, epoch, reason, created_at, updated_at FROM jobs"
)
_REPLACE_JOBS = (
    _JOBS,
    _COPY_JOBS,
    "DROP TABLE jobs",
    "ALTER TABLE jobs_new RENAME TO jobs",
    f"CREATE INDEX ix_jobs_claim ON jobs (tenant_id, state, run_at) {_LIVE}",
    "CREATE INDEX ix_jobs_tenant_id_session_uid ON jobs (tenant_id, session_uid)",
    f"CREATE UNIQUE INDEX uq_jobs_live ON jobs (tenant_id, session_uid, kind) {_LIVE}",
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
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f("ck_jobs_kind"), "jobs", type_="check")
        op.create_check_constraint(op.f("ck_jobs_kind"), "jobs", _KINDS)
        for table in _TABLES:
            for rule in _OF_ONE_TENANT:
                op.execute(rule.against(sa.Table(table, sa.MetaData())))
    else:
        for statement in _REPLACE_JOBS:
            op.execute(statement)


def _subjects() -> None:
    op.create_table(
        "subjects",
        _text("tenant_id"),
        _text("id"),
        _text("name"),
        _text("owner_id"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_subjects")),
    )
    op.create_index(op.f("ix_subjects_tenant_id_owner_id"), "subjects", ["tenant_id", "owner_id"])


def _subject_members() -> None:
    op.create_table(
        "subject_members",
        _text("tenant_id"),
        _text("subject_id"),
        _text("user_id"),
        _time("added_at"),
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
        _text("tenant_id"),
        _uuid("id"),
        _text("user_id"),
        _text("agent_id", nullable=True),
        _text("subject_id"),
        _text("category"),
        _text("content"),
        _text("content_key"),
        _int("importance"),
        _int("standing"),
        _text("visibility"),
        _text("state"),
        _bool("pinned"),
        _text("trust"),
        _text("doubt", nullable=True),
        _time("valid_from"),
        _time("valid_to", nullable=True),
        _uuid("superseded_by", nullable=True),
        _int("version"),
        _time("created_at"),
        _time("updated_at"),
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
        _text("tenant_id"),
        _uuid("fact_id"),
        _int("version"),
        _text("action"),
        _time("at"),
        _text("category"),
        _text("content"),
        _int("importance"),
        _text("visibility"),
        _text("state"),
        _bool("pinned"),
        _text("trust"),
        _text("doubt", nullable=True),
        _time("valid_to", nullable=True),
        _uuid("superseded_by", nullable=True),
        _int("restores", nullable=True),
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
        _text("tenant_id"),
        _uuid("fact_id"),
        _uuid("session_uid"),
        _int("seq"),
        _uuid("message_id"),
        _text("quote"),
        _int("start"),
        _int("stop"),
        _text("trust"),
        _text("model", nullable=True),
        _text("prompt_version", nullable=True),
        _time("learned_at"),
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
        _text("tenant_id"),
        _uuid("fact_id"),
        _text("user_id"),
        _text("subject_id"),
        _text("term"),
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
        _text("tenant_id"),
        _uuid("id"),
        _text("user_id"),
        _text("subject_id"),
        _json("marks"),
        _time("created_at"),
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
        _text("tenant_id"),
        _uuid("id"),
        _uuid("session_uid"),
        _int("start"),
        _int("stop"),
        _text("text"),
        _int("tokens"),
        _text("method"),
        _text("model", nullable=True),
        _text("prompt_version", nullable=True),
        _text("trust"),
        _time("first_at"),
        _time("last_at"),
        _time("created_at"),
        _bool("stale"),
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


def _text(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _uuid(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Uuid, nullable=nullable)


def _int(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer, nullable=nullable)


def _bool(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean, nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql"), nullable=nullable)


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON, nullable=False)
