"""Search by meaning with an embedder behind HTTP: its vectors, its faults, and its successor."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.domain.jobs import JobKind, JobState
from anaphora.errors import ConfigError
from anaphora.settings import load
from anaphora.testing import FakeClock, faults
from anaphora.testing.embeddings import by_topics
from anaphora.testing.faults import Fault
from anaphora.testing.model_server import ScriptedModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.sqlite_only]

KEY = "sk-very-secret-key"
SAID = ("My dog is called Rex.", "I am allergic to peanuts.", "The office moved to Lisbon in March.")
TOPICS = {"pets": ["dog", "pet"], "food": ["allergic", "peanuts", "eat"], "places": ["office", "lisbon", "work"]}
QUESTION = "Which pet do they own?"
EMBEDDER, UNUSABLE = "embedder openai:small", "the model's answer was not usable"
#: each fault, and how the reason begins that the job tells
FAULTS: tuple[tuple[Fault, str], ...] = (
    (faults.RateLimited(20), EMBEDDER),
    (faults.ServerError(503), EMBEDDER),
    (faults.BrokenBody(), EMBEDDER),
    (faults.Dropped(), EMBEDDER),
    (faults.BadKey(), EMBEDDER),
    (faults.UnknownModel(), EMBEDDER),
    (faults.NotANumber(), f"{UNUSABLE} (out_of_range)"),
    (faults.NoDirection(), f"{UNUSABLE} (out_of_range)"),
    (faults.WrongDimensions(2), f"{UNUSABLE} (out_of_range)"),
    (faults.MissingVector(), f"{UNUSABLE} (unparsable)"),
)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(embed=by_topics(TOPICS)) as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@asynccontextmanager
async def opened(path: Path, server: ScriptedModelServer, **options: Any) -> AsyncIterator[Memory]:
    """A memory with the server's embedder, whose work is done when the test says so."""
    given: dict[str, Any] = {"embedder": "openai:small", "embedder_base_url": server.base_url, "worker": False}
    async with Memory.open(path, **(given | options)) as memory:
        yield memory


async def tell(memory: Memory) -> None:
    chat = memory.session(user="ann", session="s")
    for text in SAID:
        await chat.add("user", text)


def kept(path: Path) -> dict[str, int]:
    """How many vectors are on the disk, by their spaces."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT space, count(*) FROM message_vectors GROUP BY space"))


def place(server: ScriptedModelServer) -> str:
    return server.base_url.removeprefix("http://").removesuffix("/v1")


async def test_a_question_finds_its_answer_without_sharing_a_word(path: Path, server: ScriptedModelServer) -> None:
    async with opened(path, server) as memory:
        await tell(memory)
        assert await memory.work() == 1
        found = await memory.search(QUESTION, user="ann", limit=1)
    assert [hit.message.content for hit in found] == [SAID[0]]
    assert (found.degraded, found[0].words) == ((), ())
    assert found[0].relevance > 0.5
    assert kept(path) == {f"openai:small@{place(server)}/32": len(SAID)}
    word, together, *_ = server.embeddings.requests
    assert word.texts == ("word",), "how long its vectors are is asked once"
    assert together.texts == SAID, "three messages are one request"


async def test_opening_and_writing_touch_no_network(path: Path) -> None:
    with ScriptedModelServer() as server:
        async with opened(path, server) as memory:
            await tell(memory)
            assert len(await memory.session(user="ann", session="s").messages()) == len(SAID)
        assert server.embeddings.requests == ()
    async with opened_after(path, server_url="http://127.0.0.1:9/v1") as memory:
        assert len(await memory.session(user="ann", session="s").messages()) == len(SAID)


@asynccontextmanager
async def opened_after(path: Path, *, server_url: str) -> AsyncIterator[Memory]:
    """A memory whose embedder nobody answers for."""
    async with Memory.open(path, embedder="openai:small", embedder_base_url=server_url, worker=False) as memory:
        yield memory


async def test_a_search_whose_embedder_cannot_be_reached_goes_by_words_and_says_so(path: Path) -> None:
    async with opened_after(path, server_url="http://127.0.0.1:9/v1") as memory:
        await tell(memory)
        found = await memory.search("peanuts", user="ann")
        context = await memory.session(user="ann", session="new").context("Are there peanuts?")
    assert [hit.message.content for hit in found] == [SAID[1]]
    assert found.degraded == ("embedder",)
    assert "embedder" in context.degraded


@pytest.mark.parametrize(("fault", "reason"), FAULTS, ids=str)
@pytest.mark.parametrize("dimensions", [None, 32])
async def test_a_fault_stores_nothing_and_when_it_is_over_everything_is_found(
    path: Path, server: ScriptedModelServer, fault: Fault, reason: str, dimensions: int | None
) -> None:
    clock = FakeClock()
    options = {"overrides": Overrides(clock=clock), "embedder_dimensions": dimensions}
    async with opened(path, server, **options) as memory:
        await tell(memory)
        if dimensions is None:
            await memory.search("What is their length?", user="ann")  # else another length would be the first one
        server.embeddings.reset()
        server.embeddings.fault = fault
        await memory.work()
        assert server.embeddings.requests, "the fault was met"
        assert kept(path) == {}
        (job,) = await memory.jobs.list()
        assert job.kind is JobKind.EMBED
        assert job.state is JobState.QUEUED
        assert job.reason is not None
        assert job.reason.startswith(reason)
        assert "\n" not in job.reason
        server.embeddings.fault = None
        await clock.advance(60)
        assert await memory.work() == 1
        found = await memory.search(QUESTION, user="ann", limit=1)
        assert ([hit.message.content for hit in found], found.degraded) == ([SAID[0]], ())
    assert sum(kept(path).values()) == len(SAID)


async def test_a_rate_limit_is_waited_for(path: Path, server: ScriptedModelServer) -> None:
    clock = FakeClock()
    async with opened(path, server, overrides=Overrides(clock=clock)) as memory:
        await tell(memory)
        server.embeddings.fail_next(faults.RateLimited(20))
        await memory.work()
        await clock.advance(19)
        assert await memory.work() == 0
        await clock.advance(1)
        assert await memory.work() == 1
    assert sum(kept(path).values()) == len(SAID)


async def test_the_vectors_of_two_embedders_are_never_compared(path: Path, server: ScriptedModelServer) -> None:
    async with opened(path, server) as memory:
        await tell(memory)
        await memory.work()
    # the second one has vectors of the same length that mean something else
    turned = {"places": TOPICS["places"], "pets": TOPICS["pets"], "food": TOPICS["food"]}
    first = f"openai:small@{place(server)}/32"
    with ScriptedModelServer(embed=by_topics(turned)) as other:
        second = f"openai:large@{place(other)}/32"
        async with opened(path, other, embedder="openai:large") as memory:
            before = await memory.search(QUESTION, user="ann")
            assert (len(before), before.degraded) == (0, ("vectors",))
            assert kept(path) == {first: len(SAID)}
    assert second not in kept(path)


async def test_a_secret_key_is_in_no_log_error_or_repr(
    path: Path, server: ScriptedModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = load(embedder="openai:small", embedder_api_key=KEY, embedder_base_url=server.base_url, db=str(path))
    async with Memory.open(settings=settings, worker=False) as memory:
        await tell(memory)
        for fault in (faults.BadKey(), faults.ServerError()):
            server.embeddings.fail_next(fault)
            await memory.work()
            await memory.jobs.retry()
        (job,) = await memory.jobs.list()
        assert server.embeddings.requests[0].headers["authorization"] == f"Bearer {KEY}"
        shown = [caplog.text, repr(settings), str(job), settings.model_dump_json()]
    assert caplog.text
    assert all(KEY not in text for text in shown)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("opnai:small", "did you mean 'openai'"),
        ("lokal", "did you mean 'local'"),
        ("openai:small", "set OPENAI_API_KEY"),
    ],
)
async def test_an_embedder_that_cannot_be_is_one_line_that_says_what_to_do(path: Path, name: str, line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        async with Memory.open(path, embedder=name):
            pass
    assert "\n" not in str(caught.value)


async def test_how_cosines_are_read_can_be_set(path: Path, server: ScriptedModelServer) -> None:
    relevance: list[float] = []
    for even in (0.2, 0.9):
        async with opened(path, server, embedder_profile={"even_cosine": even}) as memory:
            if not relevance:
                await tell(memory)
            await memory.work()
            (hit,) = await memory.search(QUESTION, user="ann", limit=1)
            relevance.append(hit.relevance)
    assert relevance[0] > 0.9
    assert relevance[1] < 0.6
