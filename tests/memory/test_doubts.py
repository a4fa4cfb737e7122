"""What contradicts the owner's word waits for the owner, however often it is said and whoever proposes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART
from tests.memory.telling import held, replacing, tell

from anaphora.domain.facts import FactState
from anaphora.domain.wire import SectionName
from anaphora.rules.facts.merging import DOUBT, UNLIKE

pytestmark = pytest.mark.anyio

ACTIVE, REVIEW, CLOSED = FactState.ACTIVE, FactState.REVIEW, FactState.CLOSED


@pytest.mark.parametrize("pinned", [True, False])
async def test_a_contradiction_of_the_owner_s_word_waits_however_often_it_is_said(
    tmp_path: Path, *, pinned: bool
) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        await memory.facts.add("Lives in Lisbon", user="ann", pinned=pinned)
        for session, text in enumerate(("I live in Faro.", "Remember, I live in Faro.", "Well, I live in Faro.")):
            await tell(memory, text, session=f"s{session}")
            assert await held(memory) == {"Lives in Lisbon": ACTIVE, "Lives in Faro": REVIEW}
        (doubtful,) = await memory.facts.review(user="ann")
        assert (doubtful.doubt, len(doubtful.sources)) == (DOUBT, 3)
        context = await memory.session(user="ann", session="later").context("Where do I live?")
        shown = "".join(message.content for message in context.messages if message.section is SectionName.FACTS)
        assert "Lisbon" in shown
        assert "Faro" not in shown


async def test_a_pin_on_what_was_learned_holds_against_what_is_said_twice(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        await tell(memory, "I live in Lisbon.")
        (fact,) = await memory.facts.list(user="ann")
        await memory.facts.pin(fact.id, user="ann")
        for _ in range(2):
            await tell(memory, "I live in Faro.")
        assert await held(memory) == {"Lives in Lisbon": ACTIVE, "Lives in Faro": REVIEW}


async def test_what_waited_for_nothing_any_more_is_believed_when_it_is_said_again(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        old = await memory.facts.add("Lives in Lisbon", user="ann")
        await tell(memory, "I live in Faro.")
        await memory.facts.delete(old.id, user="ann")
        await tell(memory, "I live in Faro.")
        (fact,) = await memory.facts.list(user="ann")
        assert (fact.content, fact.doubt) == ("Lives in Faro", None)


async def test_what_is_believed_when_it_is_said_again_closes_what_it_contradicts(tmp_path: Path) -> None:
    """Nobody stands for the old one any more: it was unpinned meanwhile."""
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        await tell(memory, "I live in Lisbon.")
        (fact,) = await memory.facts.list(user="ann")
        await memory.facts.pin(fact.id, user="ann")
        await tell(memory, "I live in Faro.")
        await memory.facts.unpin(fact.id, user="ann")
        await tell(memory, "I live in Faro.")
        assert await held(memory) == {"Lives in Lisbon": CLOSED, "Lives in Faro": ACTIVE}


async def test_what_a_model_would_have_replace_the_owner_s_word_waits_however_often_it_is_said(tmp_path: Path) -> None:
    """The second time the model names nothing: what it named before still stands."""
    async with opened(tmp_path, chat=replacing(rowing="sport"), extraction="turn", **APART) as memory:
        await memory.facts.add("Plays no sport at all", user="ann")
        await tell(memory, "I play in a rowing team.")
        for session in ("again", "and again"):
            await tell(memory, "I play in a rowing team.", session=session)
        assert await held(memory) == {"Plays no sport at all": ACTIVE, "The user plays in a rowing team": REVIEW}


async def test_adding_what_waits_closes_what_it_contradicts(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        old = await memory.facts.add("Lives in Lisbon", user="ann")
        await tell(memory, "I live in Faro.")
        new = await memory.facts.add("Lives in Faro", user="ann")
        assert await held(memory) == {"Lives in Lisbon": CLOSED, "Lives in Faro": ACTIVE}
        assert (await memory.facts.get(old.id, user="ann")).superseded_by == new.id
        await memory.facts.undo(new.id, user="ann")
        assert await held(memory) == {"Lives in Lisbon": ACTIVE, "Lives in Faro": REVIEW}


async def test_an_edit_closes_what_it_contradicts_until_it_is_undone(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.facts.add("Lives in Lisbon", user="ann", pinned=True)
        tea = await memory.facts.add("Likes tea", user="ann")
        await memory.facts.edit(tea.id, user="ann", content="Lives in Faro")
        assert await held(memory) == {"Lives in Lisbon": CLOSED, "Lives in Faro": ACTIVE}
        await memory.facts.undo(tea.id, user="ann")
        assert await held(memory) == {"Lives in Lisbon": ACTIVE, "Likes tea": ACTIVE}


async def test_a_model_that_names_anything_as_replaced_closes_nothing_and_the_new_fact_waits(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=replacing(chess="figs"), extraction="turn", **APART) as memory:
        await tell(memory, "I like figs.")
        for session in ("one", "two"):
            await tell(memory, "I play chess.", session=session)
        assert await held(memory) == {"The user likes figs": ACTIVE, "The user plays chess": REVIEW}
        (doubtful,) = await memory.facts.review(user="ann")
        assert doubtful.doubt == UNLIKE
