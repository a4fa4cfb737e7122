"""Where a run of the machine takes place: a database with nothing but the bystander in it, and a look into it."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.databases.chosen import SQLITE, chosen
from tests.databases.postgres import database_of
from tests.databases.sql import OF_TENANTS, Sql, open_sql
from tests.machine.laws import look_at_the_session
from tests.machine.subjects import KEY, begin

_PREFIX = "anaphora-machine-"


@contextmanager
def ground() -> Iterator[tuple[str, Sql]]:
    """A database of the kind that is chosen, as a setting names it. On a server it is one and the same each time."""
    if chosen() == SQLITE:
        with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "memory.db"
            path.write_bytes(_fresh_file())
            with closing(_looked_into(str(path))) as sql:
                yield str(path), sql
    else:
        db, sql, tables = _server()
        sql.change("truncate sessions, facts, subjects, fact_tombstones, changes cascade")
        for table in tables:
            sql.change(f"insert into {table} select * from fresh.{table}")  # noqa: S608 - our own names
        yield db, sql


def _looked_into(db: str) -> Sql:
    sql = open_sql(db, tenant=KEY.tenant)
    look_at_the_session(sql)
    return sql


@cache
def _fresh_file() -> bytes:
    with TemporaryDirectory(prefix=_PREFIX) as folder:
        path = Path(folder) / "memory.db"
        asyncio.run(begin(str(path)))
        return path.read_bytes()


@cache
def _server() -> tuple[str, Sql, Sequence[str]]:
    db = asyncio.run(database_of(Path("the ground of the machine"), lasting=True))
    asyncio.run(begin(db))
    sql = _looked_into(db)
    atexit.register(sql.close)
    sql.change("create schema fresh")
    tables = [table for (table,) in sql.rows(OF_TENANTS) if sql.rows(f"select 1 from {table}")]  # noqa: S608 - our own names
    for table in tables:
        sql.change(f"create table fresh.{table} as select * from {table}")  # noqa: S608 - our own names
    # first the session, then what refers to it
    return db, sql, sorted(tables, key=lambda table: (table != "sessions", table))
