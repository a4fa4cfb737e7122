"""Keys that let principals in, and the account of what was changed in whose name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import json, moment, of_one_tenant, on_server, text, uid, whole

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "api_keys",
        text("tenant_id"),
        uid("id"),
        text("user_id", nullable=True),
        text("name"),
        text("hash"),
        json("permissions"),
        moment("created_at"),
        moment("expires_at", nullable=True),
        moment("revoked_at", nullable=True),
        moment("last_used_at", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_api_keys")),
    )
    op.create_index(op.f("ix_api_keys_tenant_id_user_id"), "api_keys", ["tenant_id", "user_id"])
    op.create_table(
        "audit",
        text("tenant_id"),
        whole("number"),
        moment("at"),
        text("who", nullable=True),
        text("by"),
        text("action"),
        json("about"),
        whole("status"),
        text("seal"),
        sa.PrimaryKeyConstraint("tenant_id", "number", name=op.f("pk_audit")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_audit_number")),
    )
    op.create_index(op.f("ix_audit_tenant_id_who_number"), "audit", ["tenant_id", "who", "number"])
    if on_server():
        for table in ("api_keys", "audit"):
            of_one_tenant(table)
