"""The newest change of each part of each user's memory."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import of_one_tenant, on_server, text, uid

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('messages', 'summary', 'facts', 'topics', 'notepad', 'erased')"


def upgrade() -> None:
    op.create_table(
        "changes",
        text("tenant_id"),
        text("user_id"),
        text("kind"),
        sa.Column("number", sa.BigInteger, nullable=False),
        uid("session_uid", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "kind", name=op.f("pk_changes")),
        sa.CheckConstraint(_KINDS, name=op.f("ck_changes_kind")),
    )
    if on_server():
        of_one_tenant("changes")
