"""Topics in `chat`: what is said of them and of the session's strategy, and what is left to do when a talk ends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.test_chat import a_model, elsewhere, settings, talked

from anaphora import Memory
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.topics import Segment
from anaphora.testing.faults import Timeout
from anaphora.testing.model_server import ScriptedModelServer

__all__ = ["elsewhere"]

pytestmark = pytest.mark.anyio

NONE = "This session keeps no topics"


async def topics() -> list[Segment]:
    async with Memory.open(settings=settings(), worker=False) as memory:
        return list(await memory.topics.list(user="mara"))


async def test_a_new_session_of_topics_has_none_yet() -> None:
    shown = await talked(settings(), "/topics", strategy="topics")
    assert "There are no topics yet: nothing was said." in shown
    assert NONE not in shown


async def test_topics_are_shown_as_they_are_talked_about() -> None:
    shown = await talked(settings(), "My violin is in the attic.", "/topics", strategy="topics")
    assert "messages 0 · open · what is talked about now" in shown


@pytest.mark.parametrize("how", [{}, {"session": "1", "strategy": "topics"}])
async def test_a_session_of_another_strategy_says_which_one_it_is(how: dict[str, Any]) -> None:
    await talked(settings(), "one")
    shown = await talked(settings(), "/topics", **how)
    assert f"{NONE}: its strategy is rolling_pairs. New ones do with `chat --strategy topics`." in shown


@pytest.mark.parametrize("how", [{"session": "1"}, {"resume": True}])
async def test_a_strategy_that_does_not_apply_is_told(how: dict[str, Any]) -> None:
    await talked(settings(), "one")
    told = "Session 1 keeps its strategy, rolling_pairs: --strategy topics is for new sessions."
    assert told in await talked(settings(), "two", strategy="topics", **how)
    assert "keeps its strategy" not in await talked(settings(), strategy="rolling_pairs", **how)
    assert "keeps its strategy" not in await talked(settings(), strategy="topics", session="new")


async def test_without_a_model_the_topics_of_a_session_that_ended_are_described_before_the_talk_is_over() -> None:
    shown = await talked(settings(), "My violin is in the attic.", "It is red.", strategy="topics")
    assert [segment.state for segment in await topics()] == ["described"]
    assert "queued" not in shown


async def test_work_that_is_left_when_the_talk_ends_is_told_with_the_command_that_does_it() -> None:
    with ScriptedModelServer() as server, ScriptedModelServer() as slow:
        slow.fault = Timeout()
        how = a_model(server, memory_base_url=slow.base_url, extraction="turn")
        shown = await talked(how, "My violin is in the attic.", strategy="topics")
    assert " queued: `anaphora worker --drain` " in shown


async def test_compact_says_that_a_topic_waits_for_a_model() -> None:
    shown = await talked(settings(), "My violin is in the attic.", "/compact", strategy="topics")
    assert "closed the topic of messages 0" in shown
    assert "goes on in the background" not in shown
    assert "a language model is waited for" in shown
    async with Memory.open(settings=settings(), worker=False) as memory:
        jobs = await memory.jobs.list(states=[JobState.QUEUED])
    assert [job.kind for job in jobs if job.needs_model] == [JobKind.DESCRIBE]


async def test_an_empty_notepad_says_why() -> None:
    said = "Nothing is noted: no page is written without a language model, and none is configured."
    assert said in await talked(settings(), "/notepad")
