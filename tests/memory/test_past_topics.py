"""Topics of earlier sessions: the closest are found wherever they are, and none tells what was deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.databases.chosen import database
from tests.memory.harness import opened
from tests.memory.test_topic_batches import Counting
from tests.memory.test_topics import talk

from anaphora import Context, Memory
from anaphora.bench.hashing import HashingEmbedder
from anaphora.bootstrap import Overrides
from anaphora.domain.wire import SectionName
from anaphora.prompts.topic_summary import TITLE as SUMMARY
from anaphora.settings import Settings
from anaphora.testing.conformance.memory_laws.conversations import OPTIONS, QUARTER
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

PEARS = "When do pears want pruning in orchards?"


class Pears(HashingEmbedder):
    """Knows pears from everything else."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [(1.0, *[0.0] * 7) if "pears" in text else (0.0, 1.0, *[0.0] * 6) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed([text])[0]


def past(context: Context) -> str:
    return "".join(message.content for message in context.messages if message.section is SectionName.TOPICS)


async def tell(memory: Memory, session: str, *said: str, strategy: str = "topics") -> None:
    """Each of them a topic of its own, where the session keeps topics."""
    there = memory.session(user="ann", session=session, strategy=strategy)
    for text in said:
        await talk(there, [text])
        await there.end()
        await memory.work()


async def test_the_closest_topic_comes_back_from_a_session_of_many(tmp_path: Path) -> None:
    others = [f"Remark number {number} is about harbour {number}" for number in range(20)]
    async with opened(tmp_path, chat=ScriptedChat()) as memory:
        await tell(memory, "old", PEARS, *others, "Some pears are green")
        context = await memory.session(user="ann", session="new", strategy="topics").context(PEARS)
        assert "When do pears want" in past(context)


async def test_sessions_that_keep_no_topics_take_no_place_of_those_that_do(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat()) as memory:
        await tell(memory, "old", f"{PEARS} I mean those behind the house")
        for number in range(9):
            await tell(memory, f"plain {number}", PEARS, strategy="sliding_window")
        context = await memory.session(user="ann", session="new", strategy="topics").context(PEARS)
        assert "When do pears want" in past(context)


async def test_a_topic_is_found_by_its_summary_though_no_message_of_it_is(tmp_path: Path) -> None:
    described = json.dumps({"name": "Fruit trees", "summary": PEARS})
    segments = json.dumps({"topics": [{"first": 0, "name": "", "summary": ""}]})
    chat = ScriptedChat(Counting(**{SUMMARY: described, "topic_segments": segments}))
    settings = Settings(**{**await database(tmp_path), **OPTIONS})
    given = Overrides(chat_model=chat, counter=QUARTER, embedder=Pears(8))
    async with Memory.open(settings=settings, overrides=given, worker=False) as memory:
        await tell(memory, "old", "They bear so late, and the old ladder broke")
        plain = memory.session(user="ann", session="plain", strategy="sliding_window")
        for number in range(60):
            await plain.add("user", f"{PEARS} {number}")
        await memory.work()
        for agent, found in ((None, True), ("stranger", False)):
            names = {} if agent is None else {"agent": agent}
            session = memory.session(user="ann", session="new", strategy="topics", **names)
            assert ("Fruit trees" in past(await session.context(PEARS))) is found


async def test_what_was_deleted_is_not_told_by_a_topic_that_waits_for_another_description(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat()) as memory:
        await tell(memory, "old", PEARS)
        new = memory.session(user="ann", session="new", strategy="topics")
        assert "pruning" in past(await new.context(PEARS))
        await memory.session(user="ann", session="old").delete(0)
        context = await new.context(PEARS)
        assert past(context) == ""
        assert context.degraded == ()
