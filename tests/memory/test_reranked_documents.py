"""Documents and archived conversations are looked at again by whoever is configured, as messages are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.databases.chosen import database

from anaphora import Memory
from anaphora.agents import Agent
from anaphora.bootstrap import Overrides
from anaphora.domain.wire import SectionName
from anaphora.errors import ModelUnavailable
from anaphora.settings import Settings
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

QUESTION = "Where is the old blue boat?"
OLD, SOLD = "The blue boat is an old boat.", "We sold the boat in May."


class Judge:
    """Fulfils `Reranker`: what has the word is best; does something of its own meanwhile."""

    name = "judge"

    def __init__(self, word: str = "sold") -> None:
        self.word = word
        self.shown: list[Sequence[str]] = []
        self.meanwhile: Callable[[], Any] | None = None

    async def rerank(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:  # noqa: ARG002
        self.shown.append(tuple(passages))
        if self.meanwhile is not None:
            await self.meanwhile()
        return [9.0 if self.word in passage else 0.0 for passage in passages]


class Failing(Judge):
    async def rerank(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:  # noqa: ARG002
        raise ModelUnavailable("the judge is away")


@asynccontextmanager
async def judged(folder: Path, judge: Judge | None, **options: Any) -> AsyncIterator[Memory]:
    settings = Settings(**{**await database(folder), "embedder": "none", "extraction": "none", **options})
    given = Overrides(reranker=judge, chat_model=ScriptedChat())
    async with Memory.open(settings=settings, overrides=given, worker=False) as memory:
        yield memory


async def keep(memory: Memory) -> None:
    for text in (OLD, SOLD):
        await memory.knowledge.add(text, user="al")


async def test_the_judged_best_document_comes_first_even_where_a_limit_would_have_left_it_out(tmp_path: Path) -> None:
    async with judged(tmp_path, Judge()) as memory:
        await keep(memory)
        found = await memory.knowledge.search(QUESTION, user="al")
        assert [hit.chunk.text for hit in found] == [SOLD, OLD]
        assert found[0].scores["rerank"] == 9
        assert found[0].score == pytest.approx(sum(found[0].scores.values()))
        assert [hit.chunk.text for hit in await memory.knowledge.search(QUESTION, user="al", limit=1)] == [SOLD]


async def test_without_anybody_documents_stay_in_the_order_of_the_search(tmp_path: Path) -> None:
    async with judged(tmp_path, None) as memory:
        await keep(memory)
        found = await memory.knowledge.search(QUESTION, user="al")
        assert [hit.chunk.text for hit in found] == [OLD, SOLD]
        assert all("rerank" not in hit.scores for hit in found)


async def test_whoever_judges_documents_badly_changes_nothing_and_the_answer_says_so(tmp_path: Path) -> None:
    async with judged(tmp_path, Failing()) as memory:
        await keep(memory)
        found = await memory.knowledge.search(QUESTION, user="al")
        assert ([hit.chunk.text for hit in found], "rerank" in found.degraded) == ([OLD, SOLD], True)


async def test_no_connection_is_held_while_somebody_judges_documents(tmp_path: Path) -> None:
    """On a server there is one connection: whoever judges uses it."""
    judge = Judge()
    async with judged(
        tmp_path, judge, postgres={"connections": 1}, busy_timeout=2, rerank_timeout=20, **archiving()
    ) as memory:
        await keep(memory)
        await archive(memory)
        judge.meanwhile = lambda: memory.session(user="al", session="meanwhile").add("user", "Hello")
        assert "sold" in (await memory.knowledge.search(QUESTION, user="al"))[0].chunk.text
        context = await memory.session(user="al", session="new").context("What did we discuss about the boat?")
        assert "rerank" not in context.degraded
        assert len(judge.shown) > 1


def archiving(**recall: Any) -> dict[str, Any]:
    return {
        "strategy": "token_budget",
        "token_budget": {"threshold_tokens": 400, "recent_messages_to_keep": 2, "archive_conversations": True},
        "recall": {"sessions": False, "conversations": True, "conversation_threshold": 0.1, **recall},
    }


async def archive(memory: Memory, agent: str = "default") -> None:
    for name, text in (("first", "The old boat is blue"), ("second", "We sold the boat in May")):
        chat = memory.session(user="al", agent=agent, session=name)
        await chat.add("user", f"Decision: {text}")
        await chat.add("assistant", "Noted.")
        await chat.end()
    await memory.work()


async def test_of_archived_conversations_the_judged_best_have_the_room(tmp_path: Path) -> None:
    told: list[str] = []
    for judge in (None, Judge()):
        async with judged(tmp_path, judge, **archiving(conversation_limit=1, triggers=[])) as memory:
            if not told:
                await archive(memory)
            context = await memory.session(user="al", session="new").context(QUESTION)
            told.append("".join(each.content for each in context.messages if each.section is SectionName.CONVERSATIONS))
    assert ("blue" in told[0], "sold" in told[0]) == (True, False)
    assert ("blue" in told[1], "sold" in told[1]) == (False, True)


async def test_nobody_is_asked_about_archived_conversations_that_are_not_relevant(tmp_path: Path) -> None:
    judge = Judge()
    async with judged(tmp_path, judge, **archiving(conversation_threshold=0.99)) as memory:
        await archive(memory)
        await memory.session(user="al", session="new").context(QUESTION)
    assert judge.shown == []


async def test_the_tool_of_an_agent_gives_the_judged_best_first(tmp_path: Path) -> None:
    config = {
        "agent_id": "k",
        "resources": ["memory", "knowledge_base"],
        "resource_config": {
            "memory": {"compression": {"archive_conversations": True}},
            "knowledge_base": {"enable_cross_session_context": True},
        },
    }
    options: dict[str, Any] = {**await database(tmp_path), "embedder": "none", "extraction": "none"}
    settings, given = Settings(**options), Overrides(reranker=Judge())
    async with Agent.from_config(
        config, user="al", session="1", settings=settings, overrides=given, chat_model=ScriptedChat(), worker=False
    ) as agent:
        await agent.chat("Hello")
        assert agent.memory is not None
        await keep(agent.memory)
        await archive(agent.memory, agent="k")
        assert "sold" in (await agent.search_knowledge_base(QUESTION, "documents"))[0]["text"]
        found = await agent.search_knowledge_base(QUESTION)
        for kind in ("conversation", "message"):
            first, *_ = [each["text"] for each in found if each["type"] == kind]
            assert "sold" in first
