"""Whose rights are enough: an owner who is no superuser, and an application that owns nothing."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import sqlalchemy as sa
from tests.databases.postgres import database_of, embedded_server, opened

from anaphora.errors import StoreError
from anaphora.ports.store import Unit
from anaphora.storage.access_tables import audit
from anaphora.storage.tables import messages
from anaphora.storage.unit import SqlUnit
from anaphora.testing.conformance.store_laws.access import entry
from anaphora.testing.conformance.store_laws.tools import append, key_of, log_of

pytestmark = pytest.mark.anyio

OWNER, APP = f"anaphora_test_owner_{os.getpid()}", f"anaphora_test_app_{os.getpid()}"


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _as(user: str, url: str) -> str:
    """The URL for another user, who needs no password."""
    return url.replace("postgresql://postgres@", f"postgresql://{user}@", 1)


def _everybody(unit: Unit) -> set[str]:
    """Whose messages are seen by a statement that names no tenant."""
    assert isinstance(unit, SqlUnit)
    return set(unit.jobs._connection.execute(sa.select(messages.c.tenant_id)).scalars())


async def test_an_owner_who_is_no_superuser_and_an_application_that_owns_nothing() -> None:
    """I11: policies bind both; who owns nothing cannot make the tables, and is told who can."""
    await _execute(
        embedded_server(),
        f"CREATE ROLE {OWNER} LOGIN",
        f"CREATE ROLE {APP} LOGIN",
        f"CREATE DATABASE {OWNER} OWNER {OWNER}",
    )
    url = urlunsplit(urlsplit(embedded_server())._replace(path=f"/{OWNER}"))
    with pytest.raises(StoreError, match="let a superuser run `CREATE EXTENSION vector`"):
        async with opened(_as(OWNER, url)):
            raise AssertionError
    await _execute(url, "CREATE EXTENSION vector")
    with pytest.raises(StoreError, match="privilege: run `anaphora migrate` as the owner"):
        async with opened(_as(APP, url)):
            raise AssertionError
    async with opened(_as(OWNER, url)) as store:
        for tenant in ("t", "t2"):
            await store.append(append("mine", key=key_of(tenant=tenant)))
        assert await store.read("t", _everybody) == {"t"}
    await _execute(_as(OWNER, url), f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {APP}")
    async with opened(_as(APP, url)) as store:
        await store.append(append("more"))
        assert await log_of(store) == ["mine", "more"]
        assert await store.read("t2", _everybody) == {"t2"}


@pytest.mark.parametrize("change", [sa.update(audit).values(status=500), sa.delete(audit)])
async def test_entries_of_the_audit_are_added_and_neither_changed_nor_taken_out(
    change: sa.Executable, tmp_path: Path
) -> None:
    """T15: the role that a superuser's connections take on has no right to it, in its own tenant either."""

    def work(unit: Unit) -> None:
        assert isinstance(unit, SqlUnit)
        unit.jobs._connection.execute(change)

    async with opened(await database_of(tmp_path)) as store:
        await store.write("t", lambda unit: unit.audit.insert("t", entry(1)))
        with pytest.raises(StoreError, match="privilege"):
            await store.write("t", work)
        assert list(await store.read("t", lambda unit: unit.audit.list("t", limit=9))) == [entry(1)]
