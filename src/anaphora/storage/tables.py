"""The schema, for every database.

Laws: the tenant comes first in every key, index and foreign key, so that the schema can be distributed by it; ids
are made by the client; no column takes its value from the server's clock or a sequence; what must be unique is
unique in the schema.
"""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import Role, Trust
from anaphora.domain.summaries import Method, SummaryStatus
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

sessions = sa.Table(
    "sessions",
    metadata,
    tenant_column(),
    uuid_column("id"),
    text_column("user_id"),
    text_column("agent_id"),
    text_column("session_id"),
    text_column("strategy", nullable=True),
    text_column("subject", nullable=True),
    sa.Column("head", sa.Integer, nullable=False),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("turn_starts", json_type(), nullable=False),
    sa.Column("turn_finished", sa.Boolean, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False, server_default="0"),
    time_column("created_at"),
    time_column("updated_at"),
    time_column("ended_at", nullable=True),
    time_column("expires_at", nullable=True),
    sa.Column("deleted", json_type(), nullable=False, server_default="[]"),
    #: after how many silent days it expires, if not after those of its agent
    sa.Column("keep_days", sa.Float, nullable=True),
    #: since when it is out of sight; None: it is not
    time_column("expired_at", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.UniqueConstraint("tenant_id", "user_id", "agent_id", "session_id"),
    sa.CheckConstraint("head >= 0 AND turns >= 0 AND tokens >= 0 AND epoch >= 0", name="counts"),
    sa.Index(None, "tenant_id", "updated_at"),
)
_expired = sa.text("expired_at IS NOT NULL")
sa.Index(
    "ix_sessions_expired",
    sessions.c.tenant_id,
    sessions.c.expired_at,
    sqlite_where=_expired,
    postgresql_where=_expired,
)
_kept_apart = sa.text("keep_days IS NOT NULL")
sa.Index(
    "ix_sessions_kept_apart",
    sessions.c.tenant_id,
    sessions.c.id,
    sqlite_where=_kept_apart,
    postgresql_where=_kept_apart,
)

messages = sa.Table(
    "messages",
    metadata,
    tenant_column(),
    uuid_column("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    uuid_column("id"),
    sa.Column("turn", sa.Integer, nullable=False),
    text_column("role"),
    text_column("name", nullable=True),
    text_column("content"),
    sa.Column("parts", json_type(), nullable=False),
    sa.Column("metadata", json_type(), nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    text_column("source"),
    text_column("trust"),
    sa.Column("epoch", sa.Integer, nullable=False),
    time_column("created_at"),
    time_column("appended_at"),
    time_column("expires_at", nullable=True),
    sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    time_column("changed_at", nullable=True),
    sa.Column("deleted", sa.Boolean, nullable=False, server_default=sa.false()),
    #: a tombstone of which nothing is kept, no earlier version either
    sa.Column("erased", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq"),
    of_session_key(),
    sa.UniqueConstraint("tenant_id", "id"),
    one_of("role", Role),
    one_of("trust", Trust),
    sa.CheckConstraint("seq >= 0 AND turn >= 0 AND turn <= seq", name="seq"),
)

#: what messages said before they were edited or deleted
message_versions = sa.Table(
    "message_versions",
    metadata,
    tenant_column(),
    uuid_column("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    text_column("name", nullable=True),
    text_column("content"),
    sa.Column("parts", json_type(), nullable=False),
    sa.Column("metadata", json_type(), nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    time_column("changed_at", nullable=True),
    time_column("replaced_at"),
    sa.Column("replaced_head", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "version"),
    of_session_key(),
    sa.CheckConstraint("seq >= 0 AND version >= 1 AND replaced_head > seq", name="place"),
)

#: what the passages of messages mean, by one embedder or several
message_vectors = sa.Table(
    "message_vectors",
    metadata,
    tenant_column(),
    uuid_column("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    text_column("space"),
    text_column("user_id"),
    text_column("agent_id"),
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
    tenant_column(),
    uuid_column("session_uid"),
    text_column("space"),
    sa.Column("position", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "space"),
    of_session_key(),
    sa.CheckConstraint("position >= 0", name="position"),
)

receipts = sa.Table(
    "receipts",
    metadata,
    tenant_column(),
    uuid_column("id"),
    uuid_column("session_uid"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    text_column("idempotency_key", nullable=True),
    text_column("body_hash"),
    sa.Column("epoch", sa.Integer, nullable=False),
    time_column("created_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    of_session_key(),
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
    tenant_column(),
    uuid_column("id"),
    uuid_column("session_uid"),
    text_column("strategy"),
    sa.Column("version", sa.Integer, nullable=False),
    uuid_column("base_id", nullable=True),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    text_column("status"),
    text_column("method"),
    text_column("model", nullable=True),
    text_column("prompt_version", nullable=True),
    text_column("trust"),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("generation_ms", sa.Integer, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    time_column("created_at"),
    time_column("expires_at", nullable=True),
    sa.Column("structure", json_type(), nullable=False, server_default="{}"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    of_session_key(),
    sa.ForeignKeyConstraint(["tenant_id", "base_id"], ["summaries.tenant_id", "summaries.id"]),
    sa.Index(None, "tenant_id", "base_id"),
    sa.UniqueConstraint("tenant_id", "session_uid", "strategy", "version"),
    one_of("status", SummaryStatus),
    one_of("method", Method),
    one_of("trust", Trust),
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
    tenant_column(),
    uuid_column("summary_id"),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    text_column("text"),
    sa.Column("elided", json_type(), nullable=False),
    text_column("method"),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "summary_id", "ordinal"),
    sa.ForeignKeyConstraint(["tenant_id", "summary_id"], ["summaries.tenant_id", "summaries.id"], ondelete="CASCADE"),
    sa.CheckConstraint("text <> ''", name="text"),
    sa.CheckConstraint("start >= 0 AND start < stop", name="span"),
    one_of("method", Method),
)

heads = sa.Table(
    "heads",
    metadata,
    tenant_column(),
    uuid_column("session_uid"),
    text_column("reader"),
    sa.Column("position", sa.Integer, nullable=False),
    uuid_column("summary_id", nullable=True),
    time_column("updated_at"),
    sa.Column("aim", sa.Integer, nullable=False, server_default="0"),
    sa.Column("tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("seen", sa.BigInteger, nullable=False, server_default="0"),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader"),
    of_session_key(),
    sa.ForeignKeyConstraint(["tenant_id", "summary_id"], ["summaries.tenant_id", "summaries.id"]),
    sa.Index(None, "tenant_id", "summary_id"),
    sa.CheckConstraint("position >= 0", name="position"),
)

#: where each reader's head ever was
head_moves = sa.Table(
    "head_moves",
    metadata,
    tenant_column(),
    uuid_column("session_uid"),
    text_column("reader"),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    uuid_column("summary_id", nullable=True),
    time_column("at"),
    sa.Column("log_head", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader", "number"),
    of_session_key(),
    sa.CheckConstraint("number >= 1 AND position >= 0 AND position <= log_head", name="place"),
)

#: which states each version ever reached; each at most once
summary_states = sa.Table(
    "summary_states",
    metadata,
    tenant_column(),
    uuid_column("summary_id"),
    text_column("status"),
    time_column("at"),
    sa.Column("log_head", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "summary_id", "status"),
    sa.ForeignKeyConstraint(["tenant_id", "summary_id"], ["summaries.tenant_id", "summaries.id"], ondelete="CASCADE"),
    one_of("status", SummaryStatus),
)

jobs = sa.Table(
    "jobs",
    metadata,
    tenant_column(),
    uuid_column("id"),
    uuid_column("session_uid"),
    text_column("kind"),
    sa.Column("state", sa.Text, nullable=False, server_default=JobState.QUEUED.value),
    sa.Column("start", sa.Integer),
    sa.Column("stop", sa.Integer),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("max_attempts", sa.Integer, nullable=False),
    time_column("run_at"),
    text_column("lease_owner", nullable=True),
    time_column("lease_until", nullable=True),
    sa.Column("rearm", sa.Boolean, nullable=False),
    sa.Column("needs_model", sa.Boolean, nullable=False),
    sa.Column("from_seq", sa.Integer),
    sa.Column("epoch", sa.Integer, nullable=False),
    text_column("reason", nullable=True),
    time_column("created_at"),
    time_column("updated_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    of_session_key(),
    one_of("kind", JobKind),
    one_of("state", JobState),
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
    text_column("name"),
    text_column("value"),
    sa.PrimaryKeyConstraint("name"),
)
