"""I1, I8: what belongs together happens together, is read together, or not at all."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from anaphora.domain.jobs import Job, JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Summary
from anaphora.errors import AnaphoraError, LeaseLost, StoreError
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    NOW,
    PATIENCE,
    STRATEGY,
    TENANT,
    always,
    append,
    beside,
    claimed,
    fence_of,
    insert,
    key_of,
    makes,
    move,
    names,
    new_id,
    reader_of,
    row_of,
    soon,
    summary,
)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Everything that a context, a worker or an operator may look at in one transaction."""

    row: SessionRow
    log: tuple[Message, ...]
    chain: tuple[Summary, ...]
    head: Head
    #: the numbers of the messages that search finds
    found: frozenset[int]
    jobs: tuple[str, ...]


def look(unit: Unit) -> Seen:
    """Look at everything."""
    row = row_of(unit)
    hits = unit.words.find(TENANT, "alice", agent=None, session_id=None, terms=["word"], pieces=(), limit=200)
    return Seen(
        row=row,
        log=tuple(unit.messages.range(TENANT, row.id, SeqRange(0, 200), limit=200)),
        chain=tuple(unit.summaries.chain(TENANT, row.id, strategy=STRATEGY, limit=200)),
        head=unit.summaries.head(TENANT, row.id, reader_of(None)),
        found=frozenset(match.seq for match in hits.found),
        jobs=tuple(sorted(f"{job.kind} {job.state}" for job in unit.jobs.list(TENANT))),
    )


def check_whole(seen: Seen) -> None:
    """What was read is of one moment."""
    assert [message.seq for message in seen.log] == list(range(seen.row.head)), "I1: log and session differ"
    assert seen.found == frozenset(range(seen.row.head)), "I1: log and index differ"
    newest = seen.chain[0] if seen.chain else None
    expected = Head(position=newest.range.stop, summary_id=newest.id) if newest else Head()
    assert seen.head == expected, "I1: summary and head differ"
    assert seen.head.position <= seen.row.head, "I1: a summary of what was not said yet"


def derived(unit: Unit, job: Job, made: Summary) -> None:
    """All that one worker writes at the end: a version, the head, the end of its job, the next one."""
    insert(unit, made)
    assert move(unit, Head(), Head(position=made.range.stop, summary_id=made.id))
    unit.jobs.finish(fence_of(job), now=NOW)
    assert unit.jobs.plan(row_of(unit), JobKind.REBUILD, job_id=new_id(), run_at=NOW, now=NOW, max_attempts=3)


def carry_on(unit: Unit, made: Summary) -> None:
    """Store a version and move the live head to it."""
    old = unit.summaries.head(TENANT, row_of(unit).id, reader_of(None))
    insert(unit, made)
    assert move(unit, old, Head(position=made.range.stop, summary_id=made.id))


class TransactionLaws(StoreLaws):
    """Units of work."""

    async def test_what_work_returns_is_returned(self, tmp_path: Path) -> None:
        """Reads and writes give what their work gives, and its errors as they are."""
        error = LeaseLost("too late")

        def fails(_unit: Unit) -> None:
            raise error

        async with self.opened(tmp_path) as store:
            for run in (store.read, store.write):
                assert await run(TENANT, lambda _unit: ("anything", 1)) == ("anything", 1)
                with pytest.raises(LeaseLost) as caught:
                    await run(TENANT, fails)
                assert caught.value is error

    async def test_what_work_wrote_it_can_read(self, tmp_path: Path) -> None:
        """Within a unit, what was just written is there."""

        def work(unit: Unit) -> list[str]:
            makes("new")(unit)
            insert(unit, summary((0, 1), version=1), key=key_of(session="new"))
            row = row_of(unit, key_of(session="new"))
            assert unit.summaries.next_version(TENANT, row.id, STRATEGY) == 2
            return [row.key.session for row in unit.sessions.list(TENANT)]

        async with self.opened(tmp_path) as store:
            assert await store.write(TENANT, work) == ["new"]

    async def test_all_that_a_worker_writes_is_there_or_nothing_of_it(self, tmp_path: Path) -> None:
        """I8: version, points, head, the end of the job and the next job are one transaction."""
        made = summary((0, 1), (1, 2), version=1)

        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a word", "another word"))
            job = await claimed(store)

            def breaks(unit: Unit) -> None:
                derived(unit, job, made)
                raise LeaseLost("at the very end")

            before = await store.read(TENANT, look)
            with pytest.raises(LeaseLost):
                await store.write(TENANT, breaks)
            assert await store.read(TENANT, look) == before
            await store.write(TENANT, lambda unit: derived(unit, job, made))
            after = await store.read(TENANT, look)
            assert (after.chain, after.head) == ((made,), Head(position=2, summary_id=made.id))
            assert after.jobs == ("rebuild queued", "summarise done")

    async def test_a_failing_write_is_undone_and_its_neighbours_are_not(self, tmp_path: Path) -> None:
        """I8: what is handed in together may share a transaction, but never its fate."""
        async with self.opened(tmp_path) as store:
            results = await asyncio.gather(
                store.write(TENANT, makes("good")),
                store.write(TENANT, makes("bad", LeaseLost("too late"))),
                store.append(append("hello", key=key_of(session="said"))),
                store.write(TENANT, makes("stops", StopIteration())),
                store.write(TENANT, makes("fine")),
                return_exceptions=True,
            )
            errors = [type(result) for result in results if isinstance(result, Exception)]
            assert errors == [LeaseLost, RuntimeError]
            assert await names(store) == ["fine", "good", "said"]

    async def test_a_write_that_the_database_refuses_fails_alone(self, tmp_path: Path) -> None:
        """I8: half of what was refused is not there, all of what was handed in with it is."""

        def breaks(unit: Unit) -> None:
            makes("half done")(unit)
            row = row_of(unit, key_of(session="half done"))
            unit.sessions.set_ended(TENANT, row.id, ended_at=NOW.replace(tzinfo=None))

        async with self.opened(tmp_path) as store:
            results = await asyncio.gather(
                store.write(TENANT, breaks),
                store.write(TENANT, makes("good")),
                store.append(append("x")),
                return_exceptions=True,
            )
            assert [isinstance(result, AnaphoraError) for result in results] == [True, False, False]
            assert await names(store) == ["good", "s1"]

    async def test_what_is_written_in_a_read_is_refused(self, tmp_path: Path) -> None:
        """A read changes nothing: what it tries to write is an error."""
        async with self.opened(tmp_path) as store:
            with pytest.raises(StoreError):
                await store.read(TENANT, makes("sneaky"))
            await store.write(TENANT, makes("proper"))
            assert await names(store) == ["proper"]

    async def test_a_read_sees_one_moment(self, tmp_path: Path) -> None:
        """I1: whatever is committed while a read looks, through this handle or another, it sees nothing of it."""
        made = summary((0, 1), (1, 2), version=1)
        async with self.opened(tmp_path) as store, self.opened(tmp_path, planner=always) as other:
            await store.append(append("a word", "another word"))
            loop, looked, written = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

            def twice(unit: Unit) -> tuple[SessionRow, Seen]:
                row = row_of(unit)
                loop.call_soon_threadsafe(looked.set)
                written.wait(PATIENCE / 4)  # where writers wait for readers there is nothing to be seen, only later
                return row, look(unit)

            async def meanwhile() -> None:
                await looked.wait()
                await store.append(append("one more word"))
                await other.append(append("a fourth word"))
                job = await claimed(other)
                await store.write(TENANT, lambda unit: derived(unit, job, made))
                written.set()

            before = await store.read(TENANT, look)
            both, _ = await soon(asyncio.gather(store.read(TENANT, twice), meanwhile()), "a read beside writes")
            assert both == (before.row, before)
            after = await store.read(TENANT, look)
            assert (after.row.head, after.head.position) == (4, 2)
            assert await other.read(TENANT, look) == after

    async def test_what_is_read_beside_writes_is_never_torn(self, tmp_path: Path) -> None:
        """I1: in every snapshot log, index, summary and head belong together, however much is written meanwhile."""
        seen: list[Seen] = []

        def enough() -> bool:
            return min(len({one.row.head for one in seen}), len({one.head for one in seen})) > 3

        async def write(store: Store) -> None:
            for at in count():
                if at >= 20 and enough():
                    break
                await store.append(append("a word", "another word"))
                made = summary((0, 2 * at + 2), version=at + 1)
                await store.write(TENANT, partial(carry_on, made=made))

        async with self.opened(tmp_path) as reader, self.opened(tmp_path) as writer:
            await writer.append(append("a word"))
            async with beside(write(writer)) as going:
                while not going.done():
                    seen.append(await reader.read(TENANT, look))
                    check_whole(seen[-1])
                await going
            assert enough(), "nothing happened beside the reads"
