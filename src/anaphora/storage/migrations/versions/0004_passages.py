"""Messages are searched by their passages; jobs that give them vectors, and how far those are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('summarise', 'rebuild', 'embed')"
#: a transaction sees and writes the rows of the tenant that it named, whatever its statements say
_OF_ONE_TENANT = (
    "ALTER TABLE vector_heads ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE vector_heads FORCE ROW LEVEL SECURITY",
    "CREATE POLICY tenant ON vector_heads USING (tenant_id = current_setting('anaphora.tenant', true))",
    "CREATE POLICY examined ON vector_heads FOR SELECT USING (current_setting('anaphora.scope', true) = 'all')",
)
#: SQLite changes no constraint of a table that is there
_JOBS = """
CREATE TABLE jobs_new (
    tenant_id TEXT NOT NULL,
    id CHAR(32) NOT NULL,
    session_uid CHAR(32) NOT NULL,
    kind TEXT NOT NULL,
    state TEXT DEFAULT 'queued' NOT NULL,
    start INTEGER,
    stop INTEGER,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    run_at TEXT NOT NULL,
    lease_owner TEXT,
    lease_until TEXT,
    rearm BOOLEAN NOT NULL,
    needs_model BOOLEAN NOT NULL,
    from_seq INTEGER,
    epoch INTEGER NOT NULL,
    reason TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CONSTRAINT pk_jobs PRIMARY KEY (tenant_id, id),
    CONSTRAINT fk_jobs_tenant_id_session_uid FOREIGN KEY(tenant_id, session_uid)
        REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT ck_jobs_kind CHECK (kind IN ('summarise', 'rebuild', 'embed')),
    CONSTRAINT ck_jobs_state CHECK (state IN ('queued', 'running', 'done', 'failed')),
    CONSTRAINT ck_jobs_lease CHECK (state <> 'running' OR (lease_owner IS NOT NULL AND lease_until IS NOT NULL))
)
"""
_LIVE = "WHERE state IN ('queued', 'running')"
_COPY_JOBS = (
    "INSERT INTO jobs_new (tenant_id, id, session_uid, kind, state, start, stop, attempt, max_attempts, run_at,"
    " lease_owner, lease_until, rearm, needs_model, from_seq, epoch, reason, created_at, updated_at)"
    " SELECT tenant_id, id, session_uid, kind, state, start, stop, attempt, max_attempts, run_at,"
    " lease_owner, lease_until, rearm, needs_model, from_seq, epoch, reason, created_at, updated_at FROM jobs"
)
_REPLACE_JOBS = (
    _JOBS,
    _COPY_JOBS,
    "DROP TABLE jobs",
    "ALTER TABLE jobs_new RENAME TO jobs",
    f"CREATE INDEX ix_jobs_claim ON jobs (tenant_id, state, run_at) {_LIVE}",
    "CREATE INDEX ix_jobs_tenant_id_session_uid ON jobs (tenant_id, session_uid)",
    f"CREATE UNIQUE INDEX uq_jobs_live ON jobs (tenant_id, session_uid, kind) {_LIVE}",
)


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
    on_server = op.get_bind().dialect.name == "postgresql"
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
    if on_server:
        op.add_column("message_words", whole)
        op.drop_constraint(op.f("ck_jobs_kind"), "jobs", type_="check")
        op.create_check_constraint(op.f("ck_jobs_kind"), "jobs", _KINDS)
        for rule in _OF_ONE_TENANT:
            op.execute(rule)
    else:
        op.add_column("message_docs", sa.Column("part", sa.Integer, nullable=False, server_default="0"))
        op.add_column("message_docs", whole)
        for statement in (*_REPLACE_JOBS, *_MARKS):
            op.execute(statement)
