"""What the migrations make on a server is what the tables say, and every row of a tenant is behind a policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection
from tests.databases.postgres import database_of, empty_database_of

from anaphora.storage import columns
from anaphora.storage.postgres import document_search  # noqa: F401 - names a table of the index
from anaphora.storage.postgres.dsn import Dsn
from anaphora.storage.postgres.engine import Connector
from anaphora.storage.postgres.search import index_metadata

pytestmark = pytest.mark.anyio

#: what the migrations make by hand, because only this database has it; the laws of search say that it works
BY_HAND = {
    "ix_message_words_words",
    "ix_message_words_unspaced",
    "ix_document_words_words",
    "ix_document_words_unspaced",
}
#: views of tables of ours
VIEWS = ("found_words", "found_document_words")
#: what Alembic keeps, and the views
NOT_OURS = {"alembic_version", *VIEWS}
#: types of pgvector, which SQLAlchemy does not know
FOREIGN_TYPES = ("halfvec", "vector")
_EXTENSIONS = "SELECT extname FROM pg_extension"
_CONSTRAINTS = (
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace"
)
_INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
_COLUMNS = (
    "SELECT table_name, column_name, data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '')"
    " FROM information_schema.columns WHERE table_schema = 'public'"
)
_OF_TENANTS = (
    "SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity"
    " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
    " WHERE c.relkind IN ('r', 'p') AND a.attname = 'tenant_id' AND c.relnamespace = 'public'::regnamespace"
)
_POLICIES = "SELECT tablename, policyname, permissive || ' ' || cmd, qual, with_check FROM pg_policies"
#: what rows a transaction may see and write, by the names of the policies
POLICIES = {
    ("tenant", "PERMISSIVE ALL", "(tenant_id = current_setting('anaphora.tenant'::text, true))", None),
    ("examined", "PERMISSIVE SELECT", "(current_setting('anaphora.scope'::text, true) = 'all'::text)", None),
}
QUEUE = ("queue", "PERMISSIVE SELECT", "(current_setting('anaphora.scope'::text, true) = 'queue'::text)", None)


async def _connection(url: str) -> AsyncIterator[AsyncConnection]:
    engine = Connector(dsn=Dsn.parse(url), role=None, lock_timeout=5).engine(connections=1, wait=5)
    async with engine.begin() as connection:
        yield connection
    await engine.dispose()


@pytest.fixture
async def migrated(tmp_path: Path) -> AsyncIterator[AsyncConnection]:
    """A database as the migrations made it."""
    async for connection in _connection(await database_of(tmp_path)):
        yield connection


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[AsyncConnection]:
    """A database with nothing in it."""
    async for connection in _connection(await empty_database_of(tmp_path)):
        yield connection


@pytest.fixture(autouse=True)
def foreign_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server has of them is known by its name."""
    for name in FOREIGN_TYPES:
        kind = type(name, (sa.types.UserDefinedType,), {"get_col_spec": lambda _self, name=name, **_how: name})
        monkeypatch.setitem(postgresql.dialect.ischema_names, name, kind)


def everything() -> sa.MetaData:
    """All tables, however they are spread over modules."""
    whole = sa.MetaData(naming_convention=columns.metadata.naming_convention)
    for part in (columns.metadata, index_metadata):
        for table in part.tables.values():
            table.to_metadata(whole)
    return whole


def ours(_object: Any, name: str | None, kind: str, _reflected: bool, _other: Any) -> bool:
    return kind != "index" or name not in BY_HAND


async def test_the_migrations_make_what_the_tables_say(migrated: AsyncConnection) -> None:
    def difference(connection: sa.Connection, /, **more: Any) -> list[Any]:
        # defaults are compared below: here it would ask the server whether two JSON texts are equal
        context = MigrationContext.configure(connection, opts={"compare_type": True, **more})
        return list(compare_metadata(context, everything()))

    assert await migrated.run_sync(lambda given: difference(given, include_object=ours)) == []
    all_of_it = await migrated.run_sync(difference)
    assert {(what, made.name) for what, made in all_of_it} == {("remove_index", name) for name in BY_HAND}


async def test_the_migrations_make_the_same_columns_constraints_and_indexes_as_the_tables(
    migrated: AsyncConnection, empty: AsyncConnection
) -> None:
    """To the word of the server, with the checks that Alembic does not compare."""
    for name in (await migrated.execute(sa.text(_EXTENSIONS))).scalars():
        await empty.execute(sa.text(f"CREATE EXTENSION IF NOT EXISTS {name}"))
    await empty.run_sync(everything().create_all)

    async def said(connection: AsyncConnection, question: str) -> set[tuple[str, ...]]:
        rows = await connection.execute(sa.text(question))
        return {
            tuple(map(str, row)) for row in rows if row[0] not in NOT_OURS and not BY_HAND.intersection(map(str, row))
        }

    for question in (_COLUMNS, _CONSTRAINTS, _INDEXES):
        by_tables = await said(empty, question)
        assert len(by_tables) > 20
        assert await said(migrated, question) == by_tables


async def test_row_level_security_is_forced_on_every_table_of_tenants(migrated: AsyncConnection) -> None:
    """I11: whatever table a revision brings, if it has tenants it has both policies, and nobody is spared."""
    rows = (await migrated.execute(sa.text(_OF_TENANTS))).all()
    assert {name for name, _, _ in rows} == {
        table.name for table in everything().tables.values() if "tenant_id" in table.columns
    }
    assert [name for name, enabled, forced in rows if not (enabled and forced)] == []
    there: dict[str, set[Any]] = {name: set() for name, _, _ in rows}
    for table, *policy in await migrated.execute(sa.text(_POLICIES)):
        there[table].add(tuple(policy))
    assert there == {name: POLICIES | ({QUEUE} if name in {"jobs", "document_jobs"} else set()) for name in there}


@pytest.mark.parametrize("view", VIEWS)
async def test_words_are_found_in_rows_of_the_transactions_tenant_alone(view: str, migrated: AsyncConnection) -> None:
    """I11: no policy binds the view, so that the index of words can be used; it compares the tenant by itself."""
    (definition,) = (await migrated.execute(sa.text(f"SELECT pg_get_viewdef('{view}'::regclass)"))).scalars()
    assert "WHERE (tenant_id = current_setting('anaphora.tenant'::text, true))" in definition
    options = sa.text("SELECT check_option FROM information_schema.views WHERE table_name = :view")
    assert (await migrated.execute(options, {"view": view})).scalars().all() == ["CASCADED"]
