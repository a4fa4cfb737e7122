"""The account of erasures and what is known again by it; messages that were erased; sessions that have expired."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import json, moment, of_one_tenant, on_server, text, uid, whole

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_RUNNING = sa.text("state = 'running'")
_KEPT_APART = sa.text("keep_days IS NOT NULL")
_EXPIRED = sa.text("expired_at IS NOT NULL")


def upgrade() -> None:
    _erasures()
    _erased_marks()
    op.add_column("messages", sa.Column("erased", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("sessions", sa.Column("keep_days", sa.Float, nullable=True))
    op.add_column("sessions", moment("expired_at", nullable=True))
    op.add_column("facts", moment("expired_at", nullable=True))
    op.create_index(
        "ix_sessions_expired",
        "sessions",
        ["tenant_id", "expired_at"],
        sqlite_where=_EXPIRED,
        postgresql_where=_EXPIRED,
    )
    op.create_index(
        "ix_sessions_kept_apart",
        "sessions",
        ["tenant_id", "id"],
        sqlite_where=_KEPT_APART,
        postgresql_where=_KEPT_APART,
    )
    if on_server():
        for table in ("erasures", "erased_marks"):
            of_one_tenant(table)


def _erasures() -> None:
    op.create_table(
        "erasures",
        text("tenant_id"),
        uid("id"),
        whole("number"),
        text("kind"),
        text("mark"),
        text("asked_by"),
        moment("asked_at"),
        text("state"),
        moment("done_at", nullable=True),
        json("counts"),
        text("target", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_erasures")),
        sa.UniqueConstraint("tenant_id", "number", name=op.f("uq_erasures_tenant_id_number")),
        sa.CheckConstraint("kind IN ('user', 'session', 'message', 'fact', 'source')", name=op.f("ck_erasures_kind")),
        sa.CheckConstraint("state IN ('running', 'done')", name=op.f("ck_erasures_state")),
        sa.CheckConstraint("(state = 'done') = (target IS NULL)", name=op.f("ck_erasures_target")),
        sa.CheckConstraint("(state = 'done') = (done_at IS NOT NULL)", name=op.f("ck_erasures_done")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_erasures_number")),
    )
    op.create_index(
        "ix_erasures_running",
        "erasures",
        ["tenant_id", "number"],
        sqlite_where=_RUNNING,
        postgresql_where=_RUNNING,
    )


def _erased_marks() -> None:
    op.create_table(
        "erased_marks",
        text("tenant_id"),
        text("mark"),
        uid("erasure_id"),
        moment("erased_at"),
        sa.PrimaryKeyConstraint("tenant_id", "mark", name=op.f("pk_erased_marks")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "erasure_id"],
            ["erasures.tenant_id", "erasures.id"],
            name=op.f("fk_erased_marks_tenant_id_erasure_id"),
        ),
    )
    op.create_index(op.f("ix_erased_marks_tenant_id_erasure_id"), "erased_marks", ["tenant_id", "erasure_id"])
