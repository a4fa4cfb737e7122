"""What a prompt shows of facts and chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART, talk

from anaphora.domain.keys import SeqRange
from anaphora.domain.wire import SectionName
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def test_what_the_prompt_shows_of_facts_is_data_within_its_share(tmp_path: Path) -> None:
    """I10, I16, hole 2.15."""
    options: dict[str, Any] = {"facts": {"tokens": 60}}
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART, **options) as memory:
        await talk(memory.session(user="ann", session="s"), 20)
        await memory.work()
        context = await memory.session(user="ann", session="new").context("Do I like figs?", budget=2000)
        (block,) = [message for message in context.messages if message.section is SectionName.FACTS]
        assert (block.role.value, block.name) == ("user", "memory")
        assert block.tokens <= 60
        assert "Known facts about ann" in block.content
        assert "figs number" in block.content, "what is asked for comes first"
        lines = [line for line in context.explain() if line.source.startswith("fact ")]
        assert {line.included for line in lines} == {True, False}
        assert context.tokens <= 2000


async def test_a_session_served_by_chunks_shows_the_best_and_whatever_no_chunk_covers(tmp_path: Path) -> None:
    options: dict[str, Any] = {"batch_extraction": {"keep_verbatim": 4, "chunks": 1}}
    async with opened(tmp_path, chat=ScriptedChat(), extraction="batch", **options) as memory:
        session = memory.session(user="ann", session="s", strategy="batch_extraction")
        await talk(session, 25)
        context = await session.context("Do I like figs?")
        assert context.coverage.verbatim == (SeqRange(0, 50),)
        await memory.work()
        context = await session.context("Do I like figs?")
        assert context.coverage.verbatim == (SeqRange(20, 50),)
        assert context.coverage.summarised == (SeqRange(0, 20),)
        await session.end()
        await memory.work()
        context = await session.context("Do I like figs number 5?")
        assert context.coverage.verbatim == (SeqRange(46, 50),)
        assert context.coverage.summarised == (SeqRange(0, 20),)
        assert context.coverage.elided == (SeqRange(20, 46),)


async def test_an_agent_may_be_told_only_what_it_learned_itself(tmp_path: Path) -> None:
    for policy, seen in (("all", 1), ("own", 0)):
        options: dict[str, Any] = {"facts": {"agents": policy}}
        folder = tmp_path / policy
        folder.mkdir()
        async with opened(folder, chat=ScriptedChat(), extraction="turn", **APART, **options) as memory:
            session = memory.session(user="ann", session="s", agent="one")
            await session.add("user", "I like figs.")
            await session.add("assistant", "Noted.")
            await memory.work()
            context = await memory.session(user="ann", session="s", agent="two").context("Hello?")
            assert len([m for m in context.messages if m.section is SectionName.FACTS]) == seen


@pytest.mark.parametrize("tokens", [0, 2000])
async def test_what_messages_may_take_of_the_prompt_says_nothing_about_the_facts_in_it(
    tokens: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"facts": {"tokens": 60}, "recall": {"tokens": tokens}}
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART, **options) as memory:
        await talk(memory.session(user="ann", session="s"), 20)
        await memory.work()
        context = await memory.session(user="ann", session="new").context("Do I like figs?", budget=2000)
        (block,) = [message for message in context.messages if message.section is SectionName.FACTS]
        assert "figs number" in block.content
        assert any(message.section is SectionName.RELEVANT for message in context.messages) == bool(tokens)


async def test_the_best_chunks_are_shown_where_no_message_may_be_quoted(tmp_path: Path) -> None:
    options: dict[str, Any] = {"batch_extraction": {"keep_verbatim": 4, "chunks": 1}, "recall": {"tokens": 0}}
    async with opened(tmp_path, chat=ScriptedChat(), extraction="batch", **options) as memory:
        session = memory.session(user="ann", session="s", strategy="batch_extraction")
        await talk(session, 25)
        await session.end()
        await memory.work()
        context = await session.context("Do I like figs number 5?")
        assert context.coverage.summarised == (SeqRange(0, 20),)
