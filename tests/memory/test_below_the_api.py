"""Laws of a memory that must reach below its API: into its worker, its store, its arguments."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from tests.memory.harness import LONG, Quarter, block, brief, conversation, opened, say, served

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.domain.jobs import JobState
from anaphora.rules.memory_block import delimiter
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def test_work_of_a_dead_process_is_done_after_its_lease(tmp_path: Path) -> None:
    """Hole 0.2, I9: nobody released the claim; the crash counted as an attempt."""
    clock = FakeClock()
    async with opened(tmp_path, chat=ScriptedChat(), clock=clock) as dies:
        await say(conversation(dies), 12)
        job = await dies._services.worker.claim()
        assert job is not None
    async with opened(tmp_path, chat=ScriptedChat(), clock=clock) as lives:
        assert await lives.work() == 0, "the lease still holds"
        await clock.advance(30 + 5)
        assert len(await lives.jobs.list(stuck_seconds=1)) == 1
        assert await lives.work() == 1
        (done,) = await lives.jobs.list()
        assert (done.id, done.state, done.attempt) == (job.id, JobState.DONE, 2)
        assert await served(conversation(lives)) is not None


async def test_a_lease_far_in_the_future_holds_nobody_up(tmp_path: Path) -> None:
    """A worker whose clock ran ahead died: its lease is longer than any lease, so it counts as over."""
    ahead, clock = FakeClock(), FakeClock()
    ahead.jump(86_400)
    async with opened(tmp_path, clock=clock) as memory:
        await say(conversation(memory), 12)
    async with opened(tmp_path, chat=ScriptedChat(), clock=ahead) as dies:
        assert await dies._services.worker.claim() is not None
    async with opened(tmp_path, chat=ScriptedChat(), clock=clock) as lives:
        await clock.advance(LONG)
        assert await lives.work() == 1


async def test_the_mark_depends_on_the_stores_secret_and_on_the_version(tmp_path: Path) -> None:
    """Whoever knows every id, but not the secret, cannot write the mark; and an old mark closes no new block."""
    one, two = UUID(int=1), UUID(int=2)
    assert len({delimiter(secret, version) for secret in (b"a", b"b") for version in (one, two)}) == 4
    async with opened(tmp_path, chat=ScriptedChat(brief)) as memory:
        session = conversation(memory)
        marks = []
        for start in (0, 12):
            await say(session, 12, start=start)
            await memory.work()
            context = await session.context()
            assert context.coverage.summary_id is not None
            marks.append(delimiter(await memory._services.store.secret(), context.coverage.summary_id))
            assert block(context).startswith(f"<memory {marks[-1]}>\n")
        assert marks[0] != marks[1]


async def test_a_memory_of_your_own_adapters_is_opened_with_plain_arguments(tmp_path: Path) -> None:
    async with Memory.open(
        tmp_path / "m.db", chat_model=ScriptedChat(), worker=False, overrides=Overrides(counter=Quarter())
    ) as memory:
        answer = await memory.session(user="u", session="s").send("hello there")
        assert str(answer).strip() == "You said: hello there"
        assert (tmp_path / "m.db").is_file()
