"""What revisions are made of. A revision says what it makes; how a column or a rule is written is said here, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

#: a transaction sees and writes the rows of the tenant that it named, whatever its statements say
_OF_ONE_TENANT = (
    sa.DDL("ALTER TABLE %(table)s ENABLE ROW LEVEL SECURITY"),
    sa.DDL("ALTER TABLE %(table)s FORCE ROW LEVEL SECURITY"),
    sa.DDL("CREATE POLICY tenant ON %(table)s USING (tenant_id = current_setting('anaphora.tenant', true))"),
    sa.DDL("CREATE POLICY examined ON %(table)s FOR SELECT USING (current_setting('anaphora.scope', true) = 'all')"),
)
_COLUMNS = (
    "tenant_id, id, session_uid, kind, state, start, stop, attempt, max_attempts, run_at,"
    " lease_owner, lease_until, rearm, needs_model, from_seq, epoch, reason, created_at, updated_at"
)
_LIVE = "WHERE state IN ('queued', 'running')"
#: the table of jobs as it is since revision 0001, but for the kinds
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
    CONSTRAINT ck_jobs_kind CHECK (%(kinds)s),
    CONSTRAINT ck_jobs_state CHECK (state IN ('queued', 'running', 'done', 'failed')),
    CONSTRAINT ck_jobs_lease CHECK (state <> 'running' OR (lease_owner IS NOT NULL AND lease_until IS NOT NULL))
)
"""


def on_server() -> bool:
    """Whether the database is PostgreSQL."""
    return op.get_bind().dialect.name == "postgresql"


def of_one_tenant(table: str) -> None:
    """Keep the rows of tenants apart, on a server."""
    for rule in _OF_ONE_TENANT:
        op.execute(rule.against(sa.Table(table, sa.MetaData())))


def kinds_of_jobs(kinds: Sequence[str]) -> None:
    """From now on there are jobs of these kinds."""
    rule = f"kind IN ({', '.join(map(repr, kinds))})"
    if on_server():
        op.drop_constraint(op.f("ck_jobs_kind"), "jobs", type_="check")
        op.create_check_constraint(op.f("ck_jobs_kind"), "jobs", rule)
        return
    # SQLite changes no constraint of a table that is there
    op.execute(sa.DDL(_JOBS, context={"kinds": rule}))
    op.execute(f"INSERT INTO jobs_new ({_COLUMNS}) SELECT {_COLUMNS} FROM jobs")  # noqa: S608 - our own names
    op.execute("DROP TABLE jobs")
    op.execute("ALTER TABLE jobs_new RENAME TO jobs")
    op.execute(f"CREATE INDEX ix_jobs_claim ON jobs (tenant_id, state, run_at) {_LIVE}")
    op.execute("CREATE INDEX ix_jobs_tenant_id_session_uid ON jobs (tenant_id, session_uid)")
    op.execute(f"CREATE UNIQUE INDEX uq_jobs_live ON jobs (tenant_id, session_uid, kind) {_LIVE}")


def values_of(table: str, column: str, before: Sequence[str], after: Sequence[str]) -> None:
    """From now on the column may hold these values; what it could hold until now is named to be found again."""
    old, new = (f"{column} IN ({', '.join(map(repr, values))})" for values in (before, after))
    name = f"ck_{table}_{column}"
    if on_server():
        op.drop_constraint(op.f(name), table, type_="check")
        op.create_check_constraint(op.f(name), table, new)
        return
    # making the table anew would take all rows that refer to it; the text of a rule may be changed in its place
    # (https://sqlite.org/lang_altertable.html#otheralter)
    connection = op.get_bind()
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    changed = connection.exec_driver_sql(
        "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ? AND instr(sql, ?)",
        (old, new, table, old),
    ).rowcount
    # without it, connections that are open would go by the rule as they have read it
    op.execute(sa.DDL("PRAGMA schema_version = %(next)s", context={"next": version + 1}))
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
    if changed != 1:
        raise RuntimeError(f"the rule {name} is not the one that was expected")


def text(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    """A text of any length."""
    return sa.Column(name, sa.Text, nullable=nullable)


def uid(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    """An id that the client made."""
    return sa.Column(name, sa.Uuid, nullable=nullable)


def whole(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    """A whole number."""
    return sa.Column(name, sa.Integer, nullable=nullable)


def flag(name: str) -> sa.Column[Any]:
    """Yes or no."""
    return sa.Column(name, sa.Boolean, nullable=False)


def moment(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    """A time: text that sorts, on a server with its zone."""
    kind = sa.Text().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
    return sa.Column(name, kind, nullable=nullable)


def json(name: str, *, server_default: str | None = None) -> sa.Column[Any]:
    """JSON as it was written."""
    return sa.Column(name, sa.JSON, nullable=False, server_default=server_default)


def of_session(table: str) -> sa.ForeignKeyConstraint:
    """The rows of the table go with their session."""
    return sa.ForeignKeyConstraint(
        ["tenant_id", "session_uid"],
        ["sessions.tenant_id", "sessions.id"],
        name=op.f(f"fk_{table}_tenant_id_session_uid"),
        ondelete="CASCADE",
    )
