"""The schema, for every database.

Laws: the tenant comes first in every key, index and foreign key, so that the schema can be distributed by it; ids
are made by the client; no column takes its value from the server's clock or a sequence; what must be unique is
unique in the schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import Role, Trust
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.storage.types import UtcTime, json_type, vector_type

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant_id", sa.Text, nullable=False)


def _uuid(name: str, *, nullable: bool = False) -> sa.Column[UUID]:
    return sa.Column(name, sa.Uuid, nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    return sa.Column(name, UtcTime(), nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _one_of(column: str, values: Iterable[StrEnum]) -> sa.CheckConstraint:
    quoted = ", ".join(f"'{value.value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({quoted})", name=column)


def _of_session() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant_id", "session_uid"], ["sessions.tenant_id", "sessions.id"], ondelete="CASCADE"
    )


sessions = sa.Table(
    "sessions",
    metadata,
    _tenant(),
    _uuid("id"),
    _text("user_id"),
    _text("agent_id"),
    _text("session_id"),
    _text("strategy", nullable=True),
    _text("subject", nullable=True),
    sa.Column("head", sa.Integer, nullable=False),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("turn_starts", json_type(), nullable=False),
    sa.Column("turn_finished", sa.Boolean, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False, server_default="0"),
    _time("created_at"),
    _time("updated_at"),
    _time("ended_at", nullable=True),
    _time("expires_at", nullable=True),
    sa.Column("deleted", json_type(), nullable=False, server_default="[]"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.UniqueConstraint("tenant_id", "user_id", "agent_id", "session_id"),
    sa.CheckConstraint("head >= 0 AND turns >= 0 AND tokens >= 0 AND epoch >= 0", name="counts"),
    sa.Index(None, "tenant_id", "updated_at"),
)

messages = sa.Table(
    "messages",
    metadata,
    _tenant(),
    _uuid("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    _uuid("id"),
    sa.Column("turn", sa.Integer, nullable=False),
    _text("role"),
    _text("name", nullable=True),
    _text("content"),
    sa.Column("parts", json_type(), nullable=False),
    sa.Column("metadata", json_type(), nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    _text("source"),
    _text("trust"),
    sa.Column("epoch", sa.Integer, nullable=False),
    _time("created_at"),
    _time("appended_at"),
    _time("expires_at", nullable=True),
    sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    _time("changed_at", nullable=True),
    sa.Column("deleted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq"),
    _of_session(),
    sa.UniqueConstraint("tenant_id", "id"),
    _one_of("role", Role),
    _one_of("trust", Trust),
    sa.CheckConstraint("seq >= 0 AND turn >= 0 AND turn <= seq", name="seq"),
)

#: what messages said before they were edited or deleted
message_versions = sa.Table(
    "message_versions",
    metadata,
    _tenant(),
    _uuid("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    _text("name", nullable=True),
    _text("content"),
    sa.Column("parts", json_type(), nullable=False),
    sa.Column("metadata", json_type(), nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    _time("changed_at", nullable=True),
    _time("replaced_at"),
    sa.Column("replaced_head", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "version"),
    _of_session(),
    sa.CheckConstraint("seq >= 0 AND version >= 1 AND replaced_head > seq", name="place"),
)

#: what the passages of messages mean, by one embedder or several
message_vectors = sa.Table(
    "message_vectors",
    metadata,
    _tenant(),
    _uuid("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    _text("space"),
    _text("user_id"),
    _text("agent_id"),
    sa.Column("embedding", vector_type(), nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "space", "part"),
    sa.ForeignKeyConstraint(
        ["tenant_id", "session_uid", "seq"],
        ["messages.tenant_id", "messages.session_uid", "messages.seq"],
        ondelete="CASCADE",
    ),
    sa.CheckConstraint("part >= 0", name="part"),
    sa.Index(None, "tenant_id", "space", "user_id"),
)

#: up to where every live message has its vectors
vector_heads = sa.Table(
    "vector_heads",
    metadata,
    _tenant(),
    _uuid("session_uid"),
    _text("space"),
    sa.Column("position", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "space"),
    _of_session(),
    sa.CheckConstraint("position >= 0", name="position"),
)

receipts = sa.Table(
    "receipts",
    metadata,
    _tenant(),
    _uuid("id"),
    _uuid("session_uid"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    _text("idempotency_key", nullable=True),
    _text("body_hash"),
    sa.Column("epoch", sa.Integer, nullable=False),
    _time("created_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    _of_session(),
    sa.CheckConstraint("start >= 0 AND start <= stop", name="span"),
)

_with_key = receipts.c.idempotency_key.is_not(None)
sa.Index(
    "uq_receipts_key",
    receipts.c.tenant_id,
    receipts.c.session_uid,
    receipts.c.idempotency_key,
    unique=True,
    sqlite_where=_with_key,
    postgresql_where=_with_key,
)

summaries = sa.Table(
    "summaries",
    metadata,
    _tenant(),
    _uuid("id"),
    _uuid("session_uid"),
    _text("strategy"),
    sa.Column("version", sa.Integer, nullable=False),
    _uuid("base_id", nullable=True),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    _text("status"),
    _text("method"),
    _text("model", nullable=True),
    _text("prompt_version", nullable=True),
    _text("trust"),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("generation_ms", sa.Integer, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    _time("created_at"),
    _time("expires_at", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    _of_session(),
    sa.ForeignKeyConstraint(["tenant_id", "base_id"], ["summaries.tenant_id", "summaries.id"]),
    sa.Index(None, "tenant_id", "base_id"),
    sa.UniqueConstraint("tenant_id", "session_uid", "strategy", "version"),
    _one_of("status", SummaryStatus),
    _one_of("method", Method),
    _one_of("trust", Trust),
    sa.CheckConstraint("start >= 0 AND start < stop", name="span"),
)
_served = sa.text(f"status = '{SummaryStatus.COMPLETED.value}'")
sa.Index(
    "uq_summaries_range",
    summaries.c.tenant_id,
    summaries.c.session_uid,
    summaries.c.strategy,
    summaries.c.start,
    summaries.c.stop,
    unique=True,
    sqlite_where=_served,
    postgresql_where=_served,
)

points = sa.Table(
    "points",
    metadata,
    _tenant(),
    _uuid("summary_id"),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    _text("text"),
    sa.Column("elided", json_type(), nullable=False),
    _text("method"),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "summary_id", "ordinal"),
    sa.ForeignKeyConstraint(["tenant_id", "summary_id"], ["summaries.tenant_id", "summaries.id"], ondelete="CASCADE"),
    sa.CheckConstraint("text <> ''", name="text"),
    sa.CheckConstraint("start >= 0 AND start < stop", name="span"),
    _one_of("method", Method),
)

heads = sa.Table(
    "heads",
    metadata,
    _tenant(),
    _uuid("session_uid"),
    _text("reader"),
    sa.Column("position", sa.Integer, nullable=False),
    _uuid("summary_id", nullable=True),
    _time("updated_at"),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader"),
    _of_session(),
    sa.ForeignKeyConstraint(["tenant_id", "summary_id"], ["summaries.tenant_id", "summaries.id"]),
    sa.Index(None, "tenant_id", "summary_id"),
    sa.CheckConstraint("position >= 0", name="position"),
)

#: where each reader's head ever was
head_moves = sa.Table(
    "head_moves",
    metadata,
    _tenant(),
    _uuid("session_uid"),
    _text("reader"),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    _uuid("summary_id", nullable=True),
    _time("at"),
    sa.Column("log_head", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader", "number"),
    _of_session(),
    sa.CheckConstraint("number >= 1 AND position >= 0 AND position <= log_head", name="place"),
)

#: which states each version ever reached; each at most once
summary_states = sa.Table(
    "summary_states",
    metadata,
    _tenant(),
    _uuid("summary_id"),
    _text("status"),
    _time("at"),
    sa.Column("log_head", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "summary_id", "status"),
    sa.ForeignKeyConstraint(["tenant_id", "summary_id"], ["summaries.tenant_id", "summaries.id"], ondelete="CASCADE"),
    _one_of("status", SummaryStatus),
)

jobs = sa.Table(
    "jobs",
    metadata,
    _tenant(),
    _uuid("id"),
    _uuid("session_uid"),
    _text("kind"),
    sa.Column("state", sa.Text, nullable=False, server_default=JobState.QUEUED.value),
    sa.Column("start", sa.Integer),
    sa.Column("stop", sa.Integer),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("max_attempts", sa.Integer, nullable=False),
    _time("run_at"),
    _text("lease_owner", nullable=True),
    _time("lease_until", nullable=True),
    sa.Column("rearm", sa.Boolean, nullable=False),
    sa.Column("needs_model", sa.Boolean, nullable=False),
    sa.Column("from_seq", sa.Integer),
    sa.Column("epoch", sa.Integer, nullable=False),
    _text("reason", nullable=True),
    _time("created_at"),
    _time("updated_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    _of_session(),
    _one_of("kind", JobKind),
    _one_of("state", JobState),
    sa.CheckConstraint("state <> 'running' OR (lease_owner IS NOT NULL AND lease_until IS NOT NULL)", name="lease"),
    sa.Index(None, "tenant_id", "session_uid"),
)
_live = sa.text(f"state IN ('{JobState.QUEUED.value}', '{JobState.RUNNING.value}')")
sa.Index(
    "uq_jobs_live",
    jobs.c.tenant_id,
    jobs.c.session_uid,
    jobs.c.kind,
    unique=True,
    sqlite_where=_live,
    postgresql_where=_live,
)

sa.Index(
    "ix_jobs_claim",
    jobs.c.tenant_id,
    jobs.c.state,
    jobs.c.run_at,
    sqlite_where=_live,
    postgresql_where=_live,
)

store_meta = sa.Table(
    "store_meta",
    metadata,
    _text("name"),
    _text("value"),
    sa.PrimaryKeyConstraint("name"),
)
