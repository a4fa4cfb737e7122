"""T11: what is logged has a name and holds ids and numbers only; what was said is in no log, at no level."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import LONG, by_turns, conversation, opened, say, settle

from anaphora.domain.jobs import JobKind
from anaphora.errors import AnaphoraError, ModelUnavailable
from anaphora.ports.store import Unit
from anaphora.testing import FakeClock, faults
from anaphora.testing.model_server import Request, ScriptedModelServer
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

CANARY = "xyzzy"
#: the same letters in other shapes, as an escaped or encoded copy would hold them
SHAPES = (CANARY, CANARY.encode().hex(), "eHl6enk")


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, str]]:
    return [
        (getattr(r, "event", ""), r.levelno, r.getMessage()) for r in caplog.records if r.name.startswith("anaphora")
    ]


def named(caplog: pytest.LogCaptureFixture, event: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if getattr(record, "event", None) == event]


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


async def test_a_summary_is_an_event_with_its_range_and_its_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    chat = ScriptedChat(by_turns)
    async with opened(tmp_path, chat=chat, clock=clock, strategy="sliding_window") as memory:
        chat.pause = lambda: clock.advance(1.25)
        await say(conversation(memory), 6)
        await memory.work()
        (row,) = await memory.sessions()
    (record,) = named(caplog, "summarised")
    assert record.levelno == logging.INFO
    assert record.getMessage() == f"Summarised messages 0-5 for {row.id} in 1250 ms"
    assert (record.__dict__["start"], record.__dict__["stop"]) == (0, 6)
    assert record.__dict__["session_id"] == str(row.id)
    assert not named(caplog, "window_dropped")


async def test_what_a_window_drops_is_an_event_each_time_it_moves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, chat=ScriptedChat(by_turns), strategy="sliding_window") as memory:
        for start in range(0, 20, 2):
            await say(conversation(memory), 2, start=start)
            await memory.work()
        (row,) = await memory.sessions()
    dropped = named(caplog, "window_dropped")
    assert [r.getMessage() for r in dropped] == [
        f"Sliding window: dropping seq 0-{last} for {row.id}" for last in (1, 3, 5)
    ]
    assert {r.levelno for r in dropped} == {logging.INFO}


async def test_nothing_new_is_a_debug_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A job that finds its range already summarised: planned again by hand after it was done."""
    async with opened(tmp_path, chat=ScriptedChat()) as memory:
        session = conversation(memory)
        await say(session, 12)
        await memory.work()
        services = memory._services
        row = await services.sessions.find(session.key)
        assert row is not None

        def plan(unit: Unit) -> bool:
            now, planning = services.clock.now(), services.sessions.planning
            return planning._plan(unit, row, JobKind.SUMMARISE, now=now, run_at=now)

        assert await services.store.write(session.key.tenant, plan)
        assert await memory.work() == 1
    (record,) = named(caplog, "nothing_new")
    assert record.levelno == logging.DEBUG
    assert record.getMessage() == f"No new messages to summarise for {row.id}"


async def test_work_that_is_in_progress_already_is_a_debug_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as memory:
        await say(conversation(memory), 9)
        assert not named(caplog, "already_in_progress")
        await say(conversation(memory), 2, start=9)
        (row,) = await memory.sessions()
    (record,) = named(caplog, "already_in_progress")
    assert record.levelno == logging.DEBUG
    assert str(row.id) in record.getMessage()


async def test_every_change_of_a_jobs_status_is_a_debug_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()

    def down(*_: object) -> str:
        raise ModelUnavailable("no answer")

    chat = ScriptedChat(down)
    async with opened(tmp_path, chat=chat, clock=clock) as memory:
        await say(conversation(memory), 12)
        await memory.work()
        chat.script = ScriptedChat().script
        await clock.advance(LONG)
        with anyio.CancelScope() as scope:

            async def stop() -> None:
                scope.cancel()
                await anyio.sleep_forever()

            chat.pause = stop
            await memory.work()
        chat.pause = ScriptedChat().pause
        await memory.work()
        (job,) = await memory.jobs.list()
    told = named(caplog, "status_changed")
    assert [r.__dict__["status"] for r in told] == ["running", "queued", "running", "queued", "running", "done"]
    assert {r.__dict__["job_id"] for r in told} == {str(job.id)}
    assert {r.levelno for r in told} == {logging.DEBUG}
    (retry,) = named(caplog, "retry")
    assert retry.levelno == logging.INFO


async def test_nothing_that_was_said_is_in_any_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A whole life: appends, refusals, summaries, failures of every sort, answers, searches, a rebuild, a reset."""
    clock = FakeClock()
    chat = ScriptedChat(_leaky)
    async with opened(tmp_path, chat=chat, clock=clock) as memory:
        session = conversation(memory, session=f"s-{CANARY}", instructions=f"Be {CANARY}.")
        for seq in range(30):
            meta = {CANARY: CANARY}
            await session.add(
                ("user", "assistant")[seq % 2], f"{CANARY} {seq}", name=CANARY, metadata=meta, key=f"{seq}"
            )
            if seq % 3 == 0:
                await memory.work()
                await clock.advance(LONG)
        for wrong in ({"content": f"{CANARY}\x00"}, {"role": CANARY}, {"metadata": {"a": object()}}, {"key": "1"}):
            with pytest.raises(AnaphoraError):
                await session.add(**({"role": "user", "content": CANARY} | wrong))
        await session.context(CANARY)
        await session.send(CANARY)
        await memory.search(CANARY, user="u")
        await session.rebuild()
        await settle(memory, clock)
        await session.end()
        await session.reset()
    assert {"summarised", "retry", "job_crashed", "status_changed"} <= {event for event, _, _ in events(caplog)}
    for record in caplog.records:
        whole = json.dumps({**record.__dict__, "text": caplog.handler.format(record)}, default=str)
        assert not [shape for shape in SHAPES if shape in whole], (record.name, record.msg)


_TURN = iter(range(10**6))


def _leaky(messages: Sequence[Any], schema: object) -> str:
    """Every third answer is good; the others repeat the conversation in places where nobody should print it."""
    if schema is None:
        return f"You said {CANARY}."
    match next(_TURN) % 3:
        case 0:
            raise ValueError(messages[-1].content)
        case 1:
            return json.dumps({"points": CANARY, CANARY: [messages[-1].content]})
    return by_turns(messages, {})


async def test_nothing_that_was_said_is_in_any_log_when_a_server_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Over HTTP, where errors repeat the prompt and the key."""

    def echo(request: Request) -> str:
        return f"{CANARY} {request.last_user_text}"

    clock = FakeClock()
    with ScriptedModelServer(responders={"incremental_summary": echo}) as server:
        model: dict[str, Any] = {
            "model": "openai:scripted",
            "base_url": server.base_url,
            "api_key": f"sk-{CANARY}",
            "timeout": 10.0,
        }
        async with opened(tmp_path, clock=clock, **model) as memory:
            for n, fault in enumerate((faults.BadKey(), faults.BadRequest(), faults.ServerError(), None)):
                server.fault = fault
                for seq in range(12):
                    await conversation(memory, session=f"s{n}").add("user", f"{CANARY} {seq}")
                await memory.work()
                await clock.advance(5)
    assert len(events(caplog)) > 10
    assert [r.name for r in caplog.records if CANARY in caplog.handler.format(r) + repr(r.__dict__)] == []
