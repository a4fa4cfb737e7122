"""Who is no member of a subject any more changes nothing that its members read (I11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.domain.facts import Fact, Visibility
from anaphora.errors import InvalidInput

pytestmark = pytest.mark.anyio


async def shared_by_bob(memory: Memory) -> Fact:
    await memory.subjects.create("rex", user="ann", members=["bob"])
    fact = await memory.facts.add("Barks at night", user="bob", subject="rex")
    return await memory.facts.share(fact.id, user="bob")


async def seen_by_ann(memory: Memory) -> list[str]:
    return [fact.content for fact in await memory.facts.list(user="ann", subject="rex")]


async def test_an_undo_shares_nothing_with_a_subject_that_was_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        fact = await shared_by_bob(memory)
        await memory.facts.unshare(fact.id, user="bob")
        await memory.subjects.remove_member("rex", "bob", user="ann")
        with pytest.raises(InvalidInput, match="no member of subject 'rex'"):
            await memory.facts.undo(fact.id, user="bob")
        assert await seen_by_ann(memory) == []
        assert (await memory.facts.get(fact.id, user="bob")).visibility is Visibility.PRIVATE


async def test_what_stays_shared_is_not_changed_by_who_left_until_it_is_unshared(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        fact = await shared_by_bob(memory)
        await memory.subjects.remove_member("rex", "bob", user="ann")
        for change in (
            memory.facts.edit(fact.id, user="bob", content="Owes bob money"),
            memory.facts.edit(fact.id, user="bob", importance=10),
            memory.facts.pin(fact.id, user="bob"),
            memory.facts.add("Barks at night", user="bob", subject="rex", importance=10),
        ):
            with pytest.raises(InvalidInput, match="unshare it"):
                await change
        assert await seen_by_ann(memory) == ["Barks at night"]
        await memory.facts.unshare(fact.id, user="bob")
        await memory.facts.edit(fact.id, user="bob", content="Owes bob money")
        assert await seen_by_ann(memory) == []
        await memory.facts.undo(fact.id, user="bob")
        with pytest.raises(InvalidInput, match="no member"):
            await memory.facts.undo(fact.id, user="bob")
        assert await seen_by_ann(memory) == []
