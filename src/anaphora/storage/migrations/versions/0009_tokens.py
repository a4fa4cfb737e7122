"""What heads know of tokens, and what a version says beside its points."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import json

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # a head that was never seen to count is counted when it is moved next
    op.add_column("heads", sa.Column("aim", sa.Integer, nullable=False, server_default="0"))
    for name in ("tokens", "seen"):
        op.add_column("heads", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("summaries", json("structure", server_default="{}"))
