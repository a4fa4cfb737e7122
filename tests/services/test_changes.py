"""Who listens to a memory learns which part of it changed, within a second, and nothing of what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.memory.harness import opened, say

from anaphora import Memory
from anaphora.domain.changes import Change, ChangeKind, mark_of, numbers_of

pytestmark = pytest.mark.anyio


async def following(changes: AsyncGenerator[Change]) -> Change:
    async with asyncio.timeout(5):
        return await anext(changes)


async def ready(memory: Memory, *listeners: asyncio.Task[Change]) -> None:
    """Until everybody listens."""
    while not memory._services.changes.watched or any(task.done() for task in listeners):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)


async def test_a_listener_is_told_what_changed_and_where_and_others_are_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory, aclosing(memory.changes(user="ann", since="")) as changes:
        await memory.session(user="bob", session="x").add("user", "Not yours.")
        await memory.session(user="ann", session="s1").add("user", "Hello.")
        first = await following(changes)
        assert (first.kind, first.agent, first.session) == (ChangeKind.MESSAGES, "default", "s1")
        await memory.facts.add("I live in Paris.", user="ann")
        assert (await following(changes)).kind is ChangeKind.FACTS
        assert "Paris" not in str(changes)


async def test_without_a_mark_only_what_changes_from_then_on_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory, aclosing(memory.changes(user="ann")) as changes:
        await memory.session(user="ann", session="before").add("user", "Hello.")
        waiting = asyncio.create_task(following(changes))
        await ready(memory, waiting)
        await memory.session(user="ann", session="after").add("user", "Hello.")
        assert (await waiting).session == "after"


async def test_a_mark_takes_up_where_a_listener_left_and_an_unknown_one_tells_everything(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="rolling_pairs") as memory:
        chat = memory.session(user="ann", session="s1")
        await chat.add("user", "Hello.")
        async with aclosing(memory.changes(user="ann", since="")) as changes:
            mark = (await following(changes)).mark
        await memory.facts.add("I live in Paris.", user="ann")
        async with aclosing(memory.changes(user="ann", since=mark)) as changes:
            assert (await following(changes)).kind is ChangeKind.FACTS
        for unknown in ("", "x", "messages:-1", "messages:²", "\0" * 9999, "messages:" + "9" * 99):
            async with aclosing(memory.changes(user="ann", since=unknown)) as changes:
                assert [(await following(changes)).kind for _ in range(2)] == [ChangeKind.MESSAGES, ChangeKind.FACTS]


async def test_a_mark_reads_back(tmp_path: Path) -> None:
    del tmp_path
    numbers = {ChangeKind.MESSAGES: 3, ChangeKind.ERASED: (7 << 32) + 1}
    assert numbers_of(mark_of(numbers)) == numbers
    assert numbers_of(mark_of({})) == {}


async def test_summaries_and_erasures_are_told(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="rolling_pairs") as memory:
        chat = memory.session(user="ann", session="s1")
        await say(chat, 60)
        await memory.work()
        async with aclosing(memory.changes(user="ann", since="")) as changes:
            kinds = [(await following(changes)).kind for _ in range(2)]
            assert kinds == [ChangeKind.MESSAGES, ChangeKind.SUMMARY]
            await memory.erase(user="ann", session="s1", message=0)
            assert {(await following(changes)).kind for _ in range(2)} == {ChangeKind.MESSAGES, ChangeKind.ERASED}
            await memory.erase(user="ann")
            told = await following(changes)
            while told.kind is not ChangeKind.ERASED or told.mark:
                told = await following(changes)


async def test_many_listeners_of_a_user_are_one_look_and_none_is_left_when_they_leave(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        watcher = memory._services.changes
        listening = [memory.changes(user="ann") for _ in range(20)]
        waiting = [asyncio.create_task(following(changes)) for changes in listening]
        await ready(memory, *waiting)
        assert watcher.watched == 1
        await memory.session(user="ann", session="s").add("user", "Hello.")
        assert {change.session for change in await asyncio.gather(*waiting)} == {"s"}
        for changes in listening:
            await changes.aclose()
        assert watcher.watched == 0
        assert watcher._looking is None


async def test_closing_the_memory_ends_those_who_listen(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        waiting = asyncio.create_task(_count(memory.changes(user="ann")))
        await ready(memory)
        await memory.close()
        async with asyncio.timeout(2):
            assert await waiting == 0


async def test_changes_of_another_process_are_told(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as here,
        opened(tmp_path) as there,
        aclosing(here.changes(user="ann", since="")) as changes,
    ):
        await there.session(user="ann", session="s").add("user", "Hello.")
        assert (await following(changes)).kind is ChangeKind.MESSAGES


async def _count(changes: AsyncGenerator[Change]) -> int:
    return len([change async for change in changes])
