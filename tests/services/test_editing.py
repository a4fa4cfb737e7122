"""Edits are versions, deletions are tombstones; what was made of them is served until it is made anew (0.6, 0.21)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import block, conversation, opened, say, served, settle, text

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import NewMessage, Role
from anaphora.domain.summaries import SummaryStatus
from anaphora.memory import Memory, Session
from anaphora.services.importing.into_log import IntoLog
from anaphora.services.importing.run import import_conversations
from anaphora.services.importing.values import ImportedConversation
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def live(memory: Memory) -> list[tuple[JobKind, int | None]]:
    jobs = await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING])
    return sorted((job.kind, job.from_seq) for job in jobs)


async def status(session: Session) -> SummaryStatus | None:
    found = await served(session)
    return found.status if found else None


async def test_a_long_message_is_found_in_the_index_by_its_beginning(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        long = [" ".join(f"w{at}x{n}" for n in range(500)) for at in range(3)]
        for said in [*long, "x" * 5000, long[0]]:
            await chat.add("user", said)
        for seq in range(5):
            await chat.edit(seq, f"short{seq} now")
        assert not await memory.search("w0x7 w1x7 w2x7", user="u")
        assert [h.message.seq for h in await memory.search("short4", user="u")] == [4]


async def test_edits_during_a_rebuild_begin_it_again_from_the_earliest(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock, worker={"batch_messages": 4}) as memory:
        chat = conversation(memory)
        await say(chat, 60)
        await settle(memory, clock)
        await chat.rebuild(from_seq=20)
        for _ in range(2):
            await memory._services.worker.step()
        await chat.edit(9, "#9# corrected is what was said")
        await chat.edit(30, "#30# mended is what was said")
        assert await live(memory) == [(JobKind.REBUILD, 9)]
        await settle(memory, clock)
        said = block(await chat.context(budget=100_000))
        assert "word9 " not in said
        assert "word30 " not in said
        assert await status(chat) is SummaryStatus.COMPLETED


async def test_what_carries_a_stale_version_on_is_stale(tmp_path: Path) -> None:
    """A summary that grows before the rebuild had its turn does not hide what is wrong with it."""
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 24)
        await settle(memory, clock)
        await say(chat, 24, start=24)
        await chat.edit(0, "#0# corrected is what was said")
        worker = memory._services.worker
        while (job := await worker.claim()) is not None and job.kind is JobKind.REBUILD:
            await memory._services.store.write(
                job.tenant,
                lambda unit, job=job: unit.jobs.withdraw(job.tenant, job.id, now=clock.now()),  # type: ignore[misc]
            )
        assert job is not None
        await worker.do(job)
        assert await status(chat) is SummaryStatus.STALE
        assert (JobKind.REBUILD, 0) in await live(memory)
        await settle(memory, clock)
        assert await status(chat) is SummaryStatus.COMPLETED
        assert "word0 " not in block(await chat.context(budget=100_000))


async def test_importing_again_brings_no_deleted_message_back(tmp_path: Path) -> None:
    item = ImportedConversation(
        user="u",
        session="s",
        started_at=None,
        messages=tuple(NewMessage(role=Role.USER, content=text(seq)) for seq in range(4)),
        turns="single",
        where="",
        file="f",
        source="import:openai",
    )
    async with opened(tmp_path) as memory:
        log = IntoLog(memory._services.ingest)

        async def bring() -> int:
            report = await import_conversations(log, [item], default_user=None, agent="a", tenant="t")
            return report.messages

        assert await bring() == 4
        chat = conversation(memory)
        await chat.delete(3)
        await chat.edit(0, "other", metadata={"mine": 1})
        assert await bring() == 0
        assert [m.seq for m in await chat.messages()] == [0, 1, 2]


async def test_a_reset_takes_the_old_versions_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        await chat.add("user", "the purple secret")
        await chat.edit(0, "nothing")
        await chat.add("user", "the orange secret")
        await chat.delete(1)
        await chat.reset()
        assert (await chat.context()).coverage.deleted == ()
    for path in tmp_path.iterdir():
        assert b"purple" not in path.read_bytes()
        assert b"orange" not in path.read_bytes()
