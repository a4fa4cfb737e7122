"""What only a server brings: connections that end, servers that restart, rows that others hold, rights."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from tests.databases.postgres import database_of, opened

from anaphora.domain.jobs import JobKind
from anaphora.errors import StoreBusy, StoreError
from anaphora.ports.store import Unit
from anaphora.storage.access_tables import audit
from anaphora.storage.columns import metadata
from anaphora.storage.postgres.store import PostgresStore
from anaphora.storage.tables import messages, store_meta
from anaphora.storage.unit import SqlUnit
from anaphora.testing.conformance.store_laws.tools import KEY, NOW, TENANT, append, key_of, log_of, names, new_id

pytestmark = pytest.mark.anyio

_OURS = "application_name = 'anaphora' AND datname = current_database()"
_END_THEM = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {_OURS}"  # noqa: S608 - our own
_IN_TRANSACTION = f"SELECT count(*) FROM pg_stat_activity WHERE {_OURS} AND state LIKE 'idle in%'"  # noqa: S608


@asynccontextmanager
async def stranger(folder: Path) -> AsyncIterator[Any]:
    """A connection that is not the store's."""
    connection = await asyncpg.connect(await database_of(folder))
    try:
        yield connection
    finally:
        await connection.close()


async def test_connections_that_were_ended_are_not_missed(tmp_path: Path) -> None:
    async with opened(await database_of(tmp_path)) as store, stranger(tmp_path) as other:
        for round_ in range(5):
            await asyncio.gather(*(store.append(append(f"{round_} {at}")) for at in range(4)), names(store))
            assert await other.fetchval(_END_THEM) > 0
            assert len(await log_of(store)) == 4 * (round_ + 1)


async def test_work_whose_connection_ends_in_the_middle_is_done_once(tmp_path: Path) -> None:
    url = await database_of(tmp_path)
    async with opened(url) as store, stranger(tmp_path) as other:
        await store.append(append("a"))
        runs: list[Unit] = []

        def work(unit: Unit) -> str:
            runs.append(unit)
            made = unit.sessions.create(
                key_of(session="new"), session_id=new_id(), strategy=None, subject=None, now=NOW
            )
            if len(runs) == 1:
                _end(unit, url)
            return made.key.session

        assert await store.write(TENANT, work) == "new"
        assert len(runs) == 2, "the fault did not happen"
        assert await names(store) == ["new", "s1"]
        assert await other.fetchval("SELECT count(*) FROM sessions") == 2


def _end(unit: Unit, url: str) -> None:
    """The server ends the connection that the unit is on; meanwhile the event loop stands still."""
    pid = _run(unit)(sa.text("SELECT pg_backend_pid()")).scalar_one()

    async def end() -> None:
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
        await connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(end()))
    thread.start()
    thread.join()


async def test_work_that_hides_a_failed_statement_is_not_acknowledged(tmp_path: Path) -> None:
    """I7: PostgreSQL answers the commit of a failed transaction with a rollback, and with no error."""
    async with opened(await database_of(tmp_path)) as store:

        def work(unit: Unit) -> str:
            made = unit.sessions.create(KEY, session_id=new_id(), strategy=None, subject=None, now=NOW)
            with pytest.raises(sa.exc.DBAPIError):
                _run(unit)(sa.text("SELECT 1 / 0"))
            return made.key.session

        with pytest.raises(StoreError, match="nothing was written"):
            await store.write(TENANT, work)
        assert await names(store) == []
        await store.append(append("a"))
        assert await log_of(store) == ["a"]


@pytest.mark.parametrize("committed", [True, False])
async def test_a_commit_that_was_not_answered_is_looked_up(tmp_path: Path, *, committed: bool) -> None:
    """I7: nobody has to guess: done if it was done, and done again if it was not; never twice."""
    async with opened(await database_of(tmp_path)) as store, stranger(tmp_path) as other:
        await store.append(append("a"))
        transactions = store._transactions
        real = transactions.engine.sync_engine.dialect.do_commit
        lost: list[Any] = []

        def unanswered(connection: Any) -> None:
            if not lost:
                lost.append(connection)
                if committed:
                    real(connection)
                raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
            real(connection)

        transactions.engine.sync_engine.dialect.do_commit = unanswered  # type: ignore[method-assign,assignment]
        receipt = await store.append(append("b"))
        assert lost, "the fault did not happen"
        assert (receipt.seq, await log_of(store)) == (1, ["a", "b"])
        assert await other.fetchval("SELECT count(*) FROM messages") == 2


async def test_two_connections_serve_fifty_at_once(tmp_path: Path) -> None:
    """Nobody holds a connection while waiting for something else."""
    async with opened(await database_of(tmp_path), connections=2) as store, stranger(tmp_path) as other:
        keys = [key_of(session=f"s{at}") for at in range(50)]

        async def chat(at: int) -> list[str]:
            for text in "abc":
                await store.append(append(text, key=keys[at]))
                await asyncio.sleep(0.02)
            return await log_of(store, keys[at])

        logs = await asyncio.gather(*(chat(at) for at in range(50)))
        assert logs == [["a", "b", "c"]] * 50
        assert await other.fetchval(_IN_TRANSACTION) == 0
        assert await other.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {_OURS}") <= 2  # noqa: S608


async def test_who_waits_too_long_for_a_row_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    async with opened(await database_of(tmp_path), busy_timeout=0.2) as store, stranger(tmp_path) as other:
        await store.append(append("a"))
        async with other.transaction():
            await other.execute("SELECT 1 FROM sessions FOR UPDATE")
            with pytest.raises(StoreBusy, match="locked"):
                await store.append(append("b"))
        assert await log_of(store) == ["a"]


async def test_with_the_applications_own_filters_off_nobody_sees_another_tenants_rows(tmp_path: Path) -> None:
    """I11: statements without any tenant, run as the store runs its own."""
    of_tenants = [table for table in metadata.sorted_tables if table is not store_meta]
    of_words = [sa.table(name, sa.column("tenant_id")) for name in ("message_words", "found_words")]
    async with opened(await database_of(tmp_path), planner=lambda *_: JobKind.SUMMARISE) as store:
        for tenant in ("t", "t2"):
            await store.append(append("mine", "too", key=key_of(tenant=tenant)))

        def look(unit: Unit) -> dict[str, set[str]]:
            run = _run(unit)
            return {t.name: set(run(sa.select(t.c.tenant_id)).scalars()) for t in (*of_tenants, *of_words)}

        for tenant in ("t", "t2"):
            seen = await store.read(tenant, look)
            assert {name for name, tenants in seen.items() if tenants} == {
                "sessions",
                "messages",
                "receipts",
                "jobs",
                "message_words",
                "found_words",
                "changes",
            }
            assert set().union(*seen.values()) == {tenant}
        assert not any((await store.read("", look)).values())

        def spoil(unit: Unit) -> int:
            return int(_run(unit)(sa.update(messages).values(content="spoilt")).rowcount)

        assert await store.write("t", spoil) == 2
        assert await log_of(store, key_of(tenant="t2")) == ["mine", "too"]

        def smuggle(unit: Unit) -> None:
            _run(unit)(sa.update(messages).values(tenant_id="t2"))

        with pytest.raises(StoreError, match="privilege"):
            await store.write("t", smuggle)


async def test_who_looks_for_jobs_sees_nothing_that_was_said(tmp_path: Path) -> None:
    async with opened(await database_of(tmp_path), planner=lambda *_: JobKind.SUMMARISE) as store:
        await store.append(append("a"))

        def look(connection: sa.Connection) -> dict[str, int]:
            count = sa.func.count()
            return {
                table.name: connection.execute(sa.select(count).select_from(table)).scalar_one()
                for table in metadata.sorted_tables
                if table is not store_meta
            }

        seen = await store._transactions.survey("queue", look)
        assert {name for name, rows in seen.items() if rows} == {"jobs"}


async def test_the_store_owns_nothing_and_cannot_change_its_tables(tmp_path: Path) -> None:
    async with opened(await database_of(tmp_path)) as store:
        for statement in (
            "DROP TABLE messages",
            "ALTER TABLE jobs DISABLE ROW LEVEL SECURITY",
            "DELETE FROM store_meta",
        ):
            with pytest.raises(StoreError, match="privilege"):
                await store.write(TENANT, _executes(statement))


async def test_two_batches_that_meet_in_another_order_both_come_through(tmp_path: Path) -> None:
    """No deadlock reaches a caller."""
    url = await database_of(tmp_path)
    async with opened(url) as one, opened(url) as two:
        keys = [key_of(session=f"s{at}") for at in range(12)]
        for turn in range(8):
            order = keys if turn % 2 else keys[::-1]
            await asyncio.gather(
                *(one.append(append("a", key=key)) for key in order),
                *(two.append(append("b", key=key)) for key in order[::-1]),
            )
        assert [len(await log_of(one, key)) for key in keys] == [16] * 12


def _run(unit: Unit) -> Callable[..., Any]:
    assert isinstance(unit, SqlUnit)
    return unit.jobs._connection.execute


def _executes(statement: str) -> Callable[[Unit], None]:
    def work(unit: Unit) -> None:
        _run(unit)(sa.text(statement))

    return work


async def test_the_right_rows_are_the_tables_of_this_version(tmp_path: Path) -> None:
    """Whoever may write a message may write everything that belongs to it."""
    async with opened(await database_of(tmp_path)) as store:
        assert isinstance(store, PostgresStore)

        def rights(connection: sa.Connection) -> set[str]:
            rows = connection.execute(
                sa.text("SELECT table_name FROM information_schema.role_table_grants WHERE privilege_type = 'UPDATE'")
            )
            return set(rows.scalars())

        granted = await store._transactions.survey("all", rights)
        # of the audit nothing is ever changed
        assert granted == {table.name for table in metadata.sorted_tables if table not in {store_meta, audit}} | {
            "document_words",
            "message_words",
        }
