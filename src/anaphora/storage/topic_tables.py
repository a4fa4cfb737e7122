"""The tables of topics and of notepads. The laws of `storage.tables` hold for them too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.messages import Trust
from anaphora.domain.notepad import PageAction
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Closed, Opened, View
from anaphora.storage.columns import (
    metadata,
    of_session_key,
    one_of,
    tenant_column,
    text_column,
    time_column,
    uuid_column,
)
from anaphora.storage.types import json_type

#: segments of sessions that are over
topics = sa.Table(
    "topics",
    metadata,
    tenant_column(),
    uuid_column("id"),
    uuid_column("session_uid"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    text_column("opened"),
    text_column("closed"),
    uuid_column("continues", nullable=True),
    uuid_column("leads_to", nullable=True),
    text_column("name", nullable=True),
    text_column("summary", nullable=True),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("words", json_type(), nullable=False),
    text_column("method", nullable=True),
    text_column("model", nullable=True),
    text_column("prompt_version", nullable=True),
    text_column("trust"),
    sa.Column("stale", sa.Boolean, nullable=False),
    time_column("first_at"),
    time_column("last_at"),
    time_column("closed_at"),
    sa.Column("closed_head", sa.Integer, nullable=False),
    time_column("described_at", nullable=True),
    sa.Column("described_head", sa.Integer),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    of_session_key(),
    sa.UniqueConstraint("tenant_id", "session_uid", "start"),
    one_of("opened", Opened),
    one_of("closed", Closed),
    one_of("method", Method),
    one_of("trust", Trust),
    sa.CheckConstraint("(summary IS NULL) = (described_at IS NULL)", name="described"),
    sa.CheckConstraint("(closed = 'return') = (leads_to IS NOT NULL)", name="leads_to"),
    sa.CheckConstraint("start >= 0 AND start < stop", name="span"),
)

#: what names and summaries of topics mean
topic_vectors = sa.Table(
    "topic_vectors",
    metadata,
    tenant_column(),
    uuid_column("topic_id"),
    text_column("view"),
    text_column("space"),
    sa.Column("embedding", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "topic_id", "view", "space"),
    sa.ForeignKeyConstraint(["tenant_id", "topic_id"], ["topics.tenant_id", "topics.id"], ondelete="CASCADE"),
    one_of("view", View),
)

#: every version of every notepad, whole
notepad_pages = sa.Table(
    "notepad_pages",
    metadata,
    tenant_column(),
    text_column("user_id"),
    text_column("agent_id"),
    sa.Column("version", sa.Integer, nullable=False),
    text_column("action"),
    text_column("text"),
    sa.Column("tokens", sa.Integer, nullable=False),
    uuid_column("session_uid", nullable=True),
    sa.Column("start", sa.Integer),
    sa.Column("stop", sa.Integer),
    text_column("method", nullable=True),
    text_column("model", nullable=True),
    text_column("prompt_version", nullable=True),
    text_column("trust"),
    sa.Column("restores", sa.Integer),
    time_column("created_at"),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "agent_id", "version"),
    of_session_key(),
    sa.Index(None, "tenant_id", "session_uid"),
    one_of("action", PageAction),
    one_of("method", Method),
    one_of("trust", Trust),
    sa.CheckConstraint("(action = 'reflected') = (session_uid IS NOT NULL)", name="source"),
    sa.CheckConstraint("version >= 1", name="version"),
)
