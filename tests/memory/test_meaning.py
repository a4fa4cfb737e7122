"""Search by meaning with the local embedder, as a newcomer has it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from anaphora import Memory
from anaphora.bench.hashing import HashingEmbedder
from anaphora.bootstrap import Overrides, open_services
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.wire import SectionName
from anaphora.errors import ModelUnavailable
from anaphora.settings import load

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


class AnswersTogether(HashingEmbedder):
    """Answers either of two calls only when the other has come as well."""

    def __init__(self) -> None:
        super().__init__(8)
        self.both = threading.Barrier(2, timeout=20)

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self._meet()
        return [[1.0, *[0.0] * 7] for _ in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        self._meet()
        return super().embed_query(text)

    def _meet(self) -> None:
        try:
            self.both.wait()
        except threading.BrokenBarrierError:
            raise ModelUnavailable("it was asked one thing after the other") from None


@pytest.mark.sqlite_only
async def test_a_question_waits_for_its_two_vectors_at_once(tmp_path: Path) -> None:
    given = Overrides(embedder=AnswersTogether())
    async with open_services(load(db=str(tmp_path / "m.db")), given) as services:
        asked = await services.retrieve.ask("Which pet do they own?")
    assert asked.degraded == ()
    assert asked.vector is not None
