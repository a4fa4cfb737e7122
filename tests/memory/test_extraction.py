"""Reading sessions for facts: in batches, once, whatever the model does (table 2 of the holes)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART, IDLE, chunks, jobs, known, talk, tiling

from anaphora.domain.facts import FactState
from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Method
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelUnavailable
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio


async def test_a_backlog_is_read_batch_by_batch_until_less_than_the_threshold_is_left(tmp_path: Path) -> None:
    """Hole 2.2: one batch was read for each message that came."""
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat, extraction="batch", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 50)
        await memory.work()
        assert tiling(await chunks(memory, session)) == [(0, 20), (20, 40), (40, 60), (60, 80)]
        assert len(chat.prompts) == 4
        assert len(await known(memory)) == 40


async def test_what_is_left_is_read_when_nothing_more_is_said(tmp_path: Path) -> None:
    """Hole 2.3."""
    clock, chat = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=chat, clock=clock, extraction="batch", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 2)
        await memory.work()
        assert chat.prompts == []
        await clock.advance(IDLE / 2)
        await talk(session, 1, start=2)
        await clock.advance(IDLE / 2 + 1)
        await memory.work()
        assert chat.prompts == [], "somebody spoke meanwhile"
        await clock.advance(IDLE)
        await memory.work()
        assert tiling(await chunks(memory, session)) == [(0, 6)]
        assert len(await known(memory)) == 3


async def test_the_end_of_a_session_is_read_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="batch", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 1)
        await session.end()
        await memory.work()
        assert await known(memory) == ["The user likes apples number 0"]


async def test_turn_by_turn_every_turn_is_read_as_soon_as_it_has_its_answer(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "I like apples.")
        assert await memory.work() == 0
        await session.add("assistant", "Noted.")
        await memory.work()
        assert await known(memory) == ["The user likes apples"]


async def test_switched_off_nothing_is_planned(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="none", **APART) as memory:
        await talk(memory.session(user="ann", session="s"), 20)
        assert await memory.jobs.list() == []


async def test_what_a_summary_reads_is_read_for_facts_in_the_same_call(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat, extraction="batch") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 10)
        await memory.work()
        assert len(chat.prompts) == 1
        (made,) = await chunks(memory, session)
        (summary,) = await session.summaries()
        assert made.range == summary.range
        assert len(await known(memory)) == len(made.range) // 2
        await session.end()
        await memory.work()
        assert tiling(await chunks(memory, session)) == [(0, made.range.stop), (made.range.stop, 20)]
        assert len(await known(memory)) == 10


async def test_facts_that_are_none_do_not_cost_the_summary(tmp_path: Path) -> None:
    def without(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        answer = json.loads(faithful(messages, schema))
        return json.dumps({**answer, "facts": "none"})

    async with opened(tmp_path, chat=ScriptedChat(without), extraction="batch") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 10)
        await memory.work()
        assert len(await session.summaries()) == 1
        assert await chunks(memory, session) == ()


async def test_an_answer_that_cannot_be_read_halves_the_batch_until_one_turn_is_passed_by(tmp_path: Path) -> None:
    """Hole 2.12: one odd message stopped the memory for ever."""

    def fussy(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        if "poison" in messages[-1].content.partition("MESSAGES")[2]:
            return "I would rather not."
        return faithful(messages, schema)

    options: dict[str, Any] = {"worker": {"backoff_seconds": 0, "max_attempts": 5}}
    async with opened(tmp_path, chat=ScriptedChat(fussy), extraction="batch", **APART, **options) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 4)
        await session.add("user", "I like poison.")
        await session.add("assistant", "Noted.")
        await talk(session, 11, start=5)
        await session.end()
        await memory.work()
        found = await chunks(memory, session)
        assert [chunk.range.start for chunk in found] == [0, *(chunk.range.stop for chunk in found[:-1])]
        assert found[-1].range.stop == 32
        odd = next(chunk for chunk in found if 8 in chunk.range)
        assert (odd.range, odd.method) == (SeqRange(8, 10), Method.DIGEST)
        assert len([fact for fact in await known(memory) if "number" in fact]) == 15
        failed = [job for job in await jobs(memory) if job.state is JobState.FAILED]
        assert [job.range for job in failed] == [SeqRange(8, 10)]


async def test_an_outage_loses_nothing_and_is_waited_for(tmp_path: Path) -> None:
    clock, chat = FakeClock(), ScriptedChat()

    def down(_messages: Sequence[PromptMessage], _schema: Mapping[str, Any] | None) -> str:
        raise ModelUnavailable("no connection")

    options: dict[str, Any] = {"worker": {"backoff_seconds": 0, "max_attempts": 2}}
    async with opened(tmp_path, chat=chat, clock=clock, extraction="batch", **APART, **options) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 1)
        chat.script = down
        await session.end()
        await memory.work()
        calls = len(chat.prompts)
        assert calls == 2
        assert sorted(job.state.value for job in await jobs(memory)) == ["failed", "queued"]
        await memory.work()
        assert len(chat.prompts) == calls, "it waits for longer each time"
        chat.script = faithful
        await clock.advance(86_400)
        await memory.work()
        assert await known(memory) == ["The user likes apples number 0"]


@pytest.mark.parametrize(
    "answer", ["", "{}", '{"summary": "", "facts": []}', '{"summary": "I cannot help", "facts": []}']
)
async def test_no_refusal_and_nothing_empty_becomes_a_chunk(answer: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"worker": {"backoff_seconds": 0, "max_attempts": 1}}
    chat = ScriptedChat(lambda _messages, _schema: answer)
    async with opened(tmp_path, chat=chat, extraction="turn", **APART, **options) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 1)
        await memory.work()
        (made,) = await chunks(memory, session)
        assert made.method is Method.DIGEST
        assert "cannot help" not in made.text


async def test_a_late_worker_keeps_nothing(tmp_path: Path) -> None:
    """I5: two read the same messages, and the facts are there once."""
    clock, late = FakeClock(), ScriptedChat()
    how: dict[str, Any] = {"clock": clock, "extraction": "turn", **APART}
    async with (
        opened(tmp_path, chat=late, **how) as slow,
        opened(tmp_path, chat=ScriptedChat(), **how) as fast,
    ):
        session = slow.session(user="ann", session="s")
        await talk(session, 1)
        job = await slow._services.worker.claim()
        assert job is not None

        async def overtaken() -> None:
            """While the first waits for its model, its lease ends and another does the work."""
            clock.jump(3600)
            assert await fast.work() == 1

        late.pause = overtaken
        await slow._services.worker.do(job)
        assert len(late.prompts) == 1
        assert await known(slow) == ["The user likes apples number 0"]
        assert tiling(await chunks(slow, session)) == [(0, 2)]
        (fact,) = await slow.facts.list(user="ann")
        assert len(fact.sources) == 1


async def test_the_same_said_twice_is_one_fact_with_two_sources(tmp_path: Path) -> None:
    """Hole 2.13."""
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        for name in ("one", "two"):
            session = memory.session(user="ann", session=name)
            await session.add("user", "I like figs.")
            await session.add("assistant", "Noted.")
            await memory.work()
        (fact,) = await memory.facts.list(user="ann")
        assert [source.key.session for source in fact.sources] == ["one", "two"]
        assert all(source.quote == "I like figs" for source in fact.sources)


async def test_an_edited_message_takes_its_facts_with_it_and_is_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        for number in range(2):
            await talk(session, 1, start=number)
            await memory.work()
        await session.edit(0, "I hate apples.")
        assert await known(memory) == ["The user likes bananas number 1"]
        assert [chunk.stale for chunk in await chunks(memory, session)] == [True, False]
        await memory.work()
        assert await known(memory) == ["The user hates apples", "The user likes bananas number 1"]
        found = await chunks(memory, session)
        assert tiling(found) == [(0, 2), (2, 4)]
        assert not any(chunk.stale for chunk in found)


async def test_a_deleted_message_takes_its_facts_and_an_empty_stretch_its_chunk(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        for number in range(2):
            await talk(session, 1, start=number)
            await memory.work()
        await session.delete(0)
        await session.delete(1)
        assert await known(memory) == ["The user likes bananas number 1"]
        await memory.work()
        assert tiling(await chunks(memory, session)) == [(2, 4)]


async def test_what_two_sessions_said_outlives_the_reset_of_one(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        for name, fruits in (("one", ("figs", "dates")), ("two", ("figs",))):
            session = memory.session(user="ann", session=name)
            for fruit in fruits:
                await session.add("user", f"I like {fruit}.")
                await session.add("assistant", "Noted.")
            await memory.work()
        await memory.session(user="ann", session="one").reset()
        assert await known(memory) == ["The user likes figs"]
        (fact,) = await memory.facts.list(user="ann")
        assert [source.key.session for source in fact.sources] == ["two"]


async def test_without_a_model_sentences_are_chosen_and_a_model_that_comes_reads_them_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock, extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 1)
        await memory.work()
        (made,) = await chunks(memory, session)
        assert made.method is Method.EXTRACTIVE
        assert "apples" in made.text
    async with opened(tmp_path, chat=ScriptedChat(), clock=clock, extraction="turn", **APART) as memory:
        await clock.advance(3600)
        await memory.work()
        session = memory.session(user="ann", session="s")
        (made,) = await chunks(memory, session)
        assert made.method is Method.MODEL
        assert len(await known(memory)) == 1, "a model and a rule say the same in other words"
        again = await memory.work()
        assert again == 0, "what a model wrote is not written again"


async def test_a_fact_that_was_deleted_is_not_learned_again_until_its_owner_says_so(tmp_path: Path) -> None:
    """Hole 2.17."""
    async with opened(tmp_path, chat=ScriptedChat(), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        for _ in range(2):
            await session.add("user", "I like figs.")
            await session.add("assistant", "Noted.")
            await memory.work()
            for fact in await memory.facts.list(user="ann"):
                await memory.facts.delete(fact.id, user="ann")
        await session.add("user", "I like figs.")
        await session.add("assistant", "Noted.")
        await memory.work()
        assert await known(memory) == []
        await memory.facts.add("The user likes figs", user="ann", category="preference")
        assert await known(memory) == ["The user likes figs"]


async def test_junk_of_a_model_goes_to_review_or_nowhere(tmp_path: Path) -> None:
    def liar(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        fact = {"category": "preference", "n": 0, "importance": 10, "replaces": None}
        lies = [
            {"content": "The user likes figs and owns 7 houses", "quote": "I like figs"},
            {"content": "The user is a doctor", "quote": "I am a doctor"},
        ]
        del messages, schema
        return json.dumps({"summary": "They talked.", "facts": [{**fact, **lie} for lie in lies] + ["nothing", {}]})

    async with opened(tmp_path, chat=ScriptedChat(liar), extraction="turn", **APART) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "I like figs.")
        await session.add("assistant", "Noted.")
        await memory.work()
        assert await known(memory) == []
        doubtful = await memory.facts.review(user="ann")
        assert all(fact.state is FactState.REVIEW and fact.doubt for fact in doubtful)
        assert all("doctor" not in fact.content for fact in doubtful)
        context = await session.context("Tell me about figs")
        assert not [message for message in context.messages if message.section is SectionName.FACTS]
