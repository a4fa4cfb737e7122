"""The log: sessions, messages, receipts, summaries, heads, jobs, and the full-text index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from anaphora.storage.migrations.parts import json, moment, of_one_tenant, of_session, text, uid, whole

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_LIVE = sa.text("state IN ('queued', 'running')")
_COMPLETED = sa.text("status = 'completed'")
_WITH_KEY = sa.text("idempotency_key IS NOT NULL")
_TRUSTS = "trust IN ('owner_confirmed', 'owner_said', 'assistant', 'tool', 'other')"
_METHODS = "method IN ('model', 'extractive', 'digest')"


def upgrade() -> None:
    _sessions()
    _messages()
    _receipts()
    _summaries()
    _points()
    _heads()
    _jobs()
    op.create_table(
        "store_meta",
        text("name"),
        text("value"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_store_meta")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _sqlite_index()
    else:
        _postgres_index()
        for table in ("sessions", "messages", "receipts", "summaries", "points", "heads", "jobs", "message_words"):
            of_one_tenant(table)
        # workers look for what is due of all tenants; a job holds no word of what was said
        op.execute("CREATE POLICY queue ON jobs FOR SELECT USING (current_setting('anaphora.scope', true) = 'queue')")


def _sessions() -> None:
    op.create_table(
        "sessions",
        text("tenant_id"),
        uid("id"),
        text("user_id"),
        text("agent_id"),
        text("session_id"),
        text("strategy", nullable=True),
        text("subject", nullable=True),
        whole("head"),
        whole("turns"),
        json("turn_starts"),
        sa.Column("turn_finished", sa.Boolean, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False, server_default="0"),
        moment("created_at"),
        moment("updated_at"),
        moment("ended_at", nullable=True),
        moment("expires_at", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_sessions")),
        sa.UniqueConstraint(
            "tenant_id",
            "user_id",
            "agent_id",
            "session_id",
            name=op.f("uq_sessions_tenant_id_user_id_agent_id_session_id"),
        ),
        sa.CheckConstraint("head >= 0 AND turns >= 0 AND tokens >= 0 AND epoch >= 0", name=op.f("ck_sessions_counts")),
    )
    op.create_index(op.f("ix_sessions_tenant_id_updated_at"), "sessions", ["tenant_id", "updated_at"])


def _messages() -> None:
    op.create_table(
        "messages",
        text("tenant_id"),
        uid("session_uid"),
        whole("seq"),
        uid("id"),
        whole("turn"),
        text("role"),
        text("name", nullable=True),
        text("content"),
        json("parts"),
        json("metadata"),
        whole("tokens"),
        text("source"),
        text("trust"),
        whole("epoch"),
        moment("created_at"),
        moment("appended_at"),
        moment("expires_at", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", name=op.f("pk_messages")),
        of_session("messages"),
        sa.UniqueConstraint("tenant_id", "id", name=op.f("uq_messages_tenant_id_id")),
        sa.CheckConstraint("role IN ('user', 'assistant', 'tool', 'system')", name=op.f("ck_messages_role")),
        sa.CheckConstraint(_TRUSTS, name=op.f("ck_messages_trust")),
        sa.CheckConstraint("seq >= 0 AND turn >= 0 AND turn <= seq", name=op.f("ck_messages_seq")),
    )


def _receipts() -> None:
    op.create_table(
        "receipts",
        text("tenant_id"),
        uid("id"),
        uid("session_uid"),
        whole("start"),
        whole("stop"),
        text("idempotency_key", nullable=True),
        text("body_hash"),
        whole("epoch"),
        moment("created_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_receipts")),
        of_session("receipts"),
        sa.CheckConstraint("start >= 0 AND start <= stop", name=op.f("ck_receipts_span")),
    )
    op.create_index(
        "uq_receipts_key",
        "receipts",
        ["tenant_id", "session_uid", "idempotency_key"],
        unique=True,
        sqlite_where=_WITH_KEY,
        postgresql_where=_WITH_KEY,
    )


def _summaries() -> None:
    op.create_table(
        "summaries",
        text("tenant_id"),
        uid("id"),
        uid("session_uid"),
        text("strategy"),
        whole("version"),
        uid("base_id", nullable=True),
        whole("start"),
        whole("stop"),
        text("status"),
        text("method"),
        text("model", nullable=True),
        text("prompt_version", nullable=True),
        text("trust"),
        whole("tokens"),
        whole("generation_ms"),
        whole("epoch"),
        moment("created_at"),
        moment("expires_at", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_summaries")),
        of_session("summaries"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "base_id"],
            ["summaries.tenant_id", "summaries.id"],
            name=op.f("fk_summaries_tenant_id_base_id"),
        ),
        sa.UniqueConstraint(
            "tenant_id",
            "session_uid",
            "strategy",
            "version",
            name=op.f("uq_summaries_tenant_id_session_uid_strategy_version"),
        ),
        sa.CheckConstraint(
            "status IN ('building', 'completed', 'stale', 'superseded')", name=op.f("ck_summaries_status")
        ),
        sa.CheckConstraint(_METHODS, name=op.f("ck_summaries_method")),
        sa.CheckConstraint(_TRUSTS, name=op.f("ck_summaries_trust")),
        sa.CheckConstraint("start >= 0 AND start < stop", name=op.f("ck_summaries_span")),
    )
    op.create_index(op.f("ix_summaries_tenant_id_base_id"), "summaries", ["tenant_id", "base_id"])
    op.create_index(
        "uq_summaries_range",
        "summaries",
        ["tenant_id", "session_uid", "strategy", "start", "stop"],
        unique=True,
        sqlite_where=_COMPLETED,
        postgresql_where=_COMPLETED,
    )


def _points() -> None:
    op.create_table(
        "points",
        text("tenant_id"),
        uid("summary_id"),
        whole("ordinal"),
        whole("start"),
        whole("stop"),
        text("text"),
        json("elided"),
        text("method"),
        whole("tokens"),
        sa.PrimaryKeyConstraint("tenant_id", "summary_id", "ordinal", name=op.f("pk_points")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "summary_id"],
            ["summaries.tenant_id", "summaries.id"],
            name=op.f("fk_points_tenant_id_summary_id"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("text <> ''", name=op.f("ck_points_text")),
        sa.CheckConstraint("start >= 0 AND start < stop", name=op.f("ck_points_span")),
        sa.CheckConstraint(_METHODS, name=op.f("ck_points_method")),
    )


def _heads() -> None:
    op.create_table(
        "heads",
        text("tenant_id"),
        uid("session_uid"),
        text("reader"),
        whole("position"),
        uid("summary_id", nullable=True),
        moment("updated_at"),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader", name=op.f("pk_heads")),
        of_session("heads"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "summary_id"],
            ["summaries.tenant_id", "summaries.id"],
            name=op.f("fk_heads_tenant_id_summary_id"),
        ),
        sa.CheckConstraint("position >= 0", name=op.f("ck_heads_position")),
    )
    op.create_index(op.f("ix_heads_tenant_id_summary_id"), "heads", ["tenant_id", "summary_id"])


def _jobs() -> None:
    op.create_table(
        "jobs",
        text("tenant_id"),
        uid("id"),
        uid("session_uid"),
        text("kind"),
        sa.Column("state", sa.Text, nullable=False, server_default="queued"),
        sa.Column("start", sa.Integer),
        sa.Column("stop", sa.Integer),
        whole("attempt"),
        whole("max_attempts"),
        moment("run_at"),
        text("lease_owner", nullable=True),
        moment("lease_until", nullable=True),
        sa.Column("rearm", sa.Boolean, nullable=False),
        sa.Column("needs_model", sa.Boolean, nullable=False),
        sa.Column("from_seq", sa.Integer),
        whole("epoch"),
        text("reason", nullable=True),
        moment("created_at"),
        moment("updated_at"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_jobs")),
        of_session("jobs"),
        sa.CheckConstraint("kind IN ('summarise', 'rebuild')", name=op.f("ck_jobs_kind")),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_jobs_state")),
        sa.CheckConstraint(
            "state <> 'running' OR (lease_owner IS NOT NULL AND lease_until IS NOT NULL)",
            name=op.f("ck_jobs_lease"),
        ),
    )
    op.create_index(
        "ix_jobs_claim", "jobs", ["tenant_id", "state", "run_at"], sqlite_where=_LIVE, postgresql_where=_LIVE
    )
    op.create_index(op.f("ix_jobs_tenant_id_session_uid"), "jobs", ["tenant_id", "session_uid"])
    op.create_index(
        "uq_jobs_live",
        "jobs",
        ["tenant_id", "session_uid", "kind"],
        unique=True,
        sqlite_where=_LIVE,
        postgresql_where=_LIVE,
    )


def _sqlite_index() -> None:
    op.create_table(
        "message_docs",
        sa.Column("doc", sa.Integer, nullable=False),
        text("tenant_id"),
        uid("session_uid"),
        whole("seq"),
        sa.PrimaryKeyConstraint("doc"),
    )
    op.execute(
        "CREATE VIRTUAL TABLE message_words USING fts5(scope, body, tokenize='porter unicode61 remove_diacritics 2')"
    )
    op.execute("CREATE VIRTUAL TABLE message_trigrams USING fts5(body, tokenize='trigram')")


def _postgres_index() -> None:
    """Words are cut before the server sees them: whatever its parser takes them for, they are stemmed alike."""
    op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    op.execute("CREATE TEXT SEARCH DICTIONARY anaphora_stem (TEMPLATE = snowball, LANGUAGE = porter)")
    op.execute("CREATE TEXT SEARCH CONFIGURATION anaphora (PARSER = default)")
    op.execute(
        "ALTER TEXT SEARCH CONFIGURATION anaphora ADD MAPPING FOR asciiword, word, numword, asciihword, hword,"
        " numhword, hword_asciipart, hword_part, hword_numpart, email, protocol, url, host, url_path,"
        " file, sfloat, float, int, uint, version, tag, entity WITH anaphora_stem"
    )
    op.create_table(
        "message_words",
        text("tenant_id"),
        uid("session_uid"),
        whole("seq"),
        whole("part"),
        moment("added"),
        sa.Column("words", postgresql.TSVECTOR, nullable=False),
        text("unspaced", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "part", name=op.f("pk_message_words")),
        of_session("message_words"),
    )
    op.create_index("ix_message_words_words", "message_words", ["words"], postgresql_using="gin")
    op.create_index(
        "ix_message_words_unspaced",
        "message_words",
        ["unspaced"],
        postgresql_using="gin",
        postgresql_ops={"unspaced": "gin_trgm_ops"},
        postgresql_where=sa.text("unspaced IS NOT NULL"),
    )
