"""Plain SQL on either database, with none of our code in between: for tests that judge what is stored."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import count
from typing import Any, Protocol
from uuid import UUID

import asyncpg
import sqlalchemy as sa
import sqlalchemy.dialects.postgresql.asyncpg
import sqlalchemy.dialects.sqlite
from anyio.from_thread import start_blocking_portal

#: the tables of a server that hold what belongs to a tenant
OF_TENANTS = (
    "select table_name from information_schema.columns join information_schema.tables using (table_schema, table_name)"
    " where column_name = 'tenant_id' and table_schema = 'public' and table_type = 'BASE TABLE' order by 1"
)
_MARK = re.compile(r"\?")


class Sql(Protocol):
    """A connection of one's own to a database. It blocks; an event loop may run in the thread that uses it.

    A query has a `?` for each value. What is found is what the database holds: on SQLite ids and times are text.
    """

    @property
    def dialect(self) -> sa.Dialect:
        """How SQLAlchemy writes statements for it."""
        ...

    @property
    def index(self) -> str:
        """The table that has a row for each message that can be found by its words."""
        ...

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a query finds."""
        ...

    def change(self, statement: str) -> int:
        """Change rows, at once; how many."""
        ...

    def contents(self, tables: Sequence[str]) -> dict[str, list[Any]]:
        """Every row of the tables: equal if and only if they are."""
        ...

    def state(self) -> int:
        """A number that changes when anybody writes; on a server, that of its next transaction."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


def open_sql(db: str, *, tenant: str = "default") -> Sql:
    """A connection to the database that a setting names; `tenant` says whose rows a mere owner may see."""
    return PostgresSql(db, tenant=tenant) if "://" in db else SqliteSql(db)


class SqliteSql:
    """A file."""

    dialect = sa.dialects.sqlite.dialect()
    index = "message_docs"

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, [_stored(value) for value in values]).fetchall()

    def change(self, statement: str) -> int:
        return self._connection.execute(statement).rowcount

    def contents(self, tables: Sequence[str]) -> dict[str, list[Any]]:
        return {table: self.rows(f"select * from {table} order by rowid") for table in tables}  # noqa: S608 - our own names

    def state(self) -> int:
        ((version,),) = self.rows("pragma data_version")
        return int(version)

    def close(self) -> None:
        self._connection.close()


def _stored(value: object) -> object:
    """A value as it stands in the file: times are text that sorts."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
    return value.hex if isinstance(value, UUID) else value


class PostgresSql:
    """A database on a server. Its driver runs in a thread of its own."""

    dialect = sa.dialects.postgresql.asyncpg.dialect()  # type: ignore[no-untyped-call]
    index = "message_words"

    def __init__(self, url: str, *, tenant: str) -> None:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            self._connection = self._portal.call(_connected, url, tenant)
            stack.callback(self._portal.call, self._connection.close)
            self._stack = stack.pop_all()

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        numbers = count(1)
        numbered = _MARK.sub(lambda _: f"${next(numbers)}", query) if values else query
        return [tuple(row) for row in self._portal.call(self._connection.fetch, numbered, *values)]

    def change(self, statement: str) -> int:
        done = str(self._portal.call(self._connection.execute, statement))
        last = done.rpartition(" ")[2]
        return int(last) if last.isdecimal() else 0

    def contents(self, tables: Sequence[str]) -> dict[str, list[Any]]:
        return {table: self.rows(f"select cast(t as text) from {table} t order by 1") for table in tables}  # noqa: S608 - our own names

    def state(self) -> int:
        ((number,),) = self.rows("select pg_snapshot_xmax(pg_current_snapshot())::text")
        return int(number)

    def close(self) -> None:
        self._stack.close()


async def _connected(url: str, tenant: str) -> Any:
    connection = await asyncpg.connect(url, server_settings={"application_name": "tests"}, statement_cache_size=500)
    await connection.fetchval("select set_config('anaphora.tenant', $1, false)", tenant)
    return connection
