"""What its owner deleted or corrected does not come back from a message that is read again (hole 2.17)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART
from tests.memory.telling import held, tell

from anaphora import Memory
from anaphora.domain.facts import FactState

pytestmark = pytest.mark.anyio

ACTIVE = FactState.ACTIVE


async def learned(memory: Memory) -> str:
    """The id of "Lives in Lisbon", learned from the first message of a session."""
    await tell(memory, "I live in Lisbon.")
    (fact,) = await memory.facts.list(user="ann")
    return str(fact.id)


async def reread(memory: Memory) -> None:
    """The stretch is read again: the answer in it was changed."""
    await memory.session(user="ann", session="s").edit(1, "Noted, thank you.")
    assert await memory.work()


async def test_no_wording_that_a_deleted_fact_ever_had_is_learned_again(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        fact = await learned(memory)
        await memory.facts.edit(fact, user="ann", content="Lives in Porto")
        await memory.facts.delete(fact, user="ann")
        await reread(memory)
        await tell(memory, "I live in Porto.")
        assert await held(memory) == {}


async def test_the_wording_that_was_corrected_is_not_learned_again(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        fact = await learned(memory)
        await memory.facts.edit(fact, user="ann", content="Drinks green tea")
        await memory.facts.edit(fact, user="ann", content="Drinks black tea")
        await reread(memory)
        assert await held(memory) == {"Drinks black tea": ACTIVE}


async def test_what_is_said_as_it_was_corrected_is_one_more_source(tmp_path: Path) -> None:
    """However like the wording that was corrected it is."""
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        await tell(memory, "I love walking with Anna and Bertha along the old harbour.")
        (fact,) = await memory.facts.list(user="ann")
        corrected = fact.content.replace("Anna", "Hanna")
        await memory.facts.edit(fact.id, user="ann", content=corrected)
        await tell(memory, "I love walking with Hanna and Bertha along the old harbour.")
        await reread(memory)
        (kept,) = await memory.facts.list(user="ann")
        assert (kept.id, kept.content, len(kept.sources)) == (fact.id, corrected, 2)


async def test_a_correction_that_is_taken_back_leaves_the_old_wording_to_be_learned(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        fact = await learned(memory)
        await memory.facts.edit(fact, user="ann", content="Drinks black tea")
        await memory.facts.undo(fact, user="ann")
        await memory.session(user="ann", session="s").edit(0, "I live in Lisbon, you know.")
        assert await held(memory) == {}
        await memory.work()
        assert await held(memory) == {"Lives in Lisbon": ACTIVE}


async def test_a_correction_back_to_the_old_wording_or_adding_it_lets_it_be_learned(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        fact = await learned(memory)
        await memory.facts.edit(fact, user="ann", content="Drinks black tea")
        await memory.facts.edit(fact, user="ann", content="Lives in Lisbon")
        await tell(memory, "I live in Lisbon.", session="again")
        (kept,) = await memory.facts.list(user="ann")
        assert len(kept.sources) == 2
        await memory.facts.edit(fact, user="ann", content="Drinks black tea")
        await memory.facts.add("Lives in Lisbon", user="ann")
        await tell(memory, "I live in Lisbon.", session="and again")
        (kept,) = [each for each in await memory.facts.list(user="ann") if "Lisbon" in each.content]
        assert len(kept.sources) == 1
