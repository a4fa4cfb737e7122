"""I12: what a message said goes out of every archived document, later ones that repeat it too, and stays out."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.memory.erasing import broken, canary, exported, found, opened

from anaphora import Memory, Session
from anaphora.domain.documents import Document
from anaphora.domain.keys import SeqRange
from anaphora.testing.scripted import ScriptedChat, retelling

pytestmark = pytest.mark.anyio

ARCHIVED: Mapping[str, Any] = {
    "extraction": "none",
    "strategy": "token_budget",
    "token_budget": {"threshold_tokens": 192, "recent_messages_to_keep": 2, "archive_conversations": True},
}
#: which message says it
AT = 8
WORD = canary("alice", "s1", AT)


@asynccontextmanager
async def archived(folder: Path) -> AsyncIterator[tuple[Memory, Session]]:
    """Several documents of one session, of which every one repeats what only one message said."""
    async with opened(folder, chat=ScriptedChat(retelling), **ARCHIVED) as memory:
        chat = memory.session(user="alice", session="s1")
        for turn in range(13):
            said = f"My locker {turn} is in the hall beside the stairs and the old clock."
            await chat.add("user", f"Allergic to {WORD}, alas." if turn == AT // 2 else said)
            await chat.add("assistant", "Noted.")
            await memory.work()
        await chat.end()
        await memory.work()
        yield memory, chat


async def documents(memory: Memory) -> dict[SeqRange, Document]:
    """The documents with what they say, by the messages of which they were made."""
    listed = await memory.knowledge.list(user="alice")
    return {one.range: await memory.knowledge.get(one.id, user="alice") for one in listed if one.range is not None}


async def telling(memory: Memory) -> list[SeqRange]:
    """Of which messages the documents are that say the word."""
    return sorted(span for span, document in (await documents(memory)).items() if WORD in (document.content or ""))


def tiled(spans: list[SeqRange]) -> bool:
    return spans[0].start == 0 and all(one.stop == other.start for one, other in itertools.pairwise(spans))


async def test_erasing_a_message_takes_it_out_of_every_later_document_that_repeats_it(tmp_path: Path) -> None:
    async with archived(tmp_path) as (memory, _):
        before = await telling(memory)
        assert len(before) > 1, "hollow run: no later document repeats it"
        head = max(await documents(memory)).stop
        planned = await memory.erase(user="alice", session="s1", message=AT, dry_run=True)
        assert planned.counts["documents"] == len(await documents(memory))
        report = await memory.erase(user="alice", session="s1", message=AT)
        assert report.counts["documents"] == planned.counts["documents"]
        assert report.counts["summaries"] == planned.counts["summaries"]
        assert await found(tmp_path, [WORD]) == []
        await memory.work()
        assert await found(tmp_path, [WORD]) == []
        spans = sorted(await documents(memory))
        assert tiled(spans), "documents tell of some messages twice"
        assert spans[-1].stop == head, "they were not made again"
        assert not await memory.knowledge.search(WORD, user="alice")
    assert await broken(tmp_path) == []


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_what_a_message_says_no_more_no_later_document_repeats(tmp_path: Path, change: str) -> None:
    async with archived(tmp_path) as (memory, chat):
        assert len(await telling(memory)) > 1, "hollow run: no later document repeats it"
        head = max(await documents(memory)).stop
        await (chat.edit(AT, "Allergic to nothing.") if change == "edit" else chat.delete(AT))
        assert await telling(memory) == []
        await memory.work()
        assert await telling(memory) == []
        spans = sorted(await documents(memory))
        assert tiled(spans), "documents tell of some messages twice"
        assert spans[-1].stop == head, "they were not made again"
    assert await broken(tmp_path) == []


async def test_documents_that_end_before_an_erased_message_stay(tmp_path: Path) -> None:
    async with archived(tmp_path) as (memory, _):
        before = await documents(memory)
        first, *later = sorted(before)
        report = await memory.erase(user="alice", session="s1", message=first.stop)
        assert report.counts["documents"] == len(later)
        assert await documents(memory) == {first: before[first]}


@pytest.mark.parametrize("worked", [False, True], ids=["at once", "after the worker"])
async def test_an_old_export_brings_no_document_back_that_may_speak_of_an_erased_message(
    tmp_path: Path, worked: bool
) -> None:
    async with archived(tmp_path) as (memory, _):
        lines = await exported(memory)
        assert sum(WORD in line for line in lines if '"document"' in line) > 1, "hollow run: none repeats it"
        await memory.erase(user="alice", session="s1", message=AT)
        if worked:
            await memory.work()
        before = await documents(memory)
        await memory.restore(lines)
        assert await documents(memory) == before
        assert await found(tmp_path, [WORD]) == []
        await memory.work()
        assert tiled(sorted(await documents(memory)))
        assert await found(tmp_path, [WORD]) == []


async def test_an_export_brings_no_document_beside_one_of_the_same_messages(tmp_path: Path) -> None:
    """Cut elsewhere since: each message is told of once."""
    async with archived(tmp_path) as (memory, _):
        lines = await exported(memory)
        before = await documents(memory)
        await memory.erase(user="alice", session="s1", message=max(span.start for span in before))
        await memory.work()
        after = await documents(memory)
        await memory.restore(lines)
        assert await documents(memory) == after
