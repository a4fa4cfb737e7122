"""In a session about a subject, what users say of themselves is theirs, and what they say of the subject is its."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART
from tests.memory.telling import held, tell

from anaphora.domain.facts import FactState
from anaphora.domain.wire import SectionName
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("chat", [None, ScriptedChat()], ids=["without a model", "with a model"])
async def test_what_users_say_of_themselves_is_not_known_of_the_subject(tmp_path: Path, chat: Any) -> None:
    async with opened(tmp_path, chat=chat, extraction="turn", **APART) as memory:
        await memory.subjects.create("rex", user="ann", name="Rex the dog", members=["bob"])
        await tell(memory, "I live in Lisbon and I like figs.", subject="rex")
        assert await memory.facts.list(user="ann", subject="rex") == []
        mine = await held(memory, subject="")
        assert any("ives in Lisbon" in content for content in mine)
        context = await memory.session(user="ann", session="s", subject="rex").context("Where do I live?")
        (block,) = [message for message in context.messages if message.section is SectionName.FACTS]
        assert "Known facts about ann" in block.content
        assert "Rex" not in block.content


async def test_what_is_said_of_the_subject_is_kept_under_it(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        await memory.subjects.create("rex", user="ann", name="Rex the dog", members=["bob"])
        await tell(memory, "Rex likes bones. I like figs.", subject="rex")
        assert await held(memory, subject="rex") == {"Rex likes bones": FactState.ACTIVE}
        assert await held(memory, subject="") == {"The user likes figs": FactState.ACTIVE}


async def test_a_home_of_the_user_is_one_whatever_the_session_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path, extraction="turn", **APART) as memory:
        await tell(memory, "I live in Lisbon.")
        await tell(memory, "I live in Faro.", session="walk", subject="rex")
        await tell(memory, "I live in Faro.", session="later")
        assert await held(memory) == {"Lives in Lisbon": FactState.CLOSED, "Lives in Faro": FactState.ACTIVE}
        (home,) = await memory.facts.list(user="ann")
        assert [source.key.session for source in home.sources] == ["walk", "later"]
