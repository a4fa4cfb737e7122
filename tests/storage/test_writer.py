"""Several writers, failing writes, full disks: what one caller does never harms another."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.storage.bench import NOW, append, key_of, log_of, new_id, opened, row_of

from anaphora.domain.keys import SeqRange
from anaphora.errors import AnaphoraError, LeaseLost, StoreBusy, StoreClosed, StoreError, StoreFull
from anaphora.ports.store import Unit
from anaphora.storage.sqlite.engine import raw
from anaphora.storage.sqlite.store import SqliteStore
from anaphora.testing.failpoints import RaiseAt, Recorder

pytestmark = pytest.mark.anyio


def makes(session: str, then: Exception | None = None) -> Callable[[Unit], str]:
    """Work that makes a session, and perhaps fails after that."""

    def work(unit: Unit) -> str:
        unit.sessions.create(key_of(session=session), session_id=new_id(), strategy=None, subject=None, now=NOW)
        if then is not None:
            raise then
        return session

    return work


async def names(store: SqliteStore) -> set[str]:
    return {row.key.session for row in await store.read("t", lambda unit: unit.sessions.list("t"))}


async def test_a_failing_write_is_undone_and_its_neighbours_are_not(tmp_path: Path) -> None:
    seen = Recorder()
    async with opened(tmp_path / "m.db", failpoint=seen) as store:
        results = await asyncio.gather(
            store.write("t", makes("good")),
            store.write("t", makes("bad", LeaseLost("too late"))),
            store.append(append("hello", key=key_of(session="said"))),
            store.write("t", makes("stops", StopIteration())),
            store.write("t", makes("fine")),
            return_exceptions=True,
        )
        assert seen.names == ["write.before_commit", "write.after_commit"]
        assert [type(result) for result in results if isinstance(result, Exception)] == [LeaseLost, RuntimeError]
        assert await names(store) == {"good", "said", "fine"}


async def test_a_write_that_the_database_refuses_fails_alone(tmp_path: Path) -> None:
    def breaks(unit: Unit) -> None:
        makes("half done")(unit)
        unit.sessions.set_ended("t", row_of(unit, key_of(session="half done")).id, ended_at=NOW.replace(tzinfo=None))

    async with opened(tmp_path / "m.db") as store:
        results = await asyncio.gather(
            store.write("t", breaks), store.write("t", makes("good")), return_exceptions=True
        )
        assert isinstance(results[0], AnaphoraError)
        assert await names(store) == {"good"}


async def test_a_transaction_that_fails_as_a_whole_is_done_one_by_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", failpoint=RaiseAt("append.before_commit", OSError("no"))) as store:
        receipts = await asyncio.gather(*(store.append(append(str(n))) for n in range(5)))
        assert [receipt.seq for receipt in receipts] == list(range(5))
        assert await log_of(store) == list("01234")


async def test_what_was_written_in_a_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "m.db", ":memory:"):
        async with opened(path) as store:
            with pytest.raises(StoreError):
                await store.read("t", makes("sneaky"))
            await store.write("t", makes("proper"))
            assert await names(store) == {"proper"}


async def test_a_read_sees_one_moment(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("a"))
        loop = asyncio.get_running_loop()

        def twice(unit: Unit) -> tuple[int, int]:
            before = row_of(unit).head
            asyncio.run_coroutine_threadsafe(store.append(append("b")), loop).result(30)
            return before, row_of(unit).head

        assert await store.read("t", twice) == (1, 1)
        assert (await store.read("t", row_of)).head == 2


async def test_two_stores_on_one_file_never_find_it_locked(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path) as one, opened(path) as two:

        async def talk(store: SqliteStore, caller: int) -> None:
            for number in range(10):
                await store.append(append(f"{caller}-{number}"))
                await store.read("t", row_of)

        await asyncio.gather(*(talk(store, caller) for caller in range(6) for store in (one, two)))
        log = await log_of(one)
        assert len(log) == 120
        for caller in range(6):
            mine = [entry for entry in log if entry.startswith(f"{caller}-")]
            assert sorted(mine) == sorted([f"{caller}-{number}" for number in range(10)] * 2)


def speak(path: str, name: str, count: int) -> None:
    async def main() -> None:
        async with opened(path) as store:
            for number in range(count):
                await store.append(append(f"{name}-{number}"))

    asyncio.run(main())


async def test_processes_that_open_a_fresh_file_together_share_it(tmp_path: Path) -> None:
    path, count, spawn = str(tmp_path / "m.db"), 40, multiprocessing.get_context("spawn")
    children = [spawn.Process(target=speak, args=(path, f"p{number}", count)) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        await asyncio.to_thread(child.join, 90)
    assert [child.exitcode for child in children] == [0] * 4
    async with opened(path) as store:
        log = await log_of(store)
        for number in range(4):
            mine = [entry for entry in log if entry.startswith(f"p{number}-")]
            assert mine == [f"p{number}-{turn}" for turn in range(count)]


async def test_stores_that_open_a_fresh_file_together_have_one_secret(tmp_path: Path) -> None:
    async def secret() -> bytes:
        async with opened(tmp_path / "m.db") as store:
            return await store.secret()

    secrets = await asyncio.gather(*(secret() for _ in range(8)))
    assert len(set(secrets)) == 1
    assert len(secrets[0]) == 32


async def test_a_file_that_is_held_for_too_long_is_busy_and_nothing_was_written(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path, busy_timeout=0.2) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(store.append(append("a")), store.write("t", makes("b")), return_exceptions=True)
        assert [type(result) for result in results] == [StoreBusy, StoreBusy]
        assert await names(store) == set()
        holder.execute("ROLLBACK")
        holder.close()
        await store.append(append("a"))
        assert await log_of(store) == ["a"]


async def test_a_file_that_is_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        going = asyncio.ensure_future(store.append(append("a")))
        await asyncio.sleep(0.3)
        assert not going.done()
        holder.execute("COMMIT")
        holder.close()
        assert (await asyncio.wait_for(going, 5)).seq == 0


async def test_a_full_disk_fails_the_write_and_the_store_goes_on_when_there_is_room(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("before"))
        connection = raw(store._connection)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        big = ["x" * 100_000, "y" * 100_000]
        results = await asyncio.gather(*(store.append(append(text)) for text in big), return_exceptions=True)
        assert [type(result) for result in results] == [StoreFull, StoreFull]
        assert await log_of(store) == ["before"]
        connection.execute("PRAGMA max_page_count = 1000000")
        await store.append(append("after"))
        assert await log_of(store) == ["before", "after"]


async def test_on_a_disk_that_is_nearly_full_what_fits_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("before"))
        connection = raw(store._connection)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")
        texts = ["small", "x" * 100_000, "small too"]
        results = await asyncio.gather(
            store.append(append(texts[0])),
            store.write("t", makes("made")),
            store.append(append(texts[1])),
            store.append(append(texts[2])),
            return_exceptions=True,
        )
        assert [isinstance(result, StoreFull) for result in results] == [False, False, True, False]
        assert await log_of(store) == ["before", "small", "small too"]


async def test_close_finishes_what_was_handed_in_and_then_refuses(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        going = [asyncio.ensure_future(store.append(append(str(number)))) for number in range(300)]
        await asyncio.sleep(0)
        await asyncio.gather(store.close(), store.close())
        assert [receipt.seq for receipt in await asyncio.gather(*going)] == list(range(300))
        for call in (
            store.append(append("late")),
            store.read("t", row_of),
            store.write("t", row_of),
            store.wait_for_work(1),
        ):
            with pytest.raises(StoreClosed):
                await call
        await store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.db"]


async def test_a_store_in_memory_does_it_all(tmp_path: Path) -> None:
    async with opened(":memory:") as store:
        await asyncio.gather(
            *(store.append(append(str(number))) for number in range(50)),
            *(store.write("t", makes(f"m{number}")) for number in range(5)),
            *(store.read("t", lambda unit: unit.sessions.list("t")) for _ in range(20)),
        )
        row = await store.read("t", row_of)
        assert row.head == 50
        seven: dict[str, Any] = {"agent": None, "session_id": None, "terms": ["7"], "pieces": (), "limit": 5}
        matches = await store.read("t", lambda unit: unit.words.find("t", "alice", **seven))
        assert len(matches.found) == 1
        await store.write("t", lambda unit: unit.sessions.reset("t", row.id, now=NOW))
        assert await log_of(store) == []
    assert list(tmp_path.iterdir()) == []


KILLED = """
import asyncio, sys
from anaphora.testing.failpoints import KillAt
from tests.storage.bench import append, opened

async def main():
    async with opened(sys.argv[1], failpoint=KillAt(sys.argv[2], 3)) as store:
        for number in range(9):
            await store.append(append(str(number)))
            print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize(("name", "kept"), [("append.before_commit", 2), ("append.after_commit", 3)])
async def test_an_acknowledged_append_survives_kill_nine(tmp_path: Path, name: str, kept: int) -> None:
    path = str(tmp_path / "m.db")
    child = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", KILLED, path, name], capture_output=True, text=True, check=False
    )
    assert child.returncode == -9, child.stderr
    assert child.stdout.split() == ["0", "1"]
    async with opened(path) as store:
        assert await log_of(store) == ["0", "1", "2"][:kept]
        assert (await store.append(append("next"))).range == SeqRange(kept, kept + 1)
