"""The table of the newest changes. The laws of `storage.tables` hold here too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.storage.columns import metadata, one_of, tenant_column, text_column, uuid_column

#: one row for each part of each user's memory, however long the history is
changes = sa.Table(
    "changes",
    metadata,
    tenant_column(),
    text_column("user_id"),
    text_column("kind"),
    sa.Column("number", sa.BigInteger, nullable=False),
    uuid_column("session_uid", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "kind"),
    one_of("kind", ChangeKind),
)
