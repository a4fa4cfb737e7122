"""Answers of a model that nobody can use: what they cost, and what they must not cost (I9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART, chunks, jobs, known, talk, tiling

from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Method
from anaphora.domain.wire import PromptMessage
from anaphora.errors import ModelUnavailable
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio

PATIENT: dict[str, Any] = {"worker": {"backoff_seconds": 0, "max_attempts": 5}}
JUNK = "I would rather not."


class Scripted(ScriptedChat):
    """Goes through what it was told, one answer a call: "down", "junk" or "good"; then on with the last of them."""

    def __init__(self, *told: str) -> None:
        super().__init__(self._answer)
        self.told = list(told)

    def _answer(self, messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        now = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if now == "down":
            raise ModelUnavailable("no connection")
        return JUNK if now == "junk" else faithful(messages, schema)


def breaks_on(word: str, *, anywhere: bool) -> Any:
    """A model that answers with junk where a word stands among the messages, or anywhere in the prompt."""

    def answer(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        shown = " ".join(message.content for message in messages) if anywhere else messages[-1].content
        return JUNK if word in (shown if anywhere else shown.partition("MESSAGES")[2]) else faithful(messages, schema)

    return answer


@pytest.mark.parametrize("extraction", ["batch", "turn"])
@pytest.mark.parametrize("outages", [1, 2, 3, 4])
async def test_one_unusable_answer_after_outages_leaves_nothing_to_rules(
    outages: int, extraction: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    chat = Scripted(*["down"] * outages, "junk", "good")
    async with opened(tmp_path, chat=chat, clock=clock, extraction=extraction, **APART, **PATIENT) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 10 if extraction == "batch" else 1)
        await session.end()
        for _ in range(3):
            await memory.work()
            await clock.advance(86_400)
        found = await chunks(memory, session)
        assert {chunk.method for chunk in found} == {Method.MODEL}
        assert (found[0].range.start, found[-1].range.stop) == (0, 20 if extraction == "batch" else 2)
        assert len(await known(memory)) == (10 if extraction == "batch" else 1)


@pytest.mark.parametrize("told", [["junk"], ["down", "junk"], ["down"] * 4 + ["junk"]])
async def test_whatever_a_model_does_reading_ends_and_rules_read_one_turn_at_a_time(
    told: list[str], tmp_path: Path
) -> None:
    clock, chat = FakeClock(), Scripted(*told)
    async with opened(tmp_path, chat=chat, clock=clock, extraction="batch", **APART, **PATIENT) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, 4)
        await session.end()
        for _ in range(8):
            await memory.work()
            await clock.advance(86_400)
        found = await chunks(memory, session)
        assert tiling(found) == [(0, 2), (2, 4), (4, 6), (6, 8)]
        assert {chunk.method for chunk in found} == {Method.DIGEST}
        assert len(chat.prompts) <= 4 * 5 + 2 * len(told) + 4


@pytest.mark.parametrize("max_attempts", [1, 2, 3, 5])
@pytest.mark.parametrize("place", [0, 7, 19])
async def test_only_the_turn_that_no_answer_fits_is_read_by_rules_however_few_attempts_there_are(
    place: int, max_attempts: int, tmp_path: Path
) -> None:
    chat = ScriptedChat(breaks_on("poison", anywhere=False))
    options: dict[str, Any] = {"worker": {"backoff_seconds": 0, "max_attempts": max_attempts}}
    async with opened(tmp_path, chat=chat, extraction="batch", **APART, **options) as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, place)
        await session.add("user", "I like poison.")
        await session.add("assistant", "Noted.")
        await talk(session, 19 - place, start=place + 1)
        await session.end()
        await memory.work()
        found = await chunks(memory, session)
        assert [chunk.range.start for chunk in found] == [0, *(chunk.range.stop for chunk in found[:-1])]
        assert found[-1].range.stop == 40
        odd = SeqRange(2 * place, 2 * place + 2)
        assert [chunk.range for chunk in found if chunk.method is Method.DIGEST] == [odd]
        assert [job.range for job in await jobs(memory) if job.state is JobState.FAILED] == [odd]


@pytest.mark.parametrize("max_attempts", [1, 5])
async def test_what_was_learned_from_an_odd_turn_spoils_no_later_one(max_attempts: int, tmp_path: Path) -> None:
    """Facts that are known stand in the prompt of whatever is read later."""
    chat = ScriptedChat()
    options: dict[str, Any] = {"worker": {"backoff_seconds": 0, "max_attempts": max_attempts}}
    async with opened(tmp_path, chat=chat, extraction="turn", **APART, **options) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "I like poison number 9.")
        await session.add("assistant", "Noted.")
        await memory.work()
        chat.script = breaks_on("poison", anywhere=True)
        for number in range(3):
            calls = len(chat.prompts)
            await talk(session, 1, start=number)
            await memory.work()
            assert "poison" in chat.prompts[calls][-1].content, "what is known is shown first"
            assert len(chat.prompts) - calls == 2
        assert [chunk.method for chunk in await chunks(memory, session)] == [Method.MODEL] * 4


async def test_what_is_known_spoils_no_summary_either(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat, extraction="batch", **PATIENT) as memory:
        await memory.facts.add("The user likes poison apples number 0", user="ann")
        chat.script = breaks_on("poison", anywhere=True)
        session = memory.session(user="ann", session="s")
        await talk(session, 10)
        await memory.work()
        summaries = await session.summaries()
        assert summaries
        assert {summary.method for summary in summaries} == {Method.MODEL}
