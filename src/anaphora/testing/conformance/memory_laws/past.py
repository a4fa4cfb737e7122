"""The past, exactly as it was served: contexts, coverage, summaries and messages as of any number or time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from anaphora.domain.context import Context
from anaphora.domain.messages import Message
from anaphora.domain.moments import AsOf
from anaphora.domain.summaries import Summary
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, Session
from anaphora.testing.clock import FakeClock
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import conversation, say, settle, text
from anaphora.testing.scripted import ScriptedChat

Seen = tuple[Context, Sequence[Summary], Sequence[Message]]
BUDGETS = (300, 4000)
STEPS = ("say", "say", "work", "work", "edit", "delete", "rebuild")


async def look(chat: Session, as_of: AsOf | None = None) -> list[Seen]:
    """Everything that is served, in two budgets."""
    return [
        (
            await chat.context("and now?", budget=budget, as_of=as_of),
            tuple(await chat.summaries(as_of=as_of)),
            tuple(await chat.messages(limit=30, as_of=as_of)),
        )
        for budget in BUDGETS
    ]


async def change(memory: Memory, chat: Session, head: int, step: str, random: Random) -> None:
    """Something that changes what is served, but for new messages."""
    if step == "work":
        await memory.work()
    elif head:
        seq = random.randrange(head)
        if step == "rebuild":
            await chat.rebuild(from_seq=seq)
        elif step == "delete":
            await chat.delete(seq)
        elif not (await chat.versions(seq))[-1].deleted:
            await chat.edit(seq, f"#{seq}# said again, take {random.random()}")


async def check_a_life(memory: Memory, clock: FakeClock, seed: int) -> None:
    """Live a random life, look at every step, and look at all of it again at the end."""
    random, chat, head = Random(seed), conversation(memory), 0  # noqa: S311 - no secret
    by_number: dict[int, list[Seen]] = {}
    by_time: dict[datetime, list[Seen]] = {}
    for _ in range(40):
        step = random.choice(STEPS)
        if step == "say":
            by_number[head] = await look(chat)
            await say(chat, 4, start=head)
            head += 4
        else:
            await change(memory, chat, head, step, random)
        by_time[clock.now()] = await look(chat)
        await clock.advance(1)
    assert head
    for number, seen in by_number.items():
        assert await look(chat, number) == seen, f"as of {number} messages"
    for time, seen in by_time.items():
        assert await look(chat, time) == seen, f"as of {time}"
        assert await look(chat, time + timedelta(seconds=0.5)) == seen


class PastLaws(MemoryLaws):
    """Looking at a session as it was."""

    async def test_every_moment_can_be_looked_at_again_exactly_as_it_was(self, tmp_path: Path) -> None:
        """Whatever came after it: appends, summaries, rebuilds, edits and deletions; with either strategy."""
        for seed, strategy in enumerate(("rolling_pairs", "sliding_window")):
            clock, folder = FakeClock(), tmp_path / strategy
            folder.mkdir()
            async with self.opened(folder, chat=ScriptedChat(), clock=clock, strategy=strategy) as memory:
                await check_a_life(memory, clock, seed)

    async def test_as_of_now_is_now_and_before_the_beginning_there_was_nothing(self, tmp_path: Path) -> None:
        """As many messages as there are, this instant and any later one are now."""
        clock = FakeClock()
        async with self.opened(tmp_path, clock=clock) as memory:
            chat = conversation(memory)
            before = clock.now()
            await clock.advance(10)
            await say(chat, 5)
            now = await chat.context()
            for present in (5, clock.now(), clock.now() + timedelta(days=1)):
                assert await chat.context(as_of=present) == now
            for past in (0, before):
                empty = await chat.context(as_of=past)
                assert (empty.coverage.head, empty.messages, empty.tokens_full_history) == (0, (), 0)
                assert not await chat.messages(as_of=past)

    async def test_a_moment_that_is_not_in_the_past_is_refused(self, tmp_path: Path) -> None:
        """More messages than there are, less than none, no number, a time without a zone."""
        async with self.opened(tmp_path) as memory:
            chat = conversation(memory)
            await say(chat, 5)
            for bad in (-1, 6, True, datetime(2026, 1, 1)):  # noqa: DTZ001 - a naive time is the point
                with pytest.raises(InvalidInput):
                    await chat.context(as_of=bad)

    async def test_what_was_deleted_since_is_shown_as_of_then(self, tmp_path: Path) -> None:
        """Each version at its time."""
        clock = FakeClock()
        async with self.opened(tmp_path, clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 4)
            then = clock.now()
            await clock.advance(1)
            await chat.edit(1, "second take")
            between = clock.now()
            await clock.advance(1)
            await chat.delete(1)
            assert [m.content for m in await chat.messages(as_of=then)] == [text(seq) for seq in range(4)]
            assert (await chat.messages(as_of=between))[1].content == "second take"
            assert [m.seq for m in await chat.messages()] == [0, 2, 3]

    async def test_after_a_reset_there_is_no_past(self, tmp_path: Path) -> None:
        """I12: what was before cannot be seen by asking for then."""
        clock = FakeClock()
        async with self.opened(tmp_path, chat=ScriptedChat(), clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 24)
            await settle(memory, clock)
            then = clock.now()
            await clock.advance(1)
            await chat.reset()
            await clock.advance(1)
            await say(chat, 2)
            assert (await chat.context(as_of=then)).messages == ()
            assert not await chat.summaries(as_of=then)
