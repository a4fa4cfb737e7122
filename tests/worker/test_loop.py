"""I4, I5, I9: work is done once, by whoever holds the lease, and never stays undone or "running"."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.memory.harness import (
    LONG,
    Quarter,
    brief,
    check_account,
    conversation,
    entries,
    opened,
    say,
    served,
    spans,
)

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.domain.jobs import Job, JobState
from anaphora.errors import StoreClosed
from anaphora.settings import Settings
from anaphora.testing import FakeClock, RaiseAt
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


class Held(ScriptedChat):
    """A model whose first answer waits until it is let go."""

    def __init__(self) -> None:
        super().__init__(brief)
        self.asked, self.free = anyio.Event(), anyio.Event()
        self.cut_off = False
        self.pause = self._wait

    async def _wait(self) -> None:
        self.asked.set()
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cut_off = True
            raise


async def asleep(clock: FakeClock) -> None:
    """Until somebody waits for the clock again: a write may take as long as the other workers let it."""
    with anyio.fail_after(30):
        while not clock.sleeping:
            await anyio.sleep(0.001)


async def the_job(memory: Memory) -> Job:
    (job,) = await memory.jobs.list()
    return job


async def test_two_workers_on_one_file_do_nothing_twice(tmp_path: Path) -> None:
    chats = [ScriptedChat(brief, name=name) for name in ("one", "two")]
    for chat in chats:
        chat.pause = lambda: anyio.sleep(0.02)
    async with (
        opened(tmp_path, chat=chats[0], at_work=True) as one,
        opened(tmp_path, chat=chats[1], at_work=True) as two,
    ):
        async with anyio.create_task_group() as group:
            for n in range(8):
                session = conversation((one, two)[n % 2], session=f"s{n}")
                group.start_soon(say, session, 30)
        assert await one.idle(20)
        assert await two.idle(20)
        jobs = await one.jobs.list()
        assert {(job.state, job.attempt) for job in jobs} == {(JobState.DONE, 1)}
        for n in range(8):
            check_account(await conversation(one, session=f"s{n}").context(), 30)
            versions = await conversation(one, session=f"s{n}").summaries()
            assert versions[0].range.stop > 14
        read = [len(entries(prompt)) for chat in chats for prompt in chat.prompts]
        reach = [(await conversation(one, session=f"s{n}").summaries())[0].range.stop for n in range(8)]
        assert sum(read) == sum(reach), "a message was read twice"
        assert all(chat.prompts for chat in chats), "one of them did everything: nothing was shown"


async def test_a_heartbeat_keeps_the_lease_of_a_long_call(tmp_path: Path) -> None:
    """Ten times as long as the lease; another worker looks at every step and finds nothing to take."""
    clock, held = FakeClock(), Held()
    async with (
        opened(tmp_path, chat=held, clock=clock) as mine,
        opened(tmp_path, chat=ScriptedChat(), clock=clock) as other,
    ):
        await say(conversation(mine), 12)
        async with anyio.create_task_group() as group:
            group.start_soon(mine.work)
            await held.asked.wait()
            for _ in range(30):
                await clock.advance(10)
                await asleep(clock)  # the heartbeat waits for its next turn: this one is on disk
                assert await other.work() == 0
            held.free.set()
        job = await the_job(mine)
        assert (job.state, job.attempt) == (JobState.DONE, 1)
        (summary,) = await conversation(mine).summaries()
        assert summary.generation_ms == 300_000


async def test_a_lost_lease_stops_the_work_and_changes_nothing(tmp_path: Path) -> None:
    clock, ahead, held = FakeClock(), FakeClock(), Held()
    async with (
        opened(tmp_path, chat=held, clock=clock) as mine,
        opened(tmp_path, chat=ScriptedChat(brief, name="other"), clock=ahead) as other,
    ):
        await say(conversation(mine), 12)
        async with anyio.create_task_group() as group:
            group.start_soon(mine.work)
            await held.asked.wait()
            await ahead.advance(LONG)
            assert await other.work() == 1
            assert not held.cut_off
            await clock.advance(10)
            with anyio.fail_after(5):
                while not held.cut_off:
                    await anyio.sleep(0.01)
        (summary,) = await conversation(mine).summaries()
        assert summary.model == "other"
        assert (await the_job(mine)).state is JobState.DONE


async def test_close_gives_the_job_in_hand_its_time(tmp_path: Path) -> None:
    held = Held()
    async with opened(tmp_path, chat=held, at_work=True) as memory:
        await say(conversation(memory), 12)
        await held.asked.wait()
        asyncio.get_running_loop().call_later(0.1, held.free.set)
        await memory.close(grace=5)
        assert (await the_job(memory)).state is JobState.DONE
        assert await served(conversation(memory)) is not None


async def test_close_releases_what_is_not_done_in_time_and_does_not_count_the_attempt(tmp_path: Path) -> None:
    held = Held()
    async with opened(tmp_path, chat=held, at_work=True) as memory:
        await say(conversation(memory), 12)
        await held.asked.wait()
        assert (await the_job(memory)).attempt == 1
        with anyio.fail_after(10):
            await memory.close(grace=0.05)
        job = await the_job(memory)
        assert (job.state, job.attempt, job.lease_owner) == (JobState.QUEUED, 0, None)
        assert held.cut_off
        with anyio.fail_after(10):
            await memory.close()
        await say(conversation(memory), 2, start=12)
        check_account(await conversation(memory).context(), 14)
    async with opened(tmp_path, chat=ScriptedChat(brief)) as memory:
        assert await memory.work() == 1, "nobody waits for a lease that nobody holds"


async def test_leaving_the_memory_closes_it(tmp_path: Path) -> None:
    chat = ScriptedChat(brief)
    async with opened(tmp_path, chat=chat, at_work=True) as memory:
        session = conversation(memory)
    with pytest.raises(StoreClosed):
        await session.add("user", "too late")
    with pytest.raises(StoreClosed):
        await session.context()


async def test_an_error_of_the_caller_comes_out_as_itself(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with opened(tmp_path, at_work=True):
            raise ZeroDivisionError


async def test_a_memory_without_a_worker_plans_and_does_not_work(tmp_path: Path) -> None:
    chat = ScriptedChat(brief)
    async with opened(tmp_path, chat=chat) as memory:
        await say(conversation(memory), 12)
        assert not await memory.idle(0.15), "there is something due, and nobody does it"
        assert chat.prompts == []
        assert await memory.jobs.live() == 1
        assert await memory.work() == 1
        assert await memory.work() == 0
        assert await memory.idle(1)


async def test_a_memory_with_a_worker_notices_what_other_processes_append(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(brief), at_work=True) as works, opened(tmp_path) as writes:
        await works.idle(1)
        await say(conversation(writes), 12)
        with anyio.fail_after(10):
            while await served(conversation(writes)) is None:
                await anyio.sleep(0.02)


async def test_what_waits_for_later_is_not_due(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = ScriptedChat(lambda *_: "")
    async with opened(tmp_path, chat=chat, clock=clock) as memory:
        await say(conversation(memory), 12)
        await memory.work()
        assert await memory.idle(0.5)
        assert await memory.jobs.live() == 1
        assert await memory.jobs.list(stuck_seconds=1) == []


async def test_messages_that_arrive_during_a_run_are_looked_at_after_it(tmp_path: Path) -> None:
    chat = ScriptedChat(brief)
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        await say(session, 12)

        async def more() -> None:
            chat.pause = ScriptedChat().pause
            await say(session, 10, start=12)

        chat.pause = more
        assert await memory.work() == 2
        assert (await session.context()).coverage.summarised == spans((0, 14))


class CancelAt:
    """Cancels a scope when a named place is reached for the n-th time, from whatever thread."""

    def __init__(self, name: str, count: int) -> None:
        self.left = count
        self.name = name
        self.scope = anyio.CancelScope()
        self.loop = asyncio.get_running_loop()
        self.home = threading.get_ident()

    def __call__(self, name: str, /) -> None:
        self.left -= name == self.name
        if name != self.name or self.left != 0:
            return
        if threading.get_ident() == self.home:
            self.scope.cancel()
            return
        done = threading.Event()
        self.loop.call_soon_threadsafe(self.scope.cancel)
        self.loop.call_soon_threadsafe(done.set)
        done.wait(5)


PLACES = [
    ("worker.claimed", 1),
    ("summarise.assigned", 1),
    ("summarise.after_model", 1),
    ("summarise.after_commit", 1),
    ("worker.done", 1),
    *(("write.before_commit", n) for n in (1, 2, 3)),
    *(("write.after_commit", n) for n in (1, 2, 3)),
]


@pytest.mark.parametrize(("name", "count"), PLACES)
async def test_work_that_is_cancelled_anywhere_is_free_again_at_once(tmp_path: Path, name: str, count: int) -> None:
    """Hole 0.3: claim, assignment, call and commit; nobody has to wait for a lease, no attempt is counted."""
    clock, cancel = FakeClock(), CancelAt(name, count)
    async with opened(tmp_path, chat=ScriptedChat(brief), clock=clock, failpoint=cancel) as memory:
        await say(conversation(memory), 12)
        with cancel.scope:
            await memory.work()
        assert cancel.left <= 0, "the place was not reached"
        assert (await the_job(memory)).state is not JobState.RUNNING
    async with opened(tmp_path, chat=ScriptedChat(brief), clock=clock) as other:
        await other.work()
        job = await the_job(other)
        assert (job.state, job.attempt) == (JobState.DONE, 1)
        assert len(await conversation(other).summaries()) == 1
        check_account(await conversation(other).context(), 12)


async def test_an_unexpected_error_ends_as_a_failed_job_with_a_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """I9: five attempts; the reason says what kind of error it was, and nothing of what it said."""
    clock = FakeClock()

    def broken(*_: object) -> str:
        raise KeyError("a line of the conversation")

    chat = ScriptedChat(broken)
    async with opened(tmp_path, chat=chat, clock=clock) as memory:
        await say(conversation(memory), 12)
        for _ in range(8):
            await memory.work()
            await clock.advance(LONG)
        job = await the_job(memory)
        assert (job.state, job.attempt, job.reason) == (JobState.FAILED, 5, "unexpected KeyError")
        assert len(chat.prompts) == 5
        check_account(await conversation(memory).context(), 12)
        chat.script = brief
        assert await memory.jobs.retry(job.id) == 1
        assert await memory.work() == 1
        assert await served(conversation(memory)) is not None
    crashes = [record for record in caplog.records if getattr(record, "event", "") == "job_crashed"]
    assert len(crashes) == 5
    assert "KeyError" in caplog.text
    assert "broken" in caplog.text, "where it happened is needed to mend it"
    assert "a line of the conversation" not in caplog.text


async def test_crashes_count_so_that_a_poisonous_job_ends(tmp_path: Path) -> None:
    """I9: a range that kills its worker is given up as a digest after the last attempt, without asking the model."""
    clock = FakeClock()
    for _ in range(5):
        async with opened(tmp_path, chat=ScriptedChat(brief), clock=clock) as dies:
            if not await dies.sessions():
                await say(conversation(dies), 12)
            assert await dies._services.worker.claim() is not None
        await clock.advance(LONG)
    chat = ScriptedChat(brief)
    async with opened(tmp_path, chat=chat, clock=clock) as lives:
        await lives.work()
        assert [job.state for job in await lives.jobs.list() if job.kind == "summarise"] == [JobState.FAILED]
        assert chat.prompts == []
        assert (await conversation(lives).context()).degraded == ("model",)


@pytest.mark.parametrize("name", ["summarise.assigned", "summarise.after_model", "worker.claimed", "worker.done"])
async def test_an_error_at_any_step_leaves_a_job_that_can_be_done(tmp_path: Path, name: str) -> None:
    clock = FakeClock()
    async with opened(tmp_path, chat=ScriptedChat(brief), clock=clock, failpoint=RaiseAt(name, OSError("disk"))) as one:
        await say(conversation(one), 12)
        try:
            await one.work()
        except OSError:
            assert name.startswith("worker.")
        await clock.advance(LONG)
        await one.work()
        assert (await the_job(one)).state is JobState.DONE
        assert len(await conversation(one).summaries()) == 1


@pytest.mark.sqlite_only("another process holds the write lock of the file")
async def test_a_worker_outlives_a_database_that_is_busy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chat = ScriptedChat(brief)
    async with opened(tmp_path, chat=chat, at_work=True, busy_timeout=0.0) as memory:
        session = conversation(memory)
        await say(session, 9)
        blocker = sqlite3.connect(tmp_path / "memory.db", isolation_level=None, check_same_thread=False)
        await say(session, 1, start=9)
        await memory.idle(5)
        other = conversation(memory, session="s2")
        await say(other, 9)
        held = Held()
        chat.pause = held.pause
        await say(other, 3, start=9)
        await held.asked.wait()
        blocker.execute("BEGIN IMMEDIATE")
        held.free.set()
        with anyio.fail_after(5):
            while "store_failed" not in {getattr(r, "event", "") for r in caplog.records}:
                await anyio.sleep(0.01)
        blocker.execute("ROLLBACK")
        blocker.close()
        await say(other, 1, start=12)
        check_account(await other.context(), 13)


async def test_whoever_listens_is_told_of_every_job(tmp_path: Path) -> None:
    told: list[tuple[Any, bool]] = []
    settings = Settings(db=str(tmp_path / "memory.db"), embedder="none", tenant="t")
    given = Overrides(chat_model=ScriptedChat(brief), counter=Quarter())
    async with Memory.open(settings=settings, overrides=given, worker=False) as memory:
        await say(conversation(memory), 12)
        worker = replace(memory._services.worker, on_event=lambda job, ok: told.append((job.kind, ok)))
        await worker.drain()
    assert Counter(told) == {("summarise", True): 1}
