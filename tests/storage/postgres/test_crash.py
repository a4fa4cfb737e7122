"""A server that crashes forgets transactions that were not on its disk, and gives their numbers to others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.util import await_only
from tests.databases.postgres import database_of, opened, running_server

from anaphora.errors import StoreError
from anaphora.storage.postgres.embedded import Server
from anaphora.testing.conformance.store_laws.tools import append, log_of

pytestmark = pytest.mark.anyio

#: nothing but a commit writes to the server's disk
_LAZY = {"wal_writer_delay": "10000ms", "bgwriter_delay": "10000ms"}
_NUMBER = "SELECT pg_current_xact_id()::text::bigint"


@pytest.fixture
def server() -> Iterator[Server]:
    """A durable server of the test's own."""
    with running_server(durable=True, settings=_LAZY) as running:
        yield running


async def _others_commit_up_to(number: int, server: Server) -> bool:
    """Others' transactions are given every number up to that one; whether one of them was given that very one."""
    connection = await asyncpg.connect(server.dsn())
    given = 0
    try:
        while given < number:
            given = await connection.fetchval(_NUMBER)
        return bool(given == number)
    finally:
        await connection.close()


@pytest.mark.parametrize("others", [False, True], ids=["alone", "others commit meanwhile"])
async def test_an_append_that_a_crash_undid_is_not_acknowledged(server: Server, *, others: bool) -> None:
    """I7: it is done again, or the caller is told to repeat it; also if another transaction has its number now."""
    async with opened(server.dsn(), busy_timeout=20.0) as store:
        await store.append(append("a"))
        dialect = store._transactions.engine.sync_engine.dialect
        real = dialect.do_commit
        lost: list[int] = []
        reused: list[bool] = []

        def crash(connection: Any) -> None:
            if lost:
                real(connection)
                return
            number = await_only(connection.driver_connection.fetchval(_NUMBER))
            lost.append(number)
            server.kill()
            server.start()
            if others:
                reused.append(await_only(_others_commit_up_to(number, server)))
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

        dialect.do_commit = crash  # type: ignore[method-assign,assignment]
        try:
            receipt = await store.append(append("b", idempotency_key="k"))
        except StoreError as error:
            assert "repeat it with the same idempotency key" in str(error)  # noqa: PT017 - one of two good ends
            receipt = await store.append(append("b", idempotency_key="k"))
        assert lost, "the fault did not happen"
        assert reused == ([True] if others else []), "the number was not given again"
        assert (receipt.seq, await log_of(store)) == (1, ["a", "b"])


async def test_a_connection_that_ends_while_it_is_introduced_is_one_clear_error(tmp_path: Path) -> None:
    """What a dialect asks its first connection of an engine is asked before anybody has the connection."""
    url = await database_of(tmp_path)
    ended: list[int] = []

    def end(connection: Any, _record: object) -> None:
        ended.append(connection.driver_connection.get_server_pid())
        thread = threading.Thread(target=lambda: asyncio.run(_terminate(url, ended[-1])))
        thread.start()
        thread.join()

    sa.event.listen(sa.pool.Pool, "connect", end)
    try:
        with pytest.raises(StoreError, match="try again"):
            async with opened(url):
                raise AssertionError
    finally:
        sa.event.remove(sa.pool.Pool, "connect", end)
    assert ended, "the fault did not happen"


async def _terminate(url: str, pid: int) -> None:
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
    await connection.close()
