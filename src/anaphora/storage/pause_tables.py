"""The table of pauses. The laws of `storage.tables` hold here too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.storage.columns import metadata, tenant_column, text_column, time_column

#: one without an end lasts; there is at most one such of a user
pauses = sa.Table(
    "pauses",
    metadata,
    tenant_column(),
    text_column("user_id"),
    time_column("started_at"),
    time_column("ended_at", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "started_at"),
    sa.CheckConstraint("ended_at IS NULL OR ended_at >= started_at", name="order"),
)
_lasts = sa.text("ended_at IS NULL")
sa.Index(
    "uq_pauses_lasting",
    pauses.c.tenant_id,
    pauses.c.user_id,
    unique=True,
    sqlite_where=_lasts,
    postgresql_where=_lasts,
)
