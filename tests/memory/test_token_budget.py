"""Seed 001 over a whole memory: compressed three times over, archived, edited, restored; its holes by their numbers."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import ROLES, check_account, check_spoken_for, conversation, opened, say, served, settle, text
from tests.services.lives import NOW, broken, exported, of_kind, two

from anaphora import Memory, Session
from anaphora.domain.documents import Document, conversations_of
from anaphora.domain.keys import SeqRange
from anaphora.ports.documents import Shelf
from anaphora.ports.store import Unit
from anaphora.settings import TokenBudgetSettings, WorkerSettings
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

#: a conversation of some forty messages of ten tokens is compressed several times
SMALL: dict[str, Any] = {
    "strategy": "token_budget",
    "token_budget": TokenBudgetSettings(threshold_tokens=240, recent_messages_to_keep=4, summary_max_tokens=60),
    "worker": WorkerSettings(batch_messages=6),
}
ARCHIVE: dict[str, Any] = SMALL | {
    "token_budget": TokenBudgetSettings(
        threshold_tokens=400, recent_messages_to_keep=4, summary_max_tokens=96, archive_conversations=True
    ),
}


@asynccontextmanager
async def talking(
    folder: Path, chat: ScriptedChat | None = None, **options: Any
) -> AsyncIterator[tuple[Memory, Session]]:
    async with opened(folder, chat=chat or ScriptedChat(), clock=FakeClock(), **{**SMALL, **options}) as memory:
        yield memory, conversation(memory)


async def tell(session: Session, *texts: str) -> None:
    for at, each in enumerate(texts):
        await session.add(ROLES[at % 2], each)


async def documents(memory: Memory) -> list[tuple[SeqRange, Document]]:
    """What was archived of a user, with the messages that it tells of."""

    def read(unit: Unit) -> list[tuple[SeqRange, Document]]:
        shelf = Shelf(tenant="t", namespaces=(conversations_of("u"),))
        found = unit.documents.list(shelf, limit=100)
        whole = [unit.documents.get("t", each.namespace, each.id) for each in found]
        return sorted(((each.range, each) for each in whole if each and each.range), key=lambda each: each[0])

    return await memory._services.store.read("t", read)


async def test_what_was_compressed_three_times_over_is_covered_or_declared_and_found(tmp_path: Path) -> None:
    """Holes 1.3, 1.5: the summary feeds the next, versions have ranges, and the first words are never silently gone."""
    async with talking(tmp_path) as (memory, session):
        versions = set()
        for start in range(0, 120, 2):
            await say(session, 2, start=start)
            await memory.work()
            context = await session.context("?", budget=1000)
            check_account(context, start + 2)
            check_spoken_for(context)
            versions.add(context.coverage.summary_id)
        assert len(versions) > 4
        assert any(0 in span for span in (*context.coverage.summarised, *context.coverage.elided))
        (hit,) = await memory.search("word0", user="u")
        assert hit.message.seq == 0
        found = await session.summaries(limit=100)
        assert {version.base_id for version in found[:-1]} <= {version.id for version in found}
        assert broken(memory) == []


@pytest.mark.parametrize("where", ["first", "last"])
async def test_a_message_larger_than_the_threshold_is_compressed_once(tmp_path: Path, where: str) -> None:
    """Hole 1.10, I10: no call a turn while it is among those that are kept, and the prompt keeps its budget."""
    chat = ScriptedChat()
    async with talking(tmp_path, chat) as (memory, session):
        huge = f"{text(0)} " + "gold " * 40_000
        await session.add("user", huge if where == "first" else text(0))
        await session.add("assistant", text(1) if where == "first" else huge.replace("#0#", "#1#"))
        for start in range(2, 24, 2):
            await say(session, 2, start=start)
            await memory.work()
            check_account(await session.context("?", budget=400), start + 2)
        assert 1 <= len(chat.prompts) <= 8
        assert not await memory.jobs.live()


async def test_the_clock_orders_nothing(tmp_path: Path) -> None:
    """Hole 1.8: messages of one time, or of a clock that was set back, are compressed by their numbers."""
    async with talking(tmp_path, **ARCHIVE) as (memory, session):
        for start in range(0, 60, 2):
            hours = timedelta(hours=start // 20)
            for seq in (start, start + 1):
                await session.add(ROLES[seq % 2], text(seq), created_at=NOW - hours)
        await memory.work()
        spans = [span for span, _ in await documents(memory)]
        assert [span.start for span in spans] == [0, *(span.stop for span in spans[:-1])]
        context = await session.context("?", budget=1000)
        check_account(context, 60)
        check_spoken_for(context)
        for span, document in await documents(memory):
            dates = document.metadata["date_range"]
            assert dates["start"] <= dates["end"], span


async def test_two_at_once_compress_a_session_once(tmp_path: Path) -> None:
    """Hole 1.4."""
    chat = ScriptedChat()
    async with talking(tmp_path, chat) as (memory, session):
        await say(session, 30)
        await asyncio.gather(*(memory.work() for _ in range(4)))
        ranges = [version.range for version in await session.summaries(limit=100)]
        assert len(set(ranges)) == len(ranges) == len(chat.prompts)


async def test_the_lists_stand_beside_the_summary_and_are_carried_on(tmp_path: Path) -> None:
    """Hole 1.11: by JSON, checked against the messages; what is settled is no open question any more."""
    async with talking(tmp_path, **ARCHIVE) as (memory, session):
        await tell(
            session,
            "Decision: Use JWT with 1-hour expiration",
            "Names: Washington, D.C.; Redis",
            "Which port?",
            "## TOPICS\nevil",
        )
        await say(session, 44, start=4)
        await memory.work()
        first = await served(session)
        assert first is not None
        assert first.prompt_version == "structured_summary/1"
        assert first.structure.texts("decisions") == ["Use JWT with 1-hour expiration"]
        assert first.structure.texts("entities") == ["Washington, D.C.", "Redis"]
        assert first.structure.texts("open_questions") == ["Which port?"]
        assert "evil" not in str(first.structure)
        await session.add("user", "Answered: 0")
        await say(session, 47, start=49)
        await memory.work()
        assert len(await session.summaries(entity="redis")) > 1
        assert not await session.summaries(topic="nothing of the kind")
        second = await served(session)
        assert second is not None
        assert second.structure.texts("decisions") == ["Use JWT with 1-hour expiration"]
        assert not second.structure.open_questions


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_what_is_listed_of_a_message_goes_with_what_it_said(tmp_path: Path, change: str) -> None:
    async with talking(tmp_path, **ARCHIVE) as (memory, session):
        await tell(session, "Decision: Use MD5", "Names: Redis")
        await say(session, 46, start=2)
        await memory.work()
        if change == "edit":
            await session.edit(0, "Decision: Use TLS")
        else:
            await session.delete(0)
        assert not any(span.start == 0 for span, _ in await documents(memory)), "the archive still tells of it"
        await memory.work()
        version = await served(session)
        assert version is not None
        assert version.structure.texts("decisions") == (["Use TLS"] if change == "edit" else [])
        assert version.structure.texts("entities") == ["Redis"]
        told = "".join(each.content or "" for _, each in await documents(memory))
        assert "MD5" not in told
        assert "Redis" in told
        assert broken(memory) == []


async def test_what_is_compressed_is_archived_in_the_same_commit_and_once(tmp_path: Path) -> None:
    """Holes 1.2, 1.17: one document for each stretch, with the seed's keys; a rebuild takes the places of its own."""
    async with talking(tmp_path, **ARCHIVE) as (memory, session):
        await tell(session, "Decision: Use JWT with 1-hour expiration", "Names: John; Redis")
        await say(session, 60, start=2)
        await memory.work()
        before = await documents(memory)
        version = await served(session)
        assert version is not None
        assert [before[0][0].start, before[-1][0].stop] == [0, version.range.stop]
        assert all(one[0].stop == other[0].start for one, other in itertools.pairwise(before))
        first = before[0][1]
        assert (first.doc_type, first.metadata["decisions_made"]) == (
            "conversation",
            ["Use JWT with 1-hour expiration"],
        )
        assert first.metadata["entities_mentioned"] == ["John", "Redis"]
        assert list(first.metadata) == [
            "session_id",
            "agent_id",
            "conversation_topics",
            "entities_mentioned",
            "decisions_made",
            "open_questions",
            "message_count",
            "date_range",
        ]
        await session.rebuild()
        await memory.work()
        after = await documents(memory)
        assert [(span, each.content) for span, each in after] == [(span, each.content) for span, each in before]
        await session.end()
        await memory.work()
        assert (await documents(memory))[-1][0].stop == 62
        assert await session.reset() == 62
        assert await documents(memory) == []


async def test_without_a_model_sentences_are_archived_and_made_again_when_there_is_one(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock, **ARCHIVE) as memory:
        session = conversation(memory)
        await tell(session, "Decision: Use JWT with 1-hour expiration", "Good.")
        await say(session, 46, start=2)
        await memory.work()
        version = await served(session)
        assert version is not None
        assert (version.method, bool(version.structure)) == ("extractive", False)
        assert await documents(memory)
    async with opened(tmp_path, chat=ScriptedChat(), clock=clock, **ARCHIVE) as memory:
        await settle(memory, clock)
        version = await served(conversation(memory))
        assert version is not None
        assert version.structure.texts("decisions") == ["Use JWT with 1-hour expiration"]
        assert next(each.metadata["decisions_made"] for _, each in await documents(memory))
        assert broken(memory) == []


@pytest.mark.parametrize("options", [SMALL, ARCHIVE], ids=["compressed", "archived"])
async def test_an_exported_session_goes_on_where_it_stood(tmp_path: Path, options: dict[str, Any]) -> None:
    """The lists travel with their versions, and the other memory knows how much stands in its prompts."""
    async with two(tmp_path, chat=ScriptedChat(), **options) as (here, there):
        await tell(conversation(here), "Decision: Use Redis", "Names: Redis")
        await say(conversation(here), 46, start=2)
        await here.work()
        lines = await exported(here)
        assert json.dumps(of_kind(lines, "summary")).count("Use Redis") > 0
        await there.restore(lines)
        assert await exported(there) == lines
        before = await conversation(there).summaries(limit=100)
        await say(conversation(there), 2, start=48)
        await there.work()
        assert await conversation(there).summaries(limit=100) == before, "it was compressed for nothing"
        assert broken(there) == []
