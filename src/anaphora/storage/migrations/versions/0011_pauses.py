"""Times in which nothing is learned of a user."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import moment, of_one_tenant, on_server, text

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_LASTS = sa.text("ended_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "pauses",
        text("tenant_id"),
        text("user_id"),
        moment("started_at"),
        moment("ended_at", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "started_at", name="pk_pauses"),
        sa.CheckConstraint("ended_at IS NULL OR ended_at >= started_at", name=op.f("ck_pauses_order")),
    )
    op.create_index(
        "uq_pauses_lasting",
        "pauses",
        ["tenant_id", "user_id"],
        unique=True,
        sqlite_where=_LASTS,
        postgresql_where=_LASTS,
    )
    if on_server():
        of_one_tenant("pauses")
