"""I9, I17, I20: whatever a model server does, appends and contexts go on, and all is caught up with."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import LONG, block, check_account, check_spoken_for, conversation, opened, say, served, settle

from anaphora import Memory
from anaphora.domain.jobs import JobState
from anaphora.domain.summaries import Method
from anaphora.memory import Session
from anaphora.testing import FakeClock, faults
from anaphora.testing.faults import Fault
from anaphora.testing.model_server import Request, ScriptedModelServer
from anaphora.testing.summaries import canaries, faithful_summary

pytestmark = pytest.mark.anyio

#: every way to fail, and whether another attempt may help
FAULTS: dict[Fault, bool] = {
    faults.Timeout(): True,
    faults.RateLimited(): True,
    faults.RateLimited(retry_after=20): True,
    faults.ServerError(): True,
    faults.ServerError(503): True,
    faults.BadKey(): False,
    faults.UnknownModel(): False,
    faults.BadRequest(): False,
    faults.BrokenBody(): True,
    faults.Dropped(): True,
    faults.SlowDrip(0.2): True,
    faults.EndlessStream(): True,
    faults.Empty(): True,
    faults.Garbage(): True,
    faults.TooLong(): True,
    faults.TruncatedJson(): True,
    faults.CutOff(): True,
    faults.Refusal(): True,
    faults.Filtered(): True,
    faults.ToolCallInsteadOfText(): True,
    faults.WrongIds(): True,
}


def faithful(request: Request) -> str:
    return faithful_summary(request.last_user_text)


@pytest.fixture(scope="module")
def running() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(responders={"incremental_summary": faithful}) as server:
        yield server


@pytest.fixture
def server(running: ScriptedModelServer) -> ScriptedModelServer:
    running.reset()
    return running


@asynccontextmanager
async def connected(
    folder: Path, server: ScriptedModelServer, clock: FakeClock, *, timeout: float = 10.0
) -> AsyncIterator[Memory]:
    wanted: dict[str, Any] = {"model": "openai:scripted", "base_url": server.base_url, "timeout": timeout}
    async with opened(folder, clock=clock, **wanted) as memory:
        yield memory


async def goes_on(session: Session, head: int) -> int:
    """Appends and contexts work, without waiting for the model, and within the account."""
    with anyio.fail_after(60):
        await say(session, 1, start=head)
        context = await session.context("and now?")
    check_account(context, head + 1)
    return head + 1


def test_every_fault_that_the_server_knows_is_tried() -> None:
    known = {kind for _, kind in inspect.getmembers(faults, inspect.isclass) if "spoil" in vars(kind)} - {Fault}
    # what a server of embeddings does wrong is tried in tests/models/test_remote_embedder.py
    of_vectors = {faults.NotANumber, faults.NoDirection, faults.WrongDimensions, faults.MissingVector}
    assert {type(fault) for fault in FAULTS} == known - of_vectors


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_fault_costs_no_message_and_is_caught_up_with(
    tmp_path: Path, server: ScriptedModelServer, fault: Fault
) -> None:
    clock = FakeClock()
    hangs = isinstance(fault, faults.Timeout | faults.SlowDrip | faults.EndlessStream)
    async with connected(tmp_path, server, clock, timeout=0.3 if hangs else 10.0) as memory:
        session = conversation(memory)
        await say(session, 11)
        server.fault = fault
        head, attempts = 11, 0
        while not await session.summaries():
            await memory.work()
            head = await goes_on(session, head)
            attempts += 1
            assert attempts <= 5, "I9: it never ends"
            await clock.advance(LONG)
        assert attempts == (5 if FAULTS[fault] else 1)
        (first, *_) = reversed(await session.summaries())
        assert first.method is Method.DIGEST
        assert first.model is None
        assert {m for s in await session.summaries() for m in (p.method for p in s.points)} == {Method.DIGEST}
        assert (await session.context()).degraded == ("model",)
        (job,) = [job for job in await memory.jobs.list() if job.state is JobState.FAILED and job.kind == "summarise"]
        assert job.reason
        assert "\n" not in job.reason

        server.fault = None
        await settle(memory, clock)
        context = await session.context()
        check_account(context, head)
        check_spoken_for(context)
        assert context.degraded == ()
        newest = await served(session)
        assert newest is not None
        assert {point.method for point in newest.points} == {Method.MODEL}
        assert newest.model == "openai:scripted"


async def test_a_slow_answer_that_comes_in_time_is_taken(tmp_path: Path, server: ScriptedModelServer) -> None:
    async with connected(tmp_path, server, FakeClock()) as memory:
        await say(conversation(memory), 11)
        server.fault = faults.SlowDrip(0.005)
        await memory.work()
        summary = await served(conversation(memory))
        assert summary is not None
        assert summary.method is Method.MODEL


async def test_the_server_is_not_asked_before_the_time_that_it_named(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    clock = FakeClock()
    async with connected(tmp_path, server, clock) as memory:
        session = conversation(memory)
        await say(session, 11)
        server.fail_next(faults.RateLimited(retry_after=90))
        await memory.work()
        assert (await memory.jobs.list())[0].run_at == clock.now() + timedelta(seconds=90)
        for head in range(11, 19):
            await clock.advance(10)
            await say(session, 1, start=head)
            await memory.work()
        assert len(server.requests) == 1
        await clock.advance(10)
        await memory.work()
        assert len(server.requests) == 2
        assert await served(session) is not None


async def test_a_model_that_fails_now_and_then_leaves_no_trace(tmp_path: Path, server: ScriptedModelServer) -> None:
    """F8: 30 % faults; every message is summed up by the model in the end, with at most twice the calls."""
    clock = FakeClock()
    server.fail_sometimes(faults.ServerError(503), probability=0.3, seed=4)
    async with connected(tmp_path, server, clock) as memory:
        session = conversation(memory)
        for head in range(0, 120, 2):
            await say(session, 2, start=head)
            await memory.work()
            await clock.advance(7)
            check_account(await session.context(), head + 2)
        await settle(memory, clock)
        newest = await served(session)
        assert newest is not None
        assert {point.method for point in newest.points} == {Method.MODEL}
        assert newest.range.stop > 120 - 17
        assert len(server.requests) <= 2 * (120 // 8)


async def test_the_old_version_is_read_until_the_digest_is_done_anew(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    """A good version, then a digest on top of it: the good points stay, and only what came after them is done anew."""
    clock = FakeClock()
    async with connected(tmp_path, server, clock) as memory:
        session = conversation(memory)
        await say(session, 12)
        await memory.work()
        good = await served(session)
        assert good is not None
        server.fault = faults.UnknownModel()
        await say(session, 8, start=12)
        await memory.work()
        digest = await served(session)
        assert digest is not None
        assert digest.base_id == good.id
        assert digest.points[: len(good.points)] == good.points
        assert digest.points[-1].method is Method.DIGEST
        assert canaries(block(await session.context())) >= set(range(good.range.stop))

        server.fault = None
        asked = len(server.requests)
        await clock.advance(60)
        seen = (await session.context()).coverage.summary_id
        assert seen == digest.id
        await memory.work()
        anew = await served(session)
        assert anew is not None
        assert (anew.base_id, anew.range, anew.method) == (good.id, digest.range, Method.MODEL)
        assert len(server.requests) == asked + 1
        (again,) = server.requests[asked:]
        assert "#0#" not in again.last_user_text.partition("\nNEW\n")[2], "what the model has done is not done twice"


async def test_one_success_pulls_waiting_work_of_other_sessions_forward(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    clock = FakeClock()
    async with connected(tmp_path, server, clock) as memory:
        server.fault = faults.BadKey()
        waiting = [conversation(memory, session=f"s{n}") for n in range(3)]
        for session in waiting:
            await say(session, 12)
        await memory.work()
        assert [(await session.context()).degraded for session in waiting] == [("model",)] * 3
        server.fault = None
        await clock.advance(1)
        assert await memory.work() == 0, "nobody knows yet that the model is back"
        await say(conversation(memory, session="new"), 12)
        await memory.work()
        assert [(await session.context()).degraded for session in waiting] == [()] * 3


async def test_an_outage_that_outlasts_every_attempt_is_caught_up_with_too(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    """The re-do of a digest fails as well, again and again; then the model is back, and nobody writes a word."""
    clock = FakeClock()
    async with connected(tmp_path, server, clock) as memory:
        session = conversation(memory)
        await say(session, 12)
        server.fault = faults.ServerError(503)
        for _ in range(100):
            await memory.work()
            await clock.advance(LONG)
        assert (await session.context()).degraded == ("model",)
        assert len(server.requests) <= 40, "the pauses grow"
        server.fault = None
        for _ in range(100):
            await memory.work()
            await clock.advance(LONG)
        assert (await session.context()).degraded == (), "caught up within as long again as the outage was"
        assert await memory.jobs.live() == 0
