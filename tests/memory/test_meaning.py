"""Search by meaning with the local embedder, as a newcomer has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from anaphora import Memory
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.wire import SectionName

pytestmark = pytest.mark.anyio

SAID = ("My dog is called Rex.", "I am allergic to peanuts.", "The office moved to Lisbon in March.")


async def tell(memory: Memory, session: str = "s", said: Sequence[str] = SAID) -> None:
    """A user says something."""
    chat = memory.session(user="ann", session=session)
    for text in said:
        await chat.add("user", text)


async def test_a_question_finds_its_answer_without_sharing_a_word(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "m.db"), embedder="local") as memory:
        await tell(memory)
        assert await memory.idle(60)
        found = await memory.search("Which pet do they own?", user="ann", limit=1)
        assert [hit.message.content for hit in found] == [SAID[0]]
        assert found.degraded == ()
        assert found[0].words == ()
        assert found[0].relevance > 0.5
        assert found[0].score == pytest.approx(sum(found[0].scores.values()))


async def test_until_vectors_are_there_words_are_compared_and_the_answer_says_so(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "m.db"), embedder="local", worker=False) as memory:
        await tell(memory)
        found = await memory.search("peanuts", user="ann")
        assert [hit.message.content for hit in found] == [SAID[1]]
        assert found.degraded == ("vectors",)
        assert await memory.work() == 1
        assert (await memory.search("peanuts", user="ann")).degraded == ()


async def test_what_is_written_without_an_embedder_waits_for_one(tmp_path: Path) -> None:
    path, nothing = str(tmp_path / "m.db"), str(tmp_path / "no models")
    async with Memory.open(path, embedder="local", models=nothing) as memory:
        await tell(memory)
        assert await memory.idle(10), "what nobody here can do is not waited for"
        found = await memory.search("peanuts", user="ann")
        assert ([hit.message.content for hit in found], found.degraded) == ([SAID[1]], ("embedder",))
        (job,) = await memory.jobs.list()
        assert (job.kind, job.state) == (JobKind.EMBED, JobState.QUEUED)
    async with Memory.open(path, embedder="local") as memory:
        assert await memory.idle(60)
        found = await memory.search("Which pet do they own?", user="ann", limit=1)
        assert ([hit.message.content for hit in found], found.degraded) == ([SAID[0]], ())


async def test_an_edit_is_found_by_its_new_meaning_and_not_by_the_old(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "m.db"), embedder="local") as memory:
        await tell(memory)
        assert await memory.idle(60)
        await memory.session(user="ann", session="s").edit(0, "We sail across the sea every summer.")
        assert await memory.idle(60)
        found = await memory.search("boating holidays", user="ann", limit=1)
        assert [hit.message.seq for hit in found] == [0]
        pets = await memory.search("Which pet do they own?", user="ann")
        assert all("Rex" not in hit.message.content for hit in pets)


async def test_a_context_quotes_what_was_said_in_another_session_as_data(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "m.db"), embedder="local") as memory:
        await tell(memory)
        await tell(memory, session="other user's", said=["Nothing of this matters."])
        assert await memory.idle(60)
        chat = memory.session(user="ann", session="new")
        context = await chat.context("What may I not eat?", budget=500)
        (quoted,) = [message for message in context.messages if message.section is SectionName.RELEVANT]
        assert "I am allergic to peanuts." in quoted.content
        assert (quoted.role, quoted.name) == ("user", "memory")
        assert context.tokens <= 500
        assert context.coverage.head == 0
        (line,) = [
            line for line in context.explain() if line.included and line.message == (replace(chat.key, session="s"), 1)
        ]
        assert line.scores is not None
        stranger = await memory.session(user="bob", session="new").context("What may I not eat?")
        assert all(message.section is not SectionName.RELEVANT for message in stranger.messages)
