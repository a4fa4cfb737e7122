"""I13: what nobody uses expires with what was made of it alone, can be brought back, and is erased in the end."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.memory.erasing import OPTIONS, TURNS, broken, canary, exported, fill, found, opened

from anaphora.errors import InvalidInput, NotFound
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio

WEEK: Mapping[str, Any] = {"retention": {"days": 7.0, "grace_days": 7.0}, **OPTIONS}


async def test_nothing_expires_unless_somebody_says_so(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        await memory.session(user="alice", session="s1").add("user", "hello")
        clock.jump(timedelta(days=9999).total_seconds())
        await memory.work()
        assert [row.key.session for row in await memory.sessions()] == ["s1"]


async def test_a_week_then_out_of_sight_then_gone(tmp_path: Path) -> None:
    """The seed's week; what another session says too stays."""
    clock = FakeClock()
    day = timedelta(days=1).total_seconds()
    async with opened(tmp_path, clock=clock, **WEEK) as memory:
        await fill(memory, "alice", "s1")
        facts = {fact.content for fact in await memory.facts.list(user="alice", limit=200)}
        assert facts, "hollow run: nothing was learned"
        clock.jump(6 * day)
        assert (await memory.retention.run()).expired == 0
        clock.jump(2 * day)
        assert (await memory.retention.run()).expired == 1
        assert await memory.sessions() == []
        assert (await memory.search(canary("alice", "s1", 1), user="alice")).hits == ()
        assert await memory.facts.list(user="alice") == []
        chat = memory.session(user="alice", session="s1")
        assert await chat.messages() == ()
        await memory.retention.restore(user="alice", session="s1")
        assert {fact.content for fact in await memory.facts.list(user="alice", limit=200)} == facts
        assert len(await chat.messages()) > 0
        clock.jump(8 * day)
        assert (await memory.retention.run()).expired == 1
        clock.jump(8 * day)
        await memory.work()
        assert await found(tmp_path, [canary("alice", "s1", 1), "alice"]) == []
        assert [one.asked_by for one in await memory.erasures()] == ["retention"]
        with pytest.raises(NotFound):
            await memory.retention.restore(user="alice", session="s1")
    assert await broken(tmp_path) == []


async def test_what_is_still_to_be_read_is_kept_unless_the_policy_says_otherwise(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock, **WEEK) as memory:
        chat = memory.session(user="alice", session="s1")
        for number in range(20):
            await chat.add("user", f"unread {number}")
        clock.jump(timedelta(days=8).total_seconds())
        swept = await memory.retention.run()
        assert (swept.expired, swept.kept) == (0, 1)
    hasty: Mapping[str, Any] = {**WEEK, "retention": {"days": 7.0, "unsummarised": True}}
    async with opened(tmp_path, clock=clock, **hasty) as memory:
        assert (await memory.retention.run()).expired == 1


async def test_a_session_and_an_agent_may_have_times_of_their_own(tmp_path: Path) -> None:
    clock = FakeClock()
    options: Mapping[str, Any] = {"retention": {"days": 100.0}, "agents": {"clerk": {"keep_days": 2.0}}}
    async with opened(tmp_path, clock=clock, **options) as memory:
        for agent, session in (("clerk", "brief"), ("default", "long"), ("default", "own"), ("clerk", "kept")):
            await memory.session(user="alice", agent=agent, session=session).add("user", "hello")
        await memory.retention.keep(3, user="alice", session="own")
        await memory.retention.keep(50, user="alice", agent="clerk", session="kept")
        with pytest.raises(InvalidInput):
            await memory.retention.keep(-1, user="alice", session="own")
        with pytest.raises(NotFound):
            await memory.retention.keep(1, user="bob", session="own")
        with pytest.raises(NotFound):
            await memory.retention.restore(user="alice", session="own")
        clock.jump(timedelta(days=4).total_seconds())
        await memory.work()  # it summarises what is about to expire
        await memory.retention.run()
        assert sorted(row.key.session for row in await memory.retention.expired()) == ["brief", "own"]
        await memory.session(user="alice", session="own").add("user", "writing brings it back")
        assert sorted(row.key.session for row in await memory.sessions()) == ["kept", "long", "own"]


async def test_what_is_out_of_sight_is_not_changed_by_an_export_of_it_and_a_newer_one_brings_it_back(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    day = timedelta(days=1).total_seconds()
    (tmp_path / "other").mkdir()
    async with opened(tmp_path, clock=clock, **WEEK) as memory, opened(tmp_path / "other", clock=clock) as other:
        await fill(memory, "alice", "s1")
        old = await exported(memory)
        await other.restore(old)
        await other.session(user="alice", session="s1").add("user", "There is more to say.")
        newer = await exported(other)
        clock.jump(8 * day)
        await memory.work()
        assert await memory.sessions() == [], "hollow run: nothing expired"
        report = await memory.restore(old)
        assert (report.messages, report.held) == (0, 2 * TURNS)
        assert await memory.sessions() == []
        assert (await memory.restore(newer)).messages == 1
        chat = memory.session(user="alice", session="s1")
        assert [message.content for message in await chat.messages()][-1] == "There is more to say."
        assert (await memory.search(canary("alice", "s1", 1), user="alice")).hits
        assert not await memory.retention.expired()
    assert await broken(tmp_path) == []


async def test_what_is_out_of_sight_cannot_be_changed(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock, **WEEK) as memory:
        await fill(memory, "alice", "s1")
        chat = memory.session(user="alice", session="s1")
        clock.jump(timedelta(days=8).total_seconds())
        await memory.work()
        for change in (chat.edit(0, "something else"), chat.delete(0)):
            with pytest.raises(NotFound):
                await change
        await memory.retention.restore(user="alice", session="s1")
        assert canary("alice", "s1", 0) in (await chat.messages(limit=2 * TURNS))[0].content


async def test_archived_documents_are_out_of_sight_with_their_session_and_come_back_with_it(tmp_path: Path) -> None:
    clock = FakeClock()
    day = timedelta(days=1).total_seconds()
    archived: Mapping[str, Any] = {
        "retention": {"days": 7.0},
        "extraction": "none",
        "strategy": "token_budget",
        "token_budget": {"threshold_tokens": 192, "recent_messages_to_keep": 2, "archive_conversations": True},
        "recall": {"conversations": True},
    }
    word = canary("alice", "s1", 1)
    async with opened(tmp_path, clock=clock, chat=ScriptedChat(faithful), **archived) as memory:
        await fill(memory, "alice", "s1", turns=4)

        async def told() -> tuple[int, int, bool]:
            listed = await memory.knowledge.list(user="alice")
            hits = await memory.knowledge.search(word, user="alice")
            context = await memory.session(user="alice", session="s2").context(f"What of {word}?")
            return len(listed), len(hits), any(word in message.content for message in context.messages[:-1])

        (document,) = await memory.knowledge.list(user="alice")
        before = await told()
        assert min(before), "hollow run: it is nowhere"
        clock.jump(8 * day)
        assert (await memory.retention.run()).expired == 1
        assert await told() == (0, 0, False)
        with pytest.raises(NotFound):
            await memory.knowledge.get(document.id, user="alice")
        await memory.retention.restore(user="alice", session="s1")
        assert await told() == before


@pytest.mark.parametrize(
    ("strategy", "extraction"),
    [
        *itertools.product(("rolling_pairs", "sliding_window", "token_budget", "topics"), ("none", "batch")),
        ("batch_extraction", "batch"),  # without extraction it reads nothing: see below
    ],
)
async def test_a_session_that_is_too_short_for_a_summary_gets_one_before_it_expires(
    tmp_path: Path, strategy: str, extraction: str
) -> None:
    """Nothing expires unsummarised: without a model, sentences of it do."""
    clock = FakeClock()
    options: Mapping[str, Any] = {"retention": {"days": 7.0}, "extraction": extraction}
    async with opened(tmp_path, clock=clock, **options) as memory:
        chat = memory.session(user="alice", session="s1", strategy=strategy)
        await chat.add("user", "I keep my bicycle in the cellar.")
        await chat.add("assistant", "Noted.")
        await chat.add("user", "And the key hangs behind the door.")
        await memory.work()
        clock.jump(timedelta(days=8).total_seconds())
        swept = await memory.retention.run()
        assert swept.expired + swept.kept == 1
        await memory.work()
        await memory.retention.run()
        assert [row.key.session for row in await memory.retention.expired()] == ["s1"]
        await memory.retention.restore(user="alice", session="s1")
        made = await chat.summaries() if extraction == "none" and strategy != "topics" else ()
        assert [summary.range.stop for summary in made] == [3] * len(made)
        assert made or extraction == "batch" or strategy == "topics"
    assert await broken(tmp_path) == []


async def test_no_summary_is_made_of_a_session_that_is_used_again_or_expires_unsummarised(tmp_path: Path) -> None:
    clock = FakeClock()
    options: Mapping[str, Any] = {"retention": {"days": 7.0}, "extraction": "none"}
    async with opened(tmp_path, clock=clock, **options) as memory:
        chat = memory.session(user="alice", session="s1")
        await chat.add("user", "hello")
        await memory.work()
        assert not await chat.summaries()
        clock.jump(timedelta(days=8).total_seconds())
        assert (await memory.retention.run()).kept == 1
        await chat.add("user", "I am back")
        await memory.work()
        assert not await chat.summaries()
        clock.jump(timedelta(days=8).total_seconds())
    hasty: Mapping[str, Any] = {**options, "retention": {"days": 7.0, "unsummarised": True}}
    async with opened(tmp_path, clock=clock, **hasty) as memory:
        assert (await memory.retention.run()).expired == 1
        assert not await memory.jobs.live()
