"""The past, exactly as it was served: contexts, coverage, summaries and messages as of any number or time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from tests.memory.harness import conversation, opened, say, settle, text

from anaphora.domain.context import Context
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Summary
from anaphora.errors import InvalidInput
from anaphora.memory import Session
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

Seen = tuple[Context, Sequence[Summary], Sequence[Message]]
BUDGETS = (300, 4000)


async def look(chat: Session, as_of: int | datetime | None = None) -> list[Seen]:
    return [
        (
            await chat.context("and now?", budget=budget, as_of=as_of),
            tuple(await chat.summaries(as_of=as_of)),
            tuple(await chat.messages(limit=30, as_of=as_of)),
        )
        for budget in BUDGETS
    ]


@pytest.mark.parametrize("strategy", ["rolling_pairs", "sliding_window"])
@pytest.mark.parametrize("seed", range(3))
async def test_every_moment_can_be_looked_at_again_exactly_as_it_was(strategy: str, seed: int, tmp_path: Path) -> None:
    """Whatever came after it: appends, summaries, rebuilds, edits and deletions."""
    random, clock, model = Random(seed), FakeClock(), ScriptedChat()
    by_number: dict[int, list[Seen]] = {}
    by_time: dict[datetime, list[Seen]] = {}
    async with opened(tmp_path, chat=model, clock=clock, strategy=strategy) as memory:
        chat = conversation(memory)
        head = 0
        for _ in range(40):
            match random.choice(["say", "say", "work", "work", "edit", "delete", "rebuild"]):
                case "say":
                    by_number[head] = await look(chat)
                    await say(chat, 4, start=head)
                    head += 4
                case "work":
                    await memory._services.worker.step()
                case "edit" if head:
                    seq = random.randrange(head)
                    if not (await chat.versions(seq))[-1].deleted:
                        await chat.edit(seq, f"#{seq}# said again, take {random.random()}")
                case "delete" if head:
                    await chat.delete(random.randrange(head))
                case "rebuild" if head:
                    await chat.rebuild(from_seq=random.randrange(head))
                case _:
                    pass
            by_time[clock.now()] = await look(chat)
            await clock.advance(1)
        del by_time[clock.now() - timedelta(seconds=1)]
        for number, seen in by_number.items():
            assert await look(chat, number) == seen, f"as of message {number}"
        for time, seen in by_time.items():
            assert await look(chat, time) == seen, f"as of {time}"
            assert await look(chat, time + timedelta(seconds=0.5)) == seen


async def test_as_of_now_is_now_and_before_the_beginning_there_was_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        chat = conversation(memory)
        before = clock.now()
        await clock.advance(10)
        await say(chat, 5)
        now = await chat.context()
        assert await chat.context(as_of=5) == now
        assert await chat.context(as_of=clock.now()) == now
        assert await chat.context(as_of=clock.now() + timedelta(days=1)) == now
        for past in (0, before):
            empty = await chat.context(as_of=past)
            assert (empty.coverage.head, empty.messages, empty.tokens_full_history) == (0, (), 0)
            assert not await chat.messages(as_of=past)


@pytest.mark.parametrize("bad", [-1, 6, True, datetime(2026, 1, 1)])  # noqa: DTZ001 - a naive time is the point
async def test_a_moment_that_is_not_in_the_past_is_refused(bad: int | datetime, tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        await say(chat, 5)
        with pytest.raises(InvalidInput, match="as_of must be"):
            await chat.context(as_of=bad)


async def test_what_was_deleted_since_is_shown_as_of_then(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
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


async def test_after_a_reset_there_is_no_past(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
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
