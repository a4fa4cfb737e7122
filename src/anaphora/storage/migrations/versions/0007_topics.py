"""Topics and their vectors, the pages of notepads; facts that are set aside; and the jobs that make them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import (
    flag,
    json,
    kinds_of_jobs,
    moment,
    of_one_tenant,
    of_session,
    on_server,
    text,
    uid,
    values_of,
    whole,
)

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_METHODS = "method IN ('model', 'extractive', 'digest')"
_TRUSTS = "trust IN ('owner_confirmed', 'owner_said', 'assistant', 'tool', 'other')"
_STATES = ("active", "review", "closed")
_ACTIONS = (
    "learned",
    "added",
    "edited",
    "pinned",
    "unpinned",
    "confirmed",
    "shared",
    "unshared",
    "superseded",
    "reopened",
    "undone",
)


def upgrade() -> None:
    _topics()
    _topic_vectors()
    _notepad_pages()
    values_of("facts", "state", _STATES, (*_STATES, "aside"))
    values_of("fact_versions", "action", _ACTIONS, (*_ACTIONS, "set_aside", "taken_up"))
    kinds_of_jobs(["summarise", "rebuild", "embed", "extract", "reextract", "follow", "describe", "reflect"])
    if on_server():
        for table in ("topics", "topic_vectors", "notepad_pages"):
            of_one_tenant(table)


def _topics() -> None:
    op.create_table(
        "topics",
        text("tenant_id"),
        uid("id"),
        uid("session_uid"),
        whole("start"),
        whole("stop"),
        text("opened"),
        text("closed"),
        uid("continues", nullable=True),
        uid("leads_to", nullable=True),
        text("name", nullable=True),
        text("summary", nullable=True),
        whole("tokens"),
        json("words"),
        text("method", nullable=True),
        text("model", nullable=True),
        text("prompt_version", nullable=True),
        text("trust"),
        flag("stale"),
        moment("first_at"),
        moment("last_at"),
        moment("closed_at"),
        whole("closed_head"),
        moment("described_at", nullable=True),
        whole("described_head", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_topics")),
        of_session("topics"),
        sa.UniqueConstraint("tenant_id", "session_uid", "start", name=op.f("uq_topics_tenant_id_session_uid_start")),
        sa.CheckConstraint("opened IN ('first', 'shift', 'return', 'full', 'again')", name=op.f("ck_topics_opened")),
        sa.CheckConstraint("closed IN ('shift', 'return', 'full', 'ended')", name=op.f("ck_topics_closed")),
        sa.CheckConstraint(_METHODS, name=op.f("ck_topics_method")),
        sa.CheckConstraint(_TRUSTS, name=op.f("ck_topics_trust")),
        sa.CheckConstraint("(summary IS NULL) = (described_at IS NULL)", name=op.f("ck_topics_described")),
        sa.CheckConstraint("(closed = 'return') = (leads_to IS NOT NULL)", name=op.f("ck_topics_leads_to")),
        sa.CheckConstraint("start >= 0 AND start < stop", name=op.f("ck_topics_span")),
    )


def _topic_vectors() -> None:
    op.create_table(
        "topic_vectors",
        text("tenant_id"),
        uid("topic_id"),
        text("view"),
        text("space"),
        sa.Column("embedding", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "topic_id", "view", "space", name=op.f("pk_topic_vectors")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "topic_id"],
            ["topics.tenant_id", "topics.id"],
            name=op.f("fk_topic_vectors_tenant_id_topic_id"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("view IN ('name', 'summary')", name=op.f("ck_topic_vectors_view")),
    )


def _notepad_pages() -> None:
    op.create_table(
        "notepad_pages",
        text("tenant_id"),
        text("user_id"),
        text("agent_id"),
        whole("version"),
        text("action"),
        text("text"),
        whole("tokens"),
        uid("session_uid", nullable=True),
        whole("start", nullable=True),
        whole("stop", nullable=True),
        text("method", nullable=True),
        text("model", nullable=True),
        text("prompt_version", nullable=True),
        text("trust"),
        whole("restores", nullable=True),
        moment("created_at"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "agent_id", "version", name=op.f("pk_notepad_pages")),
        of_session("notepad_pages"),
        sa.CheckConstraint("action IN ('reflected', 'edited', 'reverted')", name=op.f("ck_notepad_pages_action")),
        sa.CheckConstraint(_METHODS, name=op.f("ck_notepad_pages_method")),
        sa.CheckConstraint(_TRUSTS, name=op.f("ck_notepad_pages_trust")),
        sa.CheckConstraint("(action = 'reflected') = (session_uid IS NOT NULL)", name=op.f("ck_notepad_pages_source")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_notepad_pages_version")),
    )
    op.create_index(op.f("ix_notepad_pages_tenant_id_session_uid"), "notepad_pages", ["tenant_id", "session_uid"])
