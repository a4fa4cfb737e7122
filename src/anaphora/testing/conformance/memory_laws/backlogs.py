"""Holes 0.11 and 0.12, I9, I10: much to do, or a model that must not be asked: bounded prompts, few calls."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from anaphora.domain.jobs import JobState
from anaphora.errors import ModelUnavailable
from anaphora.testing.clock import FakeClock
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import (
    brief,
    check_account,
    conversation,
    down,
    entries,
    say,
    served,
    text,
)
from anaphora.testing.scripted import ScriptedChat


class BacklogLaws(MemoryLaws):
    """Much to do, or a model that must not be asked."""

    async def test_a_backlog_of_a_thousand_messages_drains_in_bounded_prompts(self, tmp_path: Path) -> None:
        """Hole 0.11, I9: batch after batch, each message in exactly one prompt, no prompt larger than it may be."""
        chat = ScriptedChat(brief)
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            await say(session, 1000, roles=("user",))
            assert await memory.jobs.live() == 1
            assert await memory.work() == len(chat.prompts) == 25
            assert [entry["n"] for prompt in chat.prompts for entry in entries(prompt)] == list(range(992))
            assert max(len(entries(prompt)) for prompt in chat.prompts) == 40
            assert max(sum(m.tokens for m in prompt) for prompt in chat.prompts) < 6000 + 150 + 600
            newest = await served(session)
            assert newest is not None
            assert newest.range.stop == 992
            assert newest.tokens <= 150
            check_account(await session.context(), 1000)

    async def test_a_backlog_of_long_messages_drains_in_bounded_prompts(self, tmp_path: Path) -> None:
        """I10: long messages come in smaller batches, and one that is too long for any prompt is cut in the prompt."""
        chat = ScriptedChat(brief)
        async with self.opened(tmp_path, chat=chat, worker={"input_tokens": 2000}) as memory:
            session = conversation(memory)
            for seq in range(60):
                size = 100_000 if seq == 20 else 400 * (seq % 7)
                await session.add("user", f"{text(seq)} " + "lorem " * (size // 6))
            await memory.work()
            newest = await served(session)
            assert newest is not None
            assert 52 - 8 < newest.range.stop <= 52, "less than what is worth a call may wait"
            sizes = [sum(m.tokens for m in prompt) for prompt in chat.prompts]
            assert max(sizes) < 2000 + 150 + 600
            assert len(chat.prompts) < 30
            cut = [
                entry["n"] for prompt in chat.prompts for entry in entries(prompt) if "left out here" in entry["text"]
            ]
            assert cut == [20], "what fits into a smaller batch is shown whole"

    async def test_a_rate_limit_is_waited_out(self, tmp_path: Path) -> None:
        """Hole 0.12: not asked again before the time that the server named, however often somebody looks or writes."""
        clock = FakeClock()

        def limited(*_: object) -> str:
            raise ModelUnavailable("429", retry_after=77)

        chat = ScriptedChat(limited)
        async with self.opened(tmp_path, chat=chat, clock=clock) as memory:
            session = conversation(memory)
            await say(session, 12)
            await memory.work()
            (job,) = await memory.jobs.list()
            assert job.run_at == clock.now() + timedelta(seconds=77)
            chat.script = brief
            for seq in range(12, 19):
                await clock.advance(11)
                await say(session, 1, start=seq)
                assert await memory.work() == (1 if seq == 18 else 0)
            assert len(chat.prompts) == 2

    async def test_pauses_between_attempts_grow(self, tmp_path: Path) -> None:
        """Hole 0.12: five calls in all, then a digest; not one call for every message."""
        clock = FakeClock()
        chat = ScriptedChat(down)
        async with self.opened(tmp_path, chat=chat, clock=clock) as memory:
            session = conversation(memory)
            await say(session, 12)
            waits = []
            while (await memory.jobs.list())[-1].state is not JobState.FAILED:
                await memory.work()
                await say(session, 1, start=(await session.context()).coverage.head)
                (job, *_) = [job for job in await memory.jobs.list() if job.kind == "summarise"]
                waits.append((job.run_at - clock.now()).total_seconds())
                await clock.advance(max(0.0, waits[-1]))
            assert len(chat.prompts) == 5
            assert [1 <= waits[0] <= 2, 2 <= waits[1] <= 4, 4 <= waits[2] <= 8, 8 <= waits[3] <= 16] == [True] * 4
