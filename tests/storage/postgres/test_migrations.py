"""Databases of every earlier revision on a server are brought to the newest, with all that is in them (F12)."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.databases.postgres import opened
from tests.memory.harness import conversation, say, settle
from tests.storage.postgres import earlier
from tests.storage.postgres.earlier import (
    OWNER,
    SUPERUSER,
    TENANTS,
    WAITING,
    asked,
    database_of_revision,
    memory_of,
    of,
    reading,
    revision_of,
    rows_of,
)
from tests.storage.postgres.upgrading import ALONE

from anaphora.bootstrap.maintenance import diagnose
from anaphora.cli import main
from anaphora.errors import StoreError, StoreTooNew
from anaphora.settings import Settings
from anaphora.storage.migrations import REVISIONS, head
from anaphora.testing import FakeClock

pytestmark = pytest.mark.anyio

#: statements between two deaths: each death costs a process
STEP = 8
EARLIER = REVISIONS[:-1]
#: from the oldest and the last but one every day, from all others in `make test-deep`: each takes a server's seconds
ENDS = [pytest.param(name, marks=() if name in {EARLIER[0], EARLIER[-1]} else (pytest.mark.deep,)) for name in EARLIER]
_OTHERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)
_WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def truth_of(name: str) -> Mapping[str, Any]:
    """What a memory reads in the database that the rows were taken from."""
    return (earlier.life_without_edits() if name == "0001" else earlier.life_with_edits())[1]


def known(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Rows as a revision sees them that knows only these columns."""
    return sorted(repr([row[column] for column in columns]) for row in rows)


async def check_nothing_is_lost(url: str, before: earlier.Rows) -> None:
    """Every row of every table of the earlier revision is there, with every column."""
    after = await rows_of(url)
    assert {table for table, rows in before.items() if rows} >= {"sessions", "messages", "summaries", "jobs", "heads"}
    for table, rows in before.items():
        columns = list(rows[0]) if rows else []
        assert known(after[table], columns) == known(rows, columns), table


async def check_is_as_it_was(url: str, name: str, before: earlier.Rows) -> None:
    """Who upgraded is gone, and nothing of it is left: no table, no column, no row."""
    while await asked(url, _OTHERS):
        await asyncio.sleep(0.01)
    assert await revision_of(url) == name
    assert await rows_of(url) == before


async def check_it_works(url: str, name: str) -> None:
    """A memory reads everything as before, goes on, and no promise is broken."""
    assert await reading(url) == truth_of(name)
    clock = FakeClock()
    async with memory_of(url, clock) as memory:
        for tenant in TENANTS:
            await say(conversation(memory, tenant=tenant, session=WAITING), 6, start=30)
            await conversation(memory, tenant=tenant).edit(8, "#8# corrected later")
        await settle(memory, clock)
        for tenant in TENANTS:
            assert (await conversation(memory, tenant=tenant, session=WAITING).context()).coverage.summarised
    settings = Settings(db=url, embedder="none", durability="normal")
    broken = await asyncio.to_thread(diagnose, settings, stuck_seconds=60)
    assert [check for check in broken.checks if not check.ok and not check.warning] == []


async def upgrading(url: str, *words: str) -> asyncio.subprocess.Process:
    """The process of `upgrading`."""
    command = (sys.executable, "-m", "tests.storage.postgres.upgrading", url, *words)
    root = Path(__file__).parents[3]
    return await asyncio.create_subprocess_exec(*command, cwd=root, stdout=asyncio.subprocess.PIPE)


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Its exit code, and the last that it said."""
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode().strip()


@pytest.mark.parametrize("owner", [SUPERUSER, OWNER], ids=["superuser", "owner"])
@pytest.mark.parametrize("name", ENDS)
async def test_a_database_of_an_earlier_revision_keeps_everything(name: str, owner: str) -> None:
    """Also if its owner is bound by the policies of its tables."""
    url, before = await database_of_revision(name, owner)
    async with opened(of(owner, url)):
        assert await revision_of(url) == head()
    await check_nothing_is_lost(url, before)
    after = await rows_of(url)
    assert len(after["head_moves"]) >= len(after["heads"]), "where heads stood is known of the past"
    assert len(after["summary_states"]) >= len(after["summaries"])
    await check_it_works(of(owner, url), name)


# an upgrade for each statement of an upgrade: from every earlier revision only in the deep run
@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.deep) for name in EARLIER[:-1]), EARLIER[-1]])
async def test_an_upgrade_killed_between_two_statements_leaves_the_earlier_revision_whole(name: str) -> None:
    url, before = await database_of_revision(name, SUPERUSER)
    deaths = 0
    for at in count(1, step(name)):
        code, said = await ended(await upgrading(url, "die", str(at)))
        if code == 0:
            break
        assert (code, said.partition(" after ")[0]) == (-9, "dies")
        deaths += 1
        await check_is_as_it_was(url, name, before)
    assert deaths >= 2, "the faults did not happen"
    was, now, statements, changes = said.split()
    assert (was, now) == (name, head())
    assert int(statements) > step(name)
    assert int(changes) > 0
    await check_nothing_is_lost(url, before)
    await check_it_works(url, name)


def step(name: str) -> int:
    """After how many more statements the next fault comes: the newest revision has few of them."""
    return STEP if name < REVISIONS[-2] else 4


@contextmanager
def connection_ends_after(number: int, url: str) -> Iterator[list[str]]:
    """The server ends the connection on which an upgrade runs, so many statements after others are kept away."""
    sent: list[str] = []
    ends: list[str] = []
    over: list[sa.Connection] = []

    def after(connection: sa.Connection, *call: Any) -> None:
        statement: str = call[1]
        if ends or over or not (sent or ALONE in statement):
            return
        sent.append(statement)
        if len(sent) == number:
            ends.append(statement)
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            wanted = asked(url, "SELECT pg_terminate_backend($1, 5000)", pid)
            thread = threading.Thread(target=lambda: asyncio.run(wanted))
            thread.start()
            thread.join()

    def commit(connection: sa.Connection) -> None:
        if sent:
            over.append(connection)

    sa.event.listen(sa.Engine, "after_cursor_execute", after)
    sa.event.listen(sa.Engine, "commit", commit)
    try:
        yield ends
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", after)
        sa.event.remove(sa.Engine, "commit", commit)


@pytest.mark.parametrize("name", ENDS)
async def test_an_upgrade_whose_connection_ends_leaves_the_earlier_revision_whole(name: str) -> None:
    url, before = await database_of_revision(name, SUPERUSER)
    deaths = 0
    for at in count(1, step(name)):
        with connection_ends_after(at, url) as ends, suppress(StoreError):
            async with opened(url):
                pass
        if not ends:
            break
        deaths += 1
        await check_is_as_it_was(url, name, before)
    assert deaths >= 2, "the faults did not happen"
    assert await revision_of(url) == head()
    await check_nothing_is_lost(url, before)
    await check_it_works(url, name)


@pytest.mark.parametrize("name", ENDS)
async def test_of_two_processes_that_upgrade_at_once_one_does_it(name: str, tmp_path: Path) -> None:
    url, before = await database_of_revision(name, SUPERUSER)
    gate = tmp_path / "go"
    first = await upgrading(url, "wait", str(gate))
    assert first.stdout is not None
    assert await first.stdout.readline() == b"waits\n"
    second = await upgrading(url)
    while not await asked(url, _WAITING):
        assert second.returncode is None, "the second did not wait for the first"
        await asyncio.sleep(0.01)
    gate.touch()
    said = [await ended(process) for process in (first, second)]
    assert [code for code, _ in said] == [0, 0]
    assert [words.split()[:2] for _, words in said] == [[name, head()]] * 2
    changes = [int(words.split()[3]) for _, words in said]
    assert changes[0] >= 2, "the newest tables and the number of the revision, at least"
    assert changes[1] < changes[0], "both did it"
    await check_nothing_is_lost(url, before)
    await check_it_works(url, name)


async def test_a_database_of_a_later_revision_is_refused_and_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    url, _ = await database_of_revision(EARLIER[-1], SUPERUSER)
    async with opened(url):
        pass
    await asked(url, "UPDATE alembic_version SET version_num = '9999'")
    before = await rows_of(url)
    for read_only in (False, True):
        with pytest.raises(StoreTooNew, match="written by a later version of Anaphora: upgrade to open it"):
            async with opened(url, read_only=read_only):
                raise AssertionError
    for command in ("migrate", "doctor"):
        code = await asyncio.to_thread(main, [command, "--db", url])
        said = capsys.readouterr()
        assert (code, said.out) == (1, "")
        (line,) = said.err.splitlines()
        assert line.startswith("anaphora: ")
        assert line.endswith("was written by a later version of Anaphora: upgrade to open it")
    await check_is_as_it_was(url, "9999", before)
