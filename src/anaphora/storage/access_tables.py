"""The tables of keys and of the audit. The laws of `storage.tables` hold here too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.storage.columns import metadata, tenant_column, text_column, time_column, uuid_column
from anaphora.storage.types import json_type

#: of what makes a key one, only the hash is here
api_keys = sa.Table(
    "api_keys",
    metadata,
    tenant_column(),
    uuid_column("id"),
    text_column("user_id", nullable=True),
    text_column("name"),
    text_column("hash"),
    sa.Column("permissions", json_type(), nullable=False),
    time_column("created_at"),
    time_column("expires_at", nullable=True),
    time_column("revoked_at", nullable=True),
    time_column("last_used_at", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.Index(None, "tenant_id", "user_id"),
)

#: keyed hashes stand for names, so that who is erased is not in it
audit = sa.Table(
    "audit",
    metadata,
    tenant_column(),
    sa.Column("number", sa.Integer, nullable=False),
    time_column("at"),
    text_column("who", nullable=True),
    text_column("by"),
    text_column("action"),
    sa.Column("about", json_type(), nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    text_column("seal"),
    sa.PrimaryKeyConstraint("tenant_id", "number"),
    sa.CheckConstraint("number >= 1", name="number"),
    sa.Index(None, "tenant_id", "who", "number"),
)
