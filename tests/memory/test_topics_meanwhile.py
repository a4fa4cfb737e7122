"""What happens to a session while its topics are followed or described: nothing of it is forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.faults.topics_program import apart
from tests.memory.harness import opened
from tests.memory.test_topics import LUNCH, NETWORKS, no_json, spans, talk

from anaphora.domain.jobs import JobState
from anaphora.domain.summaries import Method
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

SHIFT = "You read a conversation between"


def meanwhile(chat: ScriptedChat, beginning: str, happens: Callable[[], Awaitable[object]]) -> Callable[[], bool]:
    """Let something happen once, while the model is asked by a prompt that begins so; tells whether it did."""
    waiting = [happens]

    async def pause() -> None:
        if waiting and chat.prompts[-1][0].content.startswith(beginning):
            await waiting.pop()()

    chat.pause = pause
    return lambda: not waiting


async def test_a_session_that_ends_while_its_last_messages_are_followed_leaves_no_topic_open(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        happened = meanwhile(chat, SHIFT, session.end)
        await memory.work()
        assert happened()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "described")]


async def test_a_message_that_changes_elsewhere_does_not_leave_a_topic_undescribed(tmp_path: Path) -> None:
    chat = ScriptedChat(apart)
    async with opened(tmp_path, chat=chat, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        happened = meanwhile(chat, "You read one topic", lambda: session.edit(8, "Is there coffee at Waffle House?"))
        await memory.work()
        assert happened()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "open")]


async def test_in_an_outage_a_topic_told_by_rules_does_not_keep_later_ones_from_being_told(tmp_path: Path) -> None:
    clock, chat = FakeClock(), ScriptedChat(no_json)
    async with opened(tmp_path, chat=chat, clock=clock, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        for said in (NETWORKS, LUNCH):
            await talk(session, said)
            await session.end()
            for _ in range(8):
                await memory.work()
                await clock.advance(400)
        topics = [segment.topic for segment in await session.topics()]
        assert [topic.method if topic else None for topic in topics] == [Method.DIGEST, Method.DIGEST]


async def test_what_was_served_long_ago_is_found_behind_however_many_later_topics(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        for number in range(70):
            await session.add("user", f"Message number {number}")
            await session.end()
            await memory.work()
            if number == 1:
                then = await session.context(budget=4000)
        assert (await session.context(budget=4000, as_of=2)).coverage == then.coverage
        assert [job.state for job in await memory.jobs.list(states=[JobState.FAILED])] == []
