"""Databases on a server as earlier revisions left them, with a life in them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import sqlalchemy as sa
from alembic import command
from tests.databases.postgres import embedded_server
from tests.memory.harness import conversation, opened, say, settle

from anaphora import Memory
from anaphora.storage.migrations import run
from anaphora.storage.postgres.dsn import Dsn
from anaphora.storage.postgres.engine import Connector
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

TENANTS: Final = ("t", "t2")
SUPERUSER: Final = "postgres"
OWNER: Final = f"anaphora_test_migrator_{os.getpid()}"
#: with nothing settled: its first job is queued
WAITING: Final = "waiting"

#: the rows of every table, as JSON
Rows = Mapping[str, Sequence[Mapping[str, Any]]]

_TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    " AND relname <> 'alembic_version' ORDER BY relname"
)
_COLUMNS = (
    "SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


def of(user: str, url: str) -> str:
    """The URL for another user, who needs no password."""
    return url.replace(f"postgresql://{SUPERUSER}@", f"postgresql://{user}@", 1)


async def asked(url: str, statement: str, *values: object) -> Any:
    """The first column of what a statement answers."""
    connection = await asyncpg.connect(url)
    try:
        return [row[0] for row in await connection.fetch(statement, *values)]
    finally:
        await connection.close()


async def new_database(owner: str) -> str:
    """The URL of a database without tables, for its superuser; it belongs to `owner`."""
    name = f"anaphora_earlier_{secrets.token_hex(6)}"
    if owner != SUPERUSER and not await asked(embedded_server(), "SELECT 1 FROM pg_roles WHERE rolname = $1", owner):
        await asked(embedded_server(), f"CREATE ROLE {owner} LOGIN")
    await asked(embedded_server(), f"CREATE DATABASE {name} OWNER {owner}")
    url = urlunsplit(urlsplit(embedded_server())._replace(path=f"/{name}"))
    if owner != SUPERUSER:
        await asked(url, "CREATE EXTENSION vector")  # what only a superuser may do
    return url


async def rows_of(url: str) -> Rows:
    """Everything that stands in the tables."""
    found = {}
    for table in await asked(url, _TABLES):
        rows = await asked(url, f"SELECT to_json(row)::text FROM {table} AS row")  # noqa: S608 - from the catalogue
        found[table] = sorted((json.loads(row) for row in rows), key=json.dumps)
    return found


async def revision_of(url: str) -> str:
    """Where the database says that it is."""
    (found,) = await asked(url, "SELECT version_num FROM alembic_version")
    return str(found)


async def database_of_revision(name: str, owner: str) -> tuple[str, Rows]:
    """A database of that revision with all that it can hold of a life: its URL for the superuser, and its rows."""
    url = await new_database(owner)
    await _migrate(of(owner, url), name)
    life, _ = await asyncio.to_thread(life_without_edits if name == "0001" else life_with_edits)
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")  # in any order
            for table in await asked(url, _TABLES):
                columns = ", ".join(f'"{column}"' for column in await asked(url, _COLUMNS, table))
                await connection.execute(
                    f"INSERT INTO {table} ({columns}) SELECT {columns}"  # noqa: S608 - names from the catalogue
                    f" FROM json_populate_recordset(NULL::{table}, $1::json)",
                    json.dumps(life[table]),
                )
    finally:
        await connection.close()
    return url, await rows_of(url)


async def _migrate(url: str, name: str) -> None:
    engine = Connector(dsn=Dsn.parse(url), role=None, lock_timeout=5).engine(connections=1, wait=5)

    def upgrade(connection: sa.Connection) -> None:
        config = run.config()
        config.attributes["connection"] = connection
        command.upgrade(config, name)

    async with engine.begin() as connection:
        await connection.run_sync(upgrade)
    await engine.dispose()


@cache
def life_without_edits() -> tuple[Rows, Mapping[str, Any]]:
    """Rows of a database of today, and what a memory reads of them; for a revision that knew no edits."""
    return asyncio.run(_life(edits=False))


@cache
def life_with_edits() -> tuple[Rows, Mapping[str, Any]]:
    """The same of a life in which messages were edited and deleted."""
    return asyncio.run(_life(edits=True))


async def _life(*, edits: bool) -> tuple[Rows, Mapping[str, Any]]:
    url, clock = await new_database(SUPERUSER), FakeClock()
    async with memory_of(url, clock) as memory:
        for tenant in TENANTS:
            chat = conversation(memory, tenant=tenant)
            await say(chat, 24)
            await settle(memory, clock)
            await chat.add("user", f"{tenant} flies to 東京", key="k")
            if edits:
                await chat.edit(3, "#3# corrected")
                await chat.delete(5)
                await settle(memory, clock)
        for tenant in TENANTS:
            await say(conversation(memory, tenant=tenant, session=WAITING), 30)
    return await rows_of(url), await reading(url)


def memory_of(url: str, clock: FakeClock) -> Any:
    """A memory in the database."""
    # the folder is that of a file, which is not made
    return opened(Path(tempfile.gettempdir()), chat=ScriptedChat(), clock=clock, db=url)


async def reading(url: str) -> Mapping[str, Any]:
    """What a memory reads: messages with their versions, summaries, contexts to the byte, hits, jobs."""
    found: dict[str, Any] = {}
    async with memory_of(url, FakeClock()) as memory:
        for tenant in TENANTS:
            found[f"{tenant} sessions"] = sorted(row.key.session for row in await memory.sessions(tenant=tenant))
            found[f"{tenant} jobs"] = sorted(str(job.id) for job in await memory.jobs.list(tenant=tenant))
            hits = await memory.search("word3 東京", user="u", tenant=tenant)
            found[f"{tenant} hits"] = [(hit.message.seq, hit.message.content) for hit in hits]
            for name in ("s", WAITING):
                found |= await _session(memory, tenant, name)
    return found


async def _session(memory: Memory, tenant: str, name: str) -> Mapping[str, Any]:
    chat = conversation(memory, tenant=tenant, session=name)
    context = await chat.context("word3?")
    messages = await chat.messages(start=0, limit=100)
    return {
        f"{tenant} {name} messages": messages,
        f"{tenant} {name} versions": [await chat.versions(message.seq) for message in messages],
        f"{tenant} {name} summaries": await chat.summaries(),
        f"{tenant} {name} context": context.to_openai(),
        f"{tenant} {name} account": context.coverage,
    }
