"""With a model and the default batch: what waits for its word never grows beyond what a prompt can show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from tests.memory.harness import opened
from tests.memory.test_topic_batches import ONE_TOPIC, Counting
from tests.memory.test_topics import LUNCH, NETWORKS, accounted, jobs, spans

from anaphora import Memory, Session
from anaphora.domain.jobs import JobKind
from anaphora.domain.topics import Closed, Segment
from anaphora.prompts.topic_segments import TITLE
from anaphora.prompts.topic_summary import TITLE as SUMMARY
from anaphora.strategies.topics import Topics
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

#: as they are where nobody sets them
DEFAULTS = {"batch": Topics().batch}
MATTERS = (
    "pears orchards pruning harvest",
    "boats sails harbour rudder",
    "taxes invoices refunds ledger",
    "chess openings gambits endgames",
    "bread sourdough ovens flour",
    "opera arias sopranos overture",
    "bees hives honey swarms",
)


async def exchange(memory: Memory, session: Session, question: str, answer: str) -> None:
    await session.add("user", question)
    await session.add("assistant", answer)
    await memory.work()


def closed(segments: Sequence[Segment]) -> list[tuple[int, int, Closed]]:
    """Oldest first."""
    topics = [each.topic for each in reversed(segments) if each.topic is not None]
    return [(topic.range.start, topic.range.stop, topic.closed) for topic in topics]


async def test_a_topic_of_one_matter_closes_at_its_length_whatever_the_batch(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting())
    async with opened(tmp_path, chat=chat, strategy="topics", topics=DEFAULTS) as memory:
        session = memory.session(user="ann", session="s")
        for _ in range(20):
            await exchange(memory, session, f"More of this: {MATTERS[0] * 330}", f"Yes: {MATTERS[0]}")
        ends = [(start, start + 6, Closed.FULL) for start in range(0, 36, 6)]
        assert closed(await session.topics()) == ends
        assert set(script.titles) == {SUMMARY}, "nobody was asked where they end"
        context = await session.context("And now?")
        assert context.coverage.elided == ()


async def test_what_is_doubtful_does_not_keep_a_topic_open_beyond_its_length(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting(topic_segments=ONE_TOPIC))
    options = {**DEFAULTS, "batch_tokens": 100_000, "doubt": 1.0}
    async with opened(tmp_path, chat=chat, strategy="topics", topics=options) as memory:
        session = memory.session(user="ann", session="s")
        for _ in range(20):
            await exchange(memory, session, f"More of this: {MATTERS[0] * 330}", f"Yes: {MATTERS[0]}")
        assert closed(await session.topics()) == [(start, start + 6, Closed.FULL) for start in range(0, 36, 6)]
        assert script.titles.count(TITLE) == 6


async def test_what_ended_for_certain_is_kept_though_a_later_doubt_waits(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting())
    options = {**DEFAULTS, "most_characters": 300}
    async with opened(tmp_path, chat=chat, strategy="topics", topics=options) as memory:
        session = memory.session(user="ann", session="s")
        for said in (*NETWORKS, NETWORKS[0], LUNCH[0]):
            await exchange(memory, session, said, f"You ask: {said}")
        found = closed(await session.topics())
        assert found
        assert {why for *_, why in found} == {Closed.FULL}
        assert TITLE not in script.titles


async def test_a_talk_of_many_matters_is_told_before_it_outgrows_the_prompt(tmp_path: Path) -> None:
    """Never a hole: turns of 320 tokens, another matter every four turns, prompts of 4,000 tokens."""
    chat = ScriptedChat(script := Counting())
    async with opened(tmp_path, chat=chat, strategy="topics", topics=DEFAULTS, context_budget=4000) as memory:
        session = memory.session(user="ann", session="s")
        for turn in range(28):
            words = MATTERS[turn // 4]
            context = await session.context(f"What of {words}?")
            accounted(context, 2 * turn)
            assert context.coverage.elided == (), f"turn {turn}"
            await exchange(memory, session, f"What of {words}? {f'{words} ' * 15}", f"Yes, {words}: {f'{words} ' * 15}")
        assert 0 < script.titles.count(TITLE) <= 7
        assert len(closed(await session.topics())) == 6


async def test_beside_a_topic_that_fills_the_prompt_little_waits(tmp_path: Path) -> None:
    """What cannot be shown whole any more is told a few turns after another matter came."""
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat, strategy="topics", topics=DEFAULTS, context_budget=4000) as memory:
        session = memory.session(user="ann", session="s")
        for turn in range(13):
            words = MATTERS[turn // 10]
            await exchange(memory, session, f"What of {words}? {f'{words} ' * 15}", f"Yes, {words}: {f'{words} ' * 15}")
        assert [(start, stop) for start, stop, _ in closed(await session.topics())] == [(0, 20)]


async def test_what_waits_is_not_looked_at_again_before_more_is_said(tmp_path: Path) -> None:
    """While a question has no answer, too: the worker comes to rest."""
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics", topics=DEFAULTS) as memory:
        session = memory.session(user="ann", session="s")
        for said in (*NETWORKS, LUNCH[0]):
            await exchange(memory, session, said, f"You ask: {said}")
        await session.add("user", LUNCH[1])
        with anyio.fail_after(20):
            await memory.work()
        assert not await memory.jobs.live()
        assert len(await jobs(memory, JobKind.FOLLOW)) <= 5


async def test_a_smaller_prompt_makes_the_wait_shorter(tmp_path: Path) -> None:
    chat = ScriptedChat(script := Counting())
    async with opened(tmp_path, chat=chat, strategy="topics", topics=DEFAULTS, context_budget=100) as memory:
        session = memory.session(user="ann", session="s")
        for said in (*NETWORKS, *LUNCH):
            await exchange(memory, session, said, f"You ask: {said}")
        assert spans(await session.topics())[0] == (0, 6, "described")
        assert script.titles == [TITLE]
