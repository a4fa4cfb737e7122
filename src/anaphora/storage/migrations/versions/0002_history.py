"""Edits, tombstones, and what is needed to look at any moment of the past."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import json, moment, of_one_tenant, of_session, on_server, text, uid, whole

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", json("deleted", server_default="[]"))
    op.add_column("messages", sa.Column("version", sa.Integer, nullable=False, server_default="1"))
    op.add_column("messages", moment("changed_at", nullable=True))
    op.add_column("messages", sa.Column("deleted", sa.Boolean, nullable=False, server_default=sa.false()))
    _message_versions()
    _head_moves()
    _summary_states()
    _what_is_known_of_the_past()
    if on_server():
        for table in ("message_versions", "head_moves", "summary_states"):
            of_one_tenant(table)


def _message_versions() -> None:
    op.create_table(
        "message_versions",
        text("tenant_id"),
        uid("session_uid"),
        whole("seq"),
        whole("version"),
        text("name", nullable=True),
        text("content"),
        json("parts"),
        json("metadata"),
        whole("tokens"),
        moment("changed_at", nullable=True),
        moment("replaced_at"),
        whole("replaced_head"),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "version", name=op.f("pk_message_versions")),
        of_session("message_versions"),
        sa.CheckConstraint("seq >= 0 AND version >= 1 AND replaced_head > seq", name=op.f("ck_message_versions_place")),
    )


def _head_moves() -> None:
    op.create_table(
        "head_moves",
        text("tenant_id"),
        uid("session_uid"),
        text("reader"),
        whole("number"),
        whole("position"),
        uid("summary_id", nullable=True),
        moment("at"),
        whole("log_head"),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader", "number", name=op.f("pk_head_moves")),
        of_session("head_moves"),
        sa.CheckConstraint("number >= 1 AND position >= 0 AND position <= log_head", name=op.f("ck_head_moves_place")),
    )


def _summary_states() -> None:
    op.create_table(
        "summary_states",
        text("tenant_id"),
        uid("summary_id"),
        text("status"),
        moment("at"),
        whole("log_head"),
        sa.PrimaryKeyConstraint("tenant_id", "summary_id", "status", name=op.f("pk_summary_states")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "summary_id"],
            ["summaries.tenant_id", "summaries.id"],
            name=op.f("fk_summary_states_tenant_id_summary_id"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(
            "status IN ('building', 'completed', 'stale', 'superseded')", name=op.f("ck_summary_states_status")
        ),
    )


def _what_is_known_of_the_past() -> None:
    """Of what happened before this revision only the outcome is known: where heads stand, what versions are."""
    op.execute(
        "INSERT INTO head_moves (tenant_id, session_uid, reader, number, position, summary_id, at, log_head)"
        " SELECT tenant_id, session_uid, reader, 1, position, summary_id, updated_at, position FROM heads"
    )
    op.execute(
        "INSERT INTO summary_states (tenant_id, summary_id, status, at, log_head)"
        " SELECT tenant_id, id, status, created_at, stop FROM summaries"
    )
