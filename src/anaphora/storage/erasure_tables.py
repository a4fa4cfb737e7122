"""The account of erasures, and by what is known again what was erased. The laws of `storage.tables` hold here too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.erasure import ErasureKind, ErasureState
from anaphora.storage.columns import metadata, one_of, tenant_column, text_column, time_column, uuid_column
from anaphora.storage.types import json_type

#: who asked for what, when, and how much went: once an erasure is done, keyed hashes and numbers only
erasures = sa.Table(
    "erasures",
    metadata,
    tenant_column(),
    uuid_column("id"),
    sa.Column("number", sa.Integer, nullable=False),
    text_column("kind"),
    text_column("mark"),
    text_column("asked_by"),
    time_column("asked_at"),
    text_column("state"),
    time_column("done_at", nullable=True),
    sa.Column("counts", json_type(), nullable=False),
    #: what is to go, until it is gone
    text_column("target", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.UniqueConstraint("tenant_id", "number"),
    one_of("kind", ErasureKind),
    one_of("state", ErasureState),
    sa.CheckConstraint("(state = 'done') = (target IS NULL)", name="target"),
    sa.CheckConstraint("(state = 'done') = (done_at IS NOT NULL)", name="done"),
    sa.CheckConstraint("number >= 1", name="number"),
)
_running = sa.text("state = 'running'")
sa.Index(
    "ix_erasures_running",
    erasures.c.tenant_id,
    erasures.c.number,
    sqlite_where=_running,
    postgresql_where=_running,
)

#: keyed hashes of what was erased: it is not brought in again, and not learned again
erased_marks = sa.Table(
    "erased_marks",
    metadata,
    tenant_column(),
    text_column("mark"),
    uuid_column("erasure_id"),
    time_column("erased_at"),
    sa.PrimaryKeyConstraint("tenant_id", "mark"),
    sa.ForeignKeyConstraint(["tenant_id", "erasure_id"], ["erasures.tenant_id", "erasures.id"]),
    sa.Index(None, "tenant_id", "erasure_id"),
)
