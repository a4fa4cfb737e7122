"""A memory that rests: the conversation goes on, nothing is learned of it, and nothing of others is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.domain.wire import SectionName
from anaphora.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


async def sections(memory: Memory, session: str, query: str, user: str = "ann") -> set[SectionName]:
    context = await memory.session(user=user, session=session).context(query, budget=2000)
    return {message.section for message in context.messages}


async def contents(memory: Memory, user: str = "ann") -> list[str]:
    return sorted(fact.content for fact in await memory.facts.list(user=user))


async def test_a_pause_lasts_from_when_it_began_until_it_ends_and_twice_is_harmless(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        assert await memory.paused(user="ann") is None
        since = await memory.pause(user="ann")
        assert await memory.pause(user="ann") == await memory.paused(user="ann") == since
        assert await memory.paused(user="bob") is None
        assert [await memory.resume(user="ann"), await memory.resume(user="ann")] == [True, False]
        assert await memory.paused(user="ann") is None


async def test_prompts_hold_nothing_of_facts_and_other_conversations_while_it_rests(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.facts.add("Allergic to walnuts", user="ann", pinned=True)
        await memory.session(user="ann", session="old").add("user", "The walnuts are for the Sunday cake of Olga.")
        await memory.session(user="ann", session="new").add("user", "Good morning, the kettle is on.")
        query = "Which cake of Olga has walnuts?"
        awake = await sections(memory, "new", query)
        assert {SectionName.FACTS, SectionName.RELEVANT} <= awake
        await memory.pause(user="ann")
        resting = await sections(memory, "new", query)
        assert resting.isdisjoint({SectionName.FACTS, SectionName.RELEVANT})
        assert SectionName.RECENT in resting
        await memory.resume(user="ann")
        assert await sections(memory, "new", query) == awake


async def test_what_was_said_while_it_rested_is_never_learned_from(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock, extraction="turn") as memory:
        chat = memory.session(user="ann", session="s")
        await chat.add("user", "I am allergic to peanuts.")
        await chat.add("assistant", "Noted.")
        await memory.work()
        before = await contents(memory)
        assert before
        await clock.advance(60)
        await memory.pause(user="ann")
        await clock.advance(60)
        await chat.add("user", "I live in Lisbon since 2019.")
        await chat.add("assistant", "Lovely.")
        await clock.advance(60)
        await memory.resume(user="ann")
        await chat.end()
        await memory.work()
        assert await contents(memory) == before
        bobs = memory.session(user="bob", session="s")
        await bobs.add("user", "I live in Lisbon since 2019.")
        await bobs.add("assistant", "Lovely.")
        await memory.work()
        assert await contents(memory, "bob")


async def test_erasing_a_user_leaves_no_pause(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.pause(user="ann")
        await memory.erase(user="ann")
        assert await memory.paused(user="ann") is None
