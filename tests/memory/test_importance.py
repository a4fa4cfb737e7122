"""Facts by importance: what is too unimportant or too much is set aside, counted, listed, and can be taken up (3.10).

A message says how important its facts are called: "I like figs. [3]" makes the script propose importance 3.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART

from anaphora import Memory
from anaphora.domain.facts import Fact, FactAction, FactState, Visibility
from anaphora.domain.keeping import AsideFor
from anaphora.domain.messages import Trust
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ConfigError, InvalidInput, NotFound
from anaphora.memory import Session
from anaphora.settings import load
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio

#: messages of a flood, of eight facts each; what is kept is in proportion
FLOOD = 125 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 25
SAYS = re.compile(r"\[(\d+)\]")


def weighing(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """Facts as important as their messages call them."""
    answer = faithful(messages, schema)
    if schema is None or "facts" not in schema.get("properties", {}):
        return answer
    document = json.loads(answer)
    for fact in document["facts"]:
        called = SAYS.search(fact["quote"])
        fact["importance"] = int(called[1]) if called else 5
        fact["content"] = SAYS.sub("", fact["content"]).strip(" .")
    return json.dumps(document)


def remembering(folder: Path, **options: Any) -> Any:
    return opened(folder, chat=ScriptedChat(weighing), extraction="turn", **APART, **options)


async def say(memory: Memory, *said: str, session: str = "s", user: str = "ann", **how: Any) -> Session:
    """Turns that are read at once."""
    chat = memory.session(user=user, session=session, **how)
    for text in said:
        await chat.add("user", text)
        await chat.add("assistant", "Noted.")
    await memory.work()
    return chat


async def known(memory: Memory, state: FactState = FactState.ACTIVE, user: str = "ann") -> list[str]:
    found = await memory.facts.list(user=user, states=[state], limit=1000)
    return sorted(fact.content.removeprefix("The user likes ") for fact in found)


async def one(memory: Memory, state: FactState = FactState.ASIDE) -> Fact:
    (fact,) = await memory.facts.list(user="ann", states=[state])
    return await memory.facts.get(fact.id, user="ann")


async def actions(memory: Memory, fact: Fact) -> list[FactAction]:
    return [version.action for version in await memory.facts.history(fact.id, user="ann")]


async def everywhere(memory: Memory, word: str) -> bool:
    """Whether a fact stands in a context, or is found; both or neither."""
    context = await memory.session(user="ann", session="new").context(f"What about {word}?", budget=3000)
    shown = any(word in m.content for m in context.messages if m.section is SectionName.FACTS)
    found = any(word in hit.fact.content for hit in (await memory.search(word, user="ann", kinds=["facts"])).facts)
    assert shown == found
    return shown


# -- the least importance ------------------------------------------------------------------------------------------


async def test_what_is_less_important_than_is_asked_for_is_set_aside_with_what_says_it(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [3].", "I like plums [7].")
        assert await known(memory) == ["plums"]
        aside = await one(memory)
        assert (aside.doubt, aside.importance, aside.trust) == ("importance 3 is below 7", 3, Trust.OWNER_SAID)
        assert [source.quote for source in aside.sources] == ["I like figs [3]"]
        assert await actions(memory, aside) == [FactAction.LEARNED]
        assert not await everywhere(memory, "figs")
        assert await everywhere(memory, "plums")
        counts = await memory.facts.counts(user="ann")
        assert (counts.aside, dict(counts.aside_for)) == (1, {AsideFor.IMPORTANCE: 1})
        assert dict(counts.by_state) == {FactState.ACTIVE: 1, FactState.ASIDE: 1}


async def test_everything_is_kept_unless_somebody_asks_for_more(tmp_path: Path) -> None:
    async with remembering(tmp_path) as memory:
        await say(memory, "I like figs [1].")
        for strategy in ("sliding_window", "batch_extraction"):
            await say(memory, f"I like {strategy.partition('_')[0]} plums [1].", session=strategy, strategy=strategy)
        assert len(await known(memory)) == 3
        assert (await memory.facts.counts(user="ann")).aside == 0


async def test_an_agent_may_ask_for_another_importance(tmp_path: Path) -> None:
    agents = {"picky": {"min_importance": 9}, "easy": {"min_importance": 2}}
    async with remembering(tmp_path, facts={"min_importance": 6}, agents=agents) as memory:
        for agent, fruit in (("picky", "figs"), ("easy", "plums"), ("default", "dates")):
            await say(memory, f"I like {fruit} [5].", agent=agent)
            await say(memory, f"I like big {fruit} [8].", agent=agent)
        assert await known(memory) == ["big dates", "big plums", "plums"]
        assert await known(memory, FactState.ASIDE) == ["big figs", "dates", "figs"]


def test_an_importance_or_a_number_that_cannot_be_is_refused() -> None:
    for section in ({"min_importance": 0}, {"min_importance": 11}, {"capacity": 0}, {"per_message": 0}):
        with pytest.raises(ConfigError, match=rf"facts\.{next(iter(section))}"):
            load(facts=section)
    with pytest.raises(ConfigError, match=r"agents\.a\.min_importance"):
        load(agents={"a": {"min_importance": 11}})


async def test_said_again_as_more_important_it_is_taken_up(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [3].")
        await say(memory, "I like figs [4].", session="again")
        aside = await one(memory)
        assert (len(aside.sources), aside.importance, aside.version) == (2, 3, 1)
        await say(memory, "I like figs [8].", session="third")
        taken = await one(memory, FactState.ACTIVE)
        assert (taken.id, taken.importance, taken.doubt, len(taken.sources)) == (aside.id, 8, None, 3)
        assert await actions(memory, taken) == [FactAction.LEARNED, FactAction.TAKEN_UP]
        assert await everywhere(memory, "figs")
        assert await known(memory, FactState.ASIDE) == []


async def test_a_known_fact_stays_when_it_is_said_again_as_less_important(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [8].")
        await say(memory, "I like figs [2].", session="again")
        fact = await one(memory, FactState.ACTIVE)
        assert (fact.importance, len(fact.sources)) == (8, 2)
        assert (await memory.facts.counts(user="ann")).aside == 0


async def test_what_is_set_aside_contradicts_nothing(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I live in Paris [9].")
        await say(memory, "I live in Berlin [3].", session="later")
        assert [fact.content for fact in await memory.facts.list(user="ann")] == ["The user lives in Paris"]
        await say(memory, "I live in Berlin [8].", session="last")
        assert [fact.content for fact in await memory.facts.list(user="ann")] == ["The user lives in Berlin"]


async def test_facts_set_aside_go_with_the_messages_that_say_them(tmp_path: Path) -> None:
    """I12."""
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        chat = await say(memory, "I like figs [3].")
        await chat.delete(0)
        assert await known(memory, FactState.ASIDE) == []


async def test_what_was_deleted_is_not_set_aside(tmp_path: Path) -> None:
    """Hole 2.17."""
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [3].")
        await memory.facts.delete((await one(memory)).id, user="ann")
        await say(memory, "I like figs [3].", "I like figs [9].", session="again")
        assert await memory.facts.list(user="ann", states=list(FactState)) == []


# -- what its owner does -------------------------------------------------------------------------------------------


async def test_the_owner_takes_a_fact_up_and_stands_for_it(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await memory.facts.add("The user lives in Paris", user="ann")
        await say(memory, "I live in Berlin [3].")
        aside = await one(memory)
        for change in (memory.facts.confirm, memory.facts.pin, memory.facts.share):
            with pytest.raises(InvalidInput, match="set aside: take it up first"):
                await change(aside.id, user="ann")
        with pytest.raises(InvalidInput, match="set aside: take it up first"):
            await memory.facts.edit(aside.id, user="ann", importance=9)
        taken = await memory.facts.take_up(str(aside.id), user="ann")
        assert (taken.state, taken.trust, taken.doubt) == (FactState.ACTIVE, Trust.OWNER_CONFIRMED, None)
        assert [fact.content for fact in await memory.facts.list(user="ann")] == ["The user lives in Berlin"]
        with pytest.raises(InvalidInput, match="is not set aside"):
            await memory.facts.take_up(aside.id, user="ann")
        with pytest.raises(NotFound):
            await memory.facts.take_up(aside.id, user="bob")


async def test_taking_a_fact_up_can_be_undone_and_what_it_closed_is_believed_again(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I live in Paris [9].")
        await say(memory, "I live in Berlin [3].", session="later")
        aside = await one(memory)
        await memory.facts.take_up(aside.id, user="ann")
        undone = await memory.facts.undo(aside.id, user="ann")
        assert undone is not None
        assert (undone.state, undone.trust, undone.doubt) == (FactState.ASIDE, Trust.OWNER_SAID, aside.doubt)
        assert [fact.content for fact in await memory.facts.list(user="ann")] == ["The user lives in Paris"]
        assert await memory.facts.undo(aside.id, user="ann") is None
        assert await known(memory, FactState.ASIDE) == []


async def test_setting_aside_can_be_undone_and_opens_nothing_that_was_closed_before(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"capacity": 2}) as memory:
        await say(memory, "I live in Paris [5].")
        await say(memory, "I live in Berlin [5].", session="later")
        await say(memory, "I like figs [6].", "I like plums [6].", session="fruit")
        aside = await one(memory)
        assert (aside.content, aside.doubt) == ("The user lives in Berlin", "more than 2 facts")
        assert await actions(memory, aside) == [FactAction.LEARNED, FactAction.SET_ASIDE]
        again = await memory.facts.undo(aside.id, user="ann")
        assert again is not None
        assert (again.state, again.doubt) == (FactState.ACTIVE, None)
        closed = await memory.facts.list(user="ann", states=[FactState.CLOSED])
        assert [fact.content for fact in closed] == ["The user lives in Paris"]


async def test_taking_up_and_undoing_it_leaves_closed_what_was_closed_before_it_was_set_aside(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"capacity": 2}) as memory:
        await say(memory, "I live in Paris [5].")
        await say(memory, "I live in Berlin [5].", session="later")
        await say(memory, "I like figs [6].", "I like plums [6].", session="fruit")
        aside = await one(memory)
        await memory.facts.take_up(aside.id, user="ann")
        await memory.facts.undo(aside.id, user="ann")
        closed = await memory.facts.list(user="ann", states=[FactState.CLOSED])
        assert [fact.content for fact in closed] == ["The user lives in Paris"]


async def test_adding_what_was_set_aside_takes_that_up(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [3].")
        aside = await one(memory)
        added = await memory.facts.add("the user likes figs.", user="ann", importance=2)
        assert (added.id, added.state, added.trust, added.importance) == (
            aside.id,
            FactState.ACTIVE,
            Trust.OWNER_CONFIRMED,
            3,
        )


async def test_a_fact_is_not_taken_up_beside_its_twin(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [3].")
        aside = await one(memory)
        twin = await memory.facts.add("Grows plums", user="ann")
        await memory.facts.edit(twin.id, user="ann", content="The user likes figs")
        with pytest.raises(InvalidInput, match="says that already"):
            await memory.facts.take_up(aside.id, user="ann")
        assert await one(memory) == aside


async def test_a_shared_fact_that_is_set_aside_is_served_to_no_member(tmp_path: Path) -> None:
    """I11."""
    async with remembering(tmp_path, facts={"capacity": 1}) as memory:
        await memory.subjects.create("joe", user="ann", members=["bob"])
        await say(memory, "Joe likes figs [2].", subject="joe")
        first = (await memory.facts.list(user="ann"))[0]
        await memory.facts.share(first.id, user="ann")
        assert len(await memory.facts.list(user="bob")) == 1
        await say(memory, "Joe likes plums [6].", subject="joe", session="later")
        aside = await one(memory)
        assert (aside.id, aside.visibility) == (first.id, Visibility.SHARED)
        assert await memory.facts.list(user="bob", states=list(FactState)) == []
        with pytest.raises(NotFound):
            await memory.facts.get(aside.id, user="bob")
        assert (await memory.facts.counts(user="bob")).aside == 0
        await memory.facts.take_up(aside.id, user="ann")
        assert [fact.id for fact in await memory.facts.list(user="bob")] == [aside.id]


async def test_facts_set_aside_are_exported_and_come_back_as_they_were(tmp_path: Path) -> None:
    """I13."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with remembering(tmp_path / "a", facts={"min_importance": 7}) as memory:
        await say(memory, "I like figs [3].", "I like plums [8].")
        aside, told = await one(memory), [line async for line in memory.export(user="ann")]
        history = await memory.facts.history(aside.id, user="ann")
    async with remembering(tmp_path / "b") as memory:
        await memory.restore(told)
        back = await one(memory)
        assert (back.id, back.doubt, back.importance) == (aside.id, aside.doubt, 3)
        assert [source.quote for source in back.sources] == [source.quote for source in aside.sources]
        assert await memory.facts.history(aside.id, user="ann") == history
        assert [line async for line in memory.export(user="ann")][:-1] == told[:-1]


# -- floods --------------------------------------------------------------------------------------------------------


async def test_of_one_message_only_so_much_is_kept_and_the_rest_is_listed(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"per_message": 3}) as memory:
        await say(memory, " ".join(f"I like figs number {n} [{4 + n}]." for n in range(5)))
        assert await known(memory) == [f"figs number {n}" for n in (2, 3, 4)]
        aside = await memory.facts.list(user="ann", states=[FactState.ASIDE])
        assert {fact.doubt for fact in aside} == {"more than 3 facts of one message"}
        assert len(aside) == 2
        assert dict((await memory.facts.counts(user="ann")).aside_for) == {AsideFor.SOURCE: 2}


async def test_of_one_session_only_so_much_is_kept_in_a_day(tmp_path: Path) -> None:
    clock = FakeClock()
    async with remembering(tmp_path, clock=clock, facts={"per_session": 3}) as memory:
        await say(memory, *(f"I like figs number {n} [10]." for n in range(5)))
        assert len(await known(memory)) == 3
        await say(memory, "I like plums [10].", session="other")
        assert len(await known(memory)) == 4
        await clock.advance(86_400)
        await say(memory, "I like dates [10].")
        assert len(await known(memory)) == 5
        assert dict((await memory.facts.counts(user="ann")).aside_for) == {AsideFor.SOURCE: 2}


async def test_what_another_session_says_too_does_not_count_against_a_session(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"per_session": 2}) as memory:
        await say(memory, "I like figs [5].", "I like plums [5].")
        await say(memory, "I like figs [5].", session="other")
        await say(memory, "I like dates [5].")
        assert await known(memory) == ["dates", "figs", "plums"]
        await say(memory, "I like limes [5].")
        assert await known(memory, FactState.ASIDE) == ["limes"]
        await say(memory, "I like limes [5].", session="other")
        assert await known(memory) == ["dates", "figs", "limes", "plums"]


async def test_the_capacity_is_one_of_each_owner_and_subject(tmp_path: Path) -> None:
    async with remembering(tmp_path, facts={"capacity": 2}) as memory:
        for n in range(4):
            await say(memory, f"I like figs number {n} [5].", session=f"{n}")
            await say(memory, f"I like figs number {n} [5].", session=f"b{n}", user="bob")
            await say(memory, f"Rex likes figs number {n} [5].", session=f"r{n}", subject="rex")
        assert len(await memory.facts.list(user="ann", subject="")) == 2
        assert len(await memory.facts.list(user="ann", subject="rex")) == 2
        assert len(await memory.facts.list(user="bob")) == 2
        assert (await memory.facts.counts(user="ann")).aside == 4
        assert (await memory.facts.counts(user="ann", subject="rex")).aside == 2


async def test_only_so_much_stays_set_aside_and_what_it_replaced_stays_closed(tmp_path: Path) -> None:
    """Four for each fact that is kept; what goes is not buried: said again, it is learned again."""
    async with remembering(tmp_path, facts={"capacity": 2}) as memory:
        await say(memory, "I live in Paris [1].", session="p")
        await say(memory, "I live in Berlin [1].", session="b")
        for n in range(12):
            await say(memory, f"I like figs number {n} [6].", session=f"{n}")
        counts = await memory.facts.counts(user="ann")
        assert counts.aside <= 8
        gone = [fact.content for fact in await memory.facts.list(user="ann", states=list(FactState))]
        assert "The user lives in Berlin" not in gone
        (closed,) = await memory.facts.list(user="ann", states=[FactState.CLOSED])
        assert (closed.content, closed.superseded_by) == ("The user lives in Paris", None)
        await say(memory, "I live in Berlin [6].", session="again")
        assert "The user lives in Berlin" in [f.content for f in await memory.facts.list(user="ann")]


@pytest.mark.parametrize("many", [False, True], ids=["one session", "many sessions"])
async def test_a_flood_of_important_facts_moves_nothing_that_its_owner_wants(tmp_path: Path, *, many: bool) -> None:
    """Hole 3.10: whoever chats "importance 10" a thousand times evicts what is real."""
    kept: dict[str, Any] = {"capacity": 2 * FLOOD, "per_session": FLOOD, "tokens": 2_000}
    async with remembering(tmp_path, facts=kept, context_budget=8_000) as memory:
        wanted = [await memory.facts.add(f"Owns heirloom {n}", user="ann", importance=1) for n in range(10)]
        await say(memory, *(f"I like pears number {n} [1]." for n in range(10)), session="before")
        said = await memory.facts.list(user="ann", limit=10)
        wanted += [await memory.facts.pin(fact.id, user="ann") for fact in said]
        for session in ("one", "two"):
            await say(memory, "I like tea [2].", session=session)
        for at in range(FLOOD):
            flood = " ".join(f"I like plums number {8 * at + n} [10]." for n in range(8))
            await say(memory, flood, session=f"flood {at * many}")
        active = {fact.id for fact in await memory.facts.list(user="ann", limit=1000)}
        assert {fact.id for fact in wanted} <= active
        assert "tea" in await known(memory), "what several sessions say stays"
        counts = await memory.facts.counts(user="ann")
        assert counts.aside == 8 * FLOOD + 21 - len(active), "nothing is gone"
        if many:
            assert 1.9 * FLOOD - 1 <= len(active) <= 2 * FLOOD
            assert set(counts.aside_for) == {AsideFor.CAPACITY}
        else:
            assert len(active) == FLOOD + 21
            assert set(counts.aside_for) == {AsideFor.SOURCE}
        context = await memory.session(user="ann", session="new").context("What do I own?", budget=8_000)
        (block,) = [m.content for m in context.messages if m.section is SectionName.FACTS]
        assert all(fact.content in block for fact in wanted)
