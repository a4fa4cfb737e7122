"""However long the history of a tenant is, little of it is read: behind row-level policies too indexes are used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import pytest
from tests.databases.postgres import database_of
from tests.memory.harness import conversation, opened

from anaphora.domain.keys import SessionKey
from anaphora.memory import Memory
from anaphora.testing.conformance.store_laws.tools import TENANT, append

pytestmark = pytest.mark.anyio

_LONG, _AT_ONCE = 6_000, 500
_FEW = 800
_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)
_READ = "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_user_tables"


async def rows_read(url: str) -> int:
    """How many rows the server has read of this database, for everybody who has left."""
    connection = await asyncpg.connect(url)
    try:
        while await connection.fetchval(_OTHERS):  # who leaves says at the end what was read
            await anyio.sleep(0.01)
        return int(await connection.fetchval(_READ))
    finally:
        await connection.close()


async def read_by(url: str, work: Callable[[Memory], Awaitable[Any]]) -> int:
    """How many rows the server reads for what is done with a memory that is opened for it."""
    before = await rows_read(url)
    async with opened(Path(), db=url) as memory:
        await work(memory)
    return await rows_read(url) - before


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with one long conversation of which every message says a common word, and a rare one now and then."""
    url = await database_of(tmp_path_factory.mktemp("long"))
    async with opened(Path(), db=url) as memory:
        key = SessionKey(tenant=TENANT, user="u", agent="a", session="s")
        for start in range(0, _LONG, _AT_ONCE):
            said = (f"the ferry {'to Oslo' if seq % 600 == 7 else 'home'}" for seq in range(start, start + _AT_ONCE))
            await memory._services.store.append(append(*said, key=key, turns="own"))
    connection = await asyncpg.connect(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return url


async def test_a_search_for_rare_words_reads_what_it_finds(long: str) -> None:
    found: list[int] = []

    async def search(memory: Memory) -> None:
        found.append(len((await memory.search("Which one went to Oslo?", user="u", limit=20)).hits))

    assert await read_by(long, search) < _FEW
    assert found == [10]


async def test_a_search_for_common_words_reads_a_bounded_part(long: str) -> None:
    async def search(memory: Memory) -> None:
        assert (await memory.search("ferry", user="u")).hits

    assert await read_by(long, search) < _LONG / 2


async def test_a_context_reads_a_bounded_part(long: str) -> None:
    async def context(memory: Memory) -> None:
        await conversation(memory).context("Which one went to Oslo?", budget=1_000)

    assert await read_by(long, context) < _FEW


async def test_an_append_an_edit_and_a_deletion_read_a_bounded_part(long: str) -> None:
    async def write(memory: Memory) -> None:
        chat = conversation(memory)
        await chat.add("user", "Is the ferry late?")
        await chat.edit(17, "the ferry was late")
        await chat.delete(18)

    assert await read_by(long, write) < _FEW


async def test_a_batch_of_background_work_reads_a_bounded_part(long: str) -> None:
    async def work(memory: Memory) -> None:
        assert await memory._services.worker.step()

    assert await read_by(long, work) < _FEW
