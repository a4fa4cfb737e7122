"""Edits, tombstones, and what is needed to look at any moment of the past."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

#: a transaction sees and writes the rows of the tenant that it named, whatever its statements say
_OF_ONE_TENANT = (
    sa.DDL("ALTER TABLE %(table)s ENABLE ROW LEVEL SECURITY"),
    sa.DDL("ALTER TABLE %(table)s FORCE ROW LEVEL SECURITY"),
    sa.DDL("CREATE POLICY tenant ON %(table)s USING (tenant_id = current_setting('anaphora.tenant', true))"),
    sa.DDL("CREATE POLICY examined ON %(table)s FOR SELECT USING (current_setting('anaphora.scope', true) = 'all')"),
)


def upgrade() -> None:
    op.add_column("sessions", _json("deleted", server_default="[]"))
    op.add_column("messages", sa.Column("version", sa.Integer, nullable=False, server_default="1"))
    op.add_column("messages", _time("changed_at", nullable=True))
    op.add_column("messages", sa.Column("deleted", sa.Boolean, nullable=False, server_default=sa.false()))
    _message_versions()
    _head_moves()
    _summary_states()
    _what_is_known_of_the_past()
    if op.get_bind().dialect.name == "postgresql":
        for table in ("message_versions", "head_moves", "summary_states"):
            _of_one_tenant(table)


def _message_versions() -> None:
    op.create_table(
        "message_versions",
        _text("tenant_id"),
        _uuid("session_uid"),
        _int("seq"),
        _int("version"),
        _text("name", nullable=True),
        _text("content"),
        _json("parts"),
        _json("metadata"),
        _int("tokens"),
        _time("changed_at", nullable=True),
        _time("replaced_at"),
        _int("replaced_head"),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "version", name=op.f("pk_message_versions")),
        _of_session("message_versions"),
        sa.CheckConstraint("seq >= 0 AND version >= 1 AND replaced_head > seq", name=op.f("ck_message_versions_place")),
    )


def _head_moves() -> None:
    op.create_table(
        "head_moves",
        _text("tenant_id"),
        _uuid("session_uid"),
        _text("reader"),
        _int("number"),
        _int("position"),
        _uuid("summary_id", nullable=True),
        _time("at"),
        _int("log_head"),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "reader", "number", name=op.f("pk_head_moves")),
        _of_session("head_moves"),
        sa.CheckConstraint("number >= 1 AND position >= 0 AND position <= log_head", name=op.f("ck_head_moves_place")),
    )


def _summary_states() -> None:
    op.create_table(
        "summary_states",
        _text("tenant_id"),
        _uuid("summary_id"),
        _text("status"),
        _time("at"),
        _int("log_head"),
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


def _of_one_tenant(table: str) -> None:
    for rule in _OF_ONE_TENANT:
        op.execute(rule.against(sa.Table(table, sa.MetaData())))


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _int(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _uuid(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Uuid, nullable=nullable)


def _json(name: str, *, server_default: str | None = None) -> sa.Column[Any]:
    kind = sa.JSON()
    return sa.Column(name, kind, nullable=False, server_default=server_default)


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    kind = sa.Text().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
    return sa.Column(name, kind, nullable=nullable)


def _of_session(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant_id", "session_uid"],
        ["sessions.tenant_id", "sessions.id"],
        name=op.f(f"fk_{table}_tenant_id_session_uid"),
        ondelete="CASCADE",
    )
