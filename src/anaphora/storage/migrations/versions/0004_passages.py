"""Messages are searched by their passages; jobs that give them vectors, and how far those are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from anaphora.storage.migrations.parts import kinds_of_jobs, of_one_tenant, on_server

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


#: how often vectors of a user were erased: who keeps them at hand learns that they must be read anew
_MARKS_TABLE = (
    "CREATE TABLE vector_marks (tenant_id TEXT NOT NULL, user_id TEXT NOT NULL, erased INTEGER NOT NULL,"
    " PRIMARY KEY (tenant_id, user_id)) WITHOUT ROWID"
)
_ERASED = (
    "CREATE TRIGGER vector_erased AFTER DELETE ON message_vectors BEGIN"
    " INSERT INTO vector_marks (tenant_id, user_id, erased) VALUES (old.tenant_id, old.user_id, 1)"
    " ON CONFLICT (tenant_id, user_id) DO UPDATE SET erased = erased + 1;"
    " END"
)
_MARKS = (_MARKS_TABLE, _ERASED)


def upgrade() -> None:
    op.create_table(
        "vector_heads",
        sa.Column("tenant_id", sa.Text, nullable=False),
        sa.Column("session_uid", sa.Uuid, nullable=False),
        sa.Column("space", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "session_uid", "space", name=op.f("pk_vector_heads")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_uid"],
            ["sessions.tenant_id", "sessions.id"],
            name=op.f("fk_vector_heads_tenant_id_session_uid"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("position >= 0", name=op.f("ck_vector_heads_position")),
    )
    # a message that was indexed before is one passage, whatever its length
    whole = sa.Column("parts", sa.Integer, nullable=False, server_default="1")
    if on_server():
        op.add_column("message_words", whole)
        of_one_tenant("vector_heads")
    else:
        op.add_column("message_docs", sa.Column("part", sa.Integer, nullable=False, server_default="0"))
        op.add_column("message_docs", whole)
        for statement in _MARKS:
            op.execute(statement)
    kinds_of_jobs(["summarise", "rebuild", "embed"])
