"""Topics of many sessions, as a list of them finds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import opened

from anaphora import Memory

pytestmark = pytest.mark.anyio


async def said(memory: Memory, session: str, strategy: str | None, *, user: str = "alice", ended: bool = False) -> None:
    talk = memory.session(user=user, session=session, strategy=strategy)
    await talk.add("user", f"The lighthouse of session {session}")
    if ended:
        await talk.end()


async def listed(memory: Memory, *, limit: int = 50, user: str | None = "alice") -> list[str]:
    return [segment.key.session for segment in await memory.topics.list(user=user, limit=limit)]


async def test_topics_are_found_behind_any_number_of_newer_sessions_without_topics(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await said(memory, "old", "topics")
        for number in range(205):
            await said(memory, str(number), "sliding_window")
        assert await listed(memory) == ["old"]
        assert await listed(memory, user=None) == ["old"]


async def test_a_session_whose_strategy_is_the_default_is_among_them(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="topics") as memory:
        await said(memory, "plain", None)
        await said(memory, "other", "rolling_pairs")
        await memory.new_session(user="alice")
        assert await listed(memory) == ["plain"]


async def test_closed_topics_are_found_whatever_the_default_has_become(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="topics") as memory:
        await said(memory, "closed", None, ended=True)
        await memory.work()
    async with opened(tmp_path, strategy="rolling_pairs") as memory:
        await said(memory, "newer", None)
        assert await listed(memory) == ["closed"]


async def test_the_newest_sessions_come_first_until_the_limit_is_full(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        for name in ("1", "2", "3"):
            await said(memory, name, "topics")
            await said(memory, name, "topics", user="bob")
        assert await listed(memory, limit=2) == ["3", "2"]
        assert await listed(memory, user=None) == ["3", "3", "2", "2", "1", "1"]
