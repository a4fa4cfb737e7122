"""Doubts about topics are settled by a model, many in one call, which says what the ended topics were about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.test_topics import BACK, LUNCH, NETWORKS, accounted, jobs, spans, talk, titled

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.wire import PromptMessage
from anaphora.prompts.reflection import TITLE as REFLECTION
from anaphora.prompts.topic_segments import TITLE
from anaphora.prompts.topic_summary import TITLE as SUMMARY
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio

PLANTS = ("I need a new plant for my dark office now", "Is a fern a good plant for a dark office?")
ONE_TOPIC = json.dumps({"topics": [{"first": 0, "name": "", "summary": ""}]})


class Counting:
    """Answers faithfully, and remembers what it was asked for."""

    def __init__(self, **answers: str) -> None:
        self.titles: list[str] = []
        self.answers = answers

    def __call__(self, messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        title = str((schema or {}).get("title"))
        self.titles.append(title)
        return self.answers.get(title) or faithful(messages, schema)


async def test_a_doubt_is_settled_by_the_model_and_certainty_asks_nobody(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting(topic_segments=ONE_TOPIC))
    async with opened(tmp_path, chat=chat, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, NETWORKS)
        await memory.work()
        assert TITLE not in script.titles
        await talk(session, LUNCH)
        await memory.work()
        assert script.titles.count(TITLE) >= 1
        assert spans(await session.topics()) == [(0, 10, "open")], "the model says that it is the same matter"


async def test_a_model_that_gives_no_verdict_leaves_it_to_the_rules(tmp_path: Path) -> None:
    chat = ScriptedChat(titled("topic_segments", "maybe"))
    async with opened(tmp_path, chat=chat, strategy="topics", topics={"alone": 0.45}) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "open")]
        assert [job.state for job in await jobs(memory, JobKind.FOLLOW)] == [JobState.DONE]


async def test_doubts_wait_for_each_other_and_one_call_settles_and_describes_them(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting())
    async with opened(tmp_path, chat=chat, strategy="topics", topics={"batch": 8}) as memory:
        session = memory.session(user="ann", session="s")
        for said in (*NETWORKS, *LUNCH, PLANTS[0]):
            await talk(session, [said])
            await memory.work()
        assert (spans(await session.topics()), script.titles) == ([(0, 12, "open")], []), "nobody was asked yet"
        context = await session.context("And?", budget=4000)
        accounted(context, 12)
        await talk(session, PLANTS[1:])
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "described"), (10, 14, "open")]
        assert script.titles == [TITLE]
        (_, lunch, networks) = await session.topics()
        assert lunch.topic is not None
        assert networks.topic is not None
        assert (networks.topic.name, lunch.topic.name) == ("I want to learn", "By the way, I")


async def test_a_topic_that_ended_with_a_return_waits_too_and_is_described_in_the_one_call(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting())
    options = {"batch": 8, "doubt": 0.0, "alone": 0.0}
    async with opened(tmp_path, chat=chat, strategy="topics", topics=options) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, NETWORKS)
        await session.end()
        await memory.work()
        before = len(script.titles)
        await talk(session, (*PLANTS, BACK))
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 12, "open")]
        await talk(session, NETWORKS)
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "described"), (10, 18, "open")]
        assert script.titles[before:] == [TITLE]


async def test_the_end_of_a_session_settles_what_waits(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting())
    async with opened(tmp_path, chat=chat, strategy="topics", topics={"batch": 48}) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        await session.end()
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "described")]
        assert script.titles == [TITLE, REFLECTION]


async def test_a_return_that_waits_is_brought_back_all_the_same_and_continues_its_topic(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat, strategy="topics", topics={"batch": 12}) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        await session.end()
        await memory.work()
        await talk(session, (*PLANTS, LUNCH[0], LUNCH[1], BACK))
        await memory.work()
        await session.end()
        await memory.work()
        now, lunch, *_, networks = await session.topics()
        assert networks.topic is not None
        assert lunch.topic is not None
        assert now.continues == networks.topic.id == lunch.topic.leads_to


@pytest.mark.parametrize(
    "description",
    [{"name": "", "summary": ""}, {"name": "Lunch", "summary": "I'm sorry, but I can't help with that."}],
    ids=["none", "a refusal"],
)
async def test_a_topic_of_which_nothing_fit_was_said_is_described_by_itself(
    tmp_path: Path, description: Mapping[str, str]
) -> None:
    topics = [{"first": 0, **description}, {"first": 6, "name": "", "summary": ""}]
    chat = ScriptedChat(script := Counting(topic_segments=json.dumps({"topics": topics})))
    async with opened(tmp_path, chat=chat, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, LUNCH[0]))
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 8, "open")]
        assert script.titles == [TITLE, SUMMARY]


async def test_a_description_that_reaches_beyond_its_topic_is_not_kept(tmp_path: Path) -> None:
    """The rules end a topic at its length, whatever the model says of it."""
    topics = [{"first": 0, "name": "All of it", "summary": "Everything that was said."}]
    chat = ScriptedChat(Counting(topic_segments=json.dumps({"topics": topics})))
    async with opened(tmp_path, chat=chat, strategy="topics", topics={"batch": 4, "most_characters": 500}) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        assert all(
            each.topic is None or each.topic.summary != "Everything that was said." for each in await session.topics()
        )
