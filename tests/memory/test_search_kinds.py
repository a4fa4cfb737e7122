"""Search in facts and chunks beside messages: the same question, one snapshot, and only what one may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART, talk

from anaphora import Memory
from anaphora.errors import InvalidInput, UnknownName
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

EVERYTHING = ("messages", "facts", "chunks")


async def filled(memory: Memory, user: str = "ann", agent: str | None = None) -> None:
    session = memory.session(user=user, session="s", agent=agent)
    for number in range(3):
        await talk(session, 1, start=number)
        await memory.work()


async def test_each_kind_is_found_and_only_those_that_were_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await filled(memory)
        found = await memory.search("bananas", user="ann", kinds=EVERYTHING)
        assert found[0].message.content == "I like bananas number 1."
        assert found.facts[0].fact.content == "The user likes bananas number 1"
        assert found[0].message.seq in found.chunks[0].chunk.range
        assert 0 < found.facts[0].relevance <= 1
        for kind in EVERYTHING:
            alone = await memory.search("bananas", user="ann", kinds=[kind])
            there = {"messages": alone.hits, "facts": alone.facts, "chunks": alone.chunks}
            assert [name for name, hits in there.items() if hits] == [kind]
        assert (await memory.search("bananas", user="ann")).facts == ()


async def test_a_fact_is_found_through_the_message_that_it_quotes(tmp_path: Path) -> None:
    """The question shares no word with the fact."""
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "About dessert: I like figs.")
        await session.add("assistant", "Noted.")
        await memory.work()
        found = await memory.search("dessert?", user="ann", kinds=["facts"])
        assert [hit.fact.content for hit in found.facts] == ["The user likes figs"]


async def test_nobody_finds_what_is_another_s(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await filled(memory)
        found = await memory.search("bananas", user="an", kinds=EVERYTHING)
        assert (found.hits, found.facts, found.chunks) == ((), (), ())


async def test_a_session_narrows_all_kinds(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await filled(memory)
        await memory.facts.add("Owns bananas", user="ann")
        found = await memory.search("bananas", user="ann", session="other", kinds=EVERYTHING)
        assert (found.hits, found.facts, found.chunks) == ((), (), ())
        found = await memory.search("bananas", user="ann", session="s", kinds=EVERYTHING)
        assert [hit.fact.content for hit in found.facts][:1] == ["The user likes bananas number 1"]
        assert "Owns bananas" not in {hit.fact.content for hit in found.facts}


async def test_the_limit_is_of_each_kind(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await filled(memory)
        found = await memory.search("which number?", user="ann", limit=2, kinds=EVERYTHING)
        assert (len(found.hits), len(found.facts), len(found.chunks)) == (2, 2, 2)


@pytest.mark.parametrize(("kinds", "error"), [(["fact"], UnknownName), ([], InvalidInput)])
async def test_a_kind_that_there_is_not_is_refused(kinds: list[str], error: type[Exception], tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(error):
            await memory.search("figs", user="ann", kinds=kinds)


async def test_of_one_message_the_fact_that_answers_stands_before_those_that_do_not(tmp_path: Path) -> None:
    """What was said in the same breath has less to do with the question."""
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "I'm allergic to penicillin and I love green tea.")
        await session.add("assistant", "Noted.")
        await memory.work()
        for question, first in (("green tea", "Loves green tea"), ("allergic penicillin", "Allergic to penicillin")):
            best, other = (await memory.search(question, user="ann", kinds=["facts"])).facts
            assert best.fact.content == first
            assert best.relevance > 1.5 * other.relevance > 0


async def test_a_hit_says_what_it_was_found_by(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await filled(memory)
        found = await memory.search("bananas", user="ann", kinds=EVERYTHING)
        best = found.facts[0]
        assert best.words == ("bananas",)
        assert set(best.scores) == {"words", "message"}
        assert best.relevance == max(best.scores.values())
        assert best.hit is not None
        assert (best.hit.key.session, best.hit.message.seq) == ("s", 2)
        assert best.hit.scores == found[0].scores
        (source,) = best.fact.sources
        assert (source.key.session, source.seq, source.quote) == ("s", 2, "I like bananas number 1")
        chunk = found.chunks[0]
        assert chunk.hit.message.seq in chunk.chunk.range
        assert (chunk.hit.key, chunk.hit.relevance) == (chunk.key, chunk.relevance)


async def test_what_was_found_by_its_words_alone_has_its_sources_too(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "I like figs.")
        await session.add("assistant", "Noted.")
        await memory.work()
        (fact,) = await memory.facts.list(user="ann")
        await memory.facts.edit(fact.id, user="ann", content="The user collects stamps")
        (hit,) = (await memory.search("stamps", user="ann", kinds=["facts"])).facts
        assert (hit.hit, dict(hit.scores), hit.words) == (None, {"words": 1.0}, ("stamps",))
        assert [source.seq for source in hit.fact.sources] == [0]


async def test_of_what_others_share_only_the_fact_and_its_author_are_told(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await memory.subjects.create("rex", user="bob", name="Rex", members=["ann"])
        await talk(memory.session(user="bob", session="walk", subject="rex"), 1)
        fact = await memory.facts.add("Eats apples", user="bob", subject="rex")
        await memory.facts.share(fact.id, user="bob")
        await memory.work()
        (hit,) = (await memory.search("apples", user="ann", kinds=["facts"])).facts
        assert (hit.fact.owner, hit.fact.sources, hit.hit, set(hit.scores)) == ("bob", (), None, {"words"})
        assert hit.words == ("apples",)


@pytest.mark.parametrize("query", ["", "  \n"])
async def test_an_empty_query_finds_nothing_and_is_no_mistake(query: str, tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await filled(memory)
        found = await memory.search(query, user="ann", kinds=EVERYTHING)
        assert (found.hits, found.facts, found.chunks) == ((), (), ())
        assert len(await memory.knowledge.search(query, user="ann")) == 0


@pytest.mark.parametrize("limit", ["5", 1.5])
async def test_a_limit_that_is_no_whole_number_is_refused_in_one_line(limit: Any, tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidInput, match=r"^limit must be a whole number from 1 to 200$"):
            await memory.search("figs", user="ann", limit=limit)
