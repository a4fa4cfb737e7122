"""Vectors of the passages of messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy import exc

from anaphora.errors import StoreError
from anaphora.storage.migrations.parts import of_one_tenant, on_server
from anaphora.storage.types import Halfvec

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_VERSION = sa.text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
#: the first that goes on looking when what it found belongs to others
_OLDEST = (0, 8)
_MISSING = "the extension pgvector is missing: install it, and let a superuser run `CREATE EXTENSION vector` here"


def upgrade() -> None:
    if on_server():
        _extension()
    op.create_table(
        "message_vectors",
        sa.Column("tenant_id", sa.Text, nullable=False),
        sa.Column("session_uid", sa.Uuid, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("space", sa.Text, nullable=False),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("agent_id", sa.Text, nullable=False),
        sa.Column("embedding", sa.LargeBinary().with_variant(Halfvec(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "space", "part", name=op.f("pk_message_vectors")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_uid", "seq"],
            ["messages.tenant_id", "messages.session_uid", "messages.seq"],
            name=op.f("fk_message_vectors_tenant_id_session_uid_seq"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("part >= 0", name=op.f("ck_message_vectors_part")),
    )
    op.create_index(
        op.f("ix_message_vectors_tenant_id_space_user_id"), "message_vectors", ["tenant_id", "space", "user_id"]
    )
    if on_server():
        of_one_tenant("message_vectors")


def _extension() -> None:
    try:
        op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except exc.DBAPIError as error:
        raise StoreError(_MISSING) from error
    version = op.get_bind().execute(_VERSION).scalar_one()
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise StoreError(f"pgvector {version} is too old: install 0.8 or later, then `ALTER EXTENSION vector UPDATE`")
