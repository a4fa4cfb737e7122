"""SIGTERM and SIGINT under load (F13; I7, I9): out in time, nothing acknowledged is lost, nobody waits for a lease."""

from __future__ import annotations

import http.client
import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.faults.laws import check_sound, check_whole, log_of
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, rows
from tests.processes import until

from anaphora.testing.faults import Fault, SlowDrip, Timeout
from anaphora.testing.model_server import ScriptedModelServer
from anaphora.testing.summaries import faithful_summary

pytestmark = pytest.mark.faults

#: seconds within which a process has to be gone
IN_TIME = 5.0
#: seconds for which jobs are claimed: nobody could wait for that
HELD = 600.0
#: seconds of load before the signal
LOAD = 0.7
#: who talk to a server at the same time
CLIENTS = 4
#: sessions with work to do
BUSY = 150


def told_to_end(nursery: Nursery, child: Child, number: signal.Signals) -> tuple[int | None, float]:
    """Its exit code, and how many seconds it took."""
    child.signal(number)
    told = time.monotonic()
    code = nursery.reap(child)
    return code, time.monotonic() - told


def check_released(path: Place) -> None:
    """No job is left to anybody: the next worker need not wait for a lease. What was given back was not counted."""
    assert rows(path, "select state, lease_owner from jobs where state = 'running' or lease_owner is not null") == []
    assert rows(path, "select attempt from jobs where state = 'queued' and attempt > 0 and reason is null") == []


def check_took(path: Place, child: Child) -> int:
    """Every acknowledged message is in its place; at most one a task is there that was not acknowledged (I7)."""
    check_whole(path)
    took = {(task, int(number)): int(seq) for task, number, seq in child.notes("took")}
    tasks = {task for task, _ in child.notes("begin")}
    for task in tasks:
        log = log_of(path, f"t{task}")
        acked = {number: seq for (whose, number), seq in took.items() if whose == task}
        assert acked == {number: number for number in range(len(acked))}
        assert log == [f"{task} {number}" for number in range(len(log))]
        assert len(acked) <= len(log) <= len(acked) + 1
    return len(took)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", ["application", "careless", "blocking"])
def test_an_application_ends_in_time_and_keeps_what_it_acknowledged(
    program: str, number: signal.Signals, nursery: Nursery, new: Callable[..., Place]
) -> None:
    path = new()
    child = nursery.start(program, db=str(path), lease=HELD)
    child.wait_for("open")
    time.sleep(LOAD)
    code, seconds = told_to_end(nursery, child, number)
    print(f"gone after {seconds:.2f} s")
    assert code == 0, child.errors()
    assert child.errors() == ""
    assert seconds <= IN_TIME
    taken = check_took(path, child)
    assert taken > 20, "hollow run: there was no load"
    check_released(path)
    check_sound(path)


def test_a_server_that_is_told_to_end_has_kept_every_message_that_it_answered(
    nursery: Nursery, new: Callable[..., Place]
) -> None:
    """The application of the guide under uvicorn, which ends by the signal that it was told to end by."""
    path = new()
    child = nursery.start("served", db=str(path), lease=HELD)
    child.wait_for("port")
    ((port,),) = child.notes("port")
    with ThreadPoolExecutor(CLIENTS) as clients:
        talks = [clients.submit(talk_to, int(port), client) for client in range(CLIENTS)]
        time.sleep(2 * LOAD)
        code, seconds = told_to_end(nursery, child, signal.SIGTERM)
    print(f"gone after {seconds:.2f} s")
    assert code == -signal.SIGTERM
    assert child.notes("closed") == [[]], "the memory was not closed"
    assert child.errors() == ""
    assert seconds <= IN_TIME
    check_whole(path)
    for client, talk in enumerate(talks):
        taken = talk.result()
        log = log_of(path, f"s{client}")
        assert taken > 5, "hollow run: there was no load"
        assert log == [f"{client} {number}" for number in range(len(log))]
        assert taken <= len(log) <= taken + 1
    check_released(path)
    check_sound(path)


def talk_to(port: int, client: int) -> int:
    """Send one message after the other until the server is gone; how many it answered."""
    taken = 0
    with (
        closing(http.client.HTTPConnection("127.0.0.1", port)) as connection,
        suppress(OSError, http.client.HTTPException),
    ):
        while True:
            connection.request("POST", f"/s{client}/{taken}")
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            assert json.loads(body) == {"seq": taken}
            taken += 1
    return taken


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(
        responders={"incremental_summary": lambda request: faithful_summary(request.last_user_text)}
    ) as running:
        yield running


@pytest.fixture
def command(server: ScriptedModelServer, nursery: Nursery) -> Callable[..., Child]:
    """Starts the command `anaphora worker` on a database with much to do, beside a process that appends."""

    def start(path: Place, fault: Fault | None, *, model: bool = True) -> Child:
        nursery.run("populate", db=str(path), count=BUSY, head=8)
        server.reset()
        server.fault = fault
        environment = {
            "ANAPHORA_MODEL": "openai:scripted",
            "ANAPHORA_BASE_URL": server.base_url,
            "ANAPHORA_API_KEY": "k",
        }
        told: dict[str, Any] = {"db": str(path), "words": ["worker", "--concurrency", "3"]}
        lease = {"ANAPHORA_WORKER__LEASE_SECONDS": str(HELD)}
        return nursery.start("anaphora", environment={**lease, **(environment if model else {})}, **told)

    return start


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("model", "fault"), [(False, None), (True, None), (True, SlowDrip(seconds=0.05))])
def test_a_worker_that_is_told_to_end_gives_back_what_it_has_not_done(
    model: bool,
    fault: Fault | None,
    number: signal.Signals,
    command: Callable[..., Child],
    nursery: Nursery,
    new: Callable[..., Place],
) -> None:
    path = new()
    child = command(path, fault, model=model)
    loader = nursery.start("application", db=str(path), lease=HELD, worker=False)
    loader.wait_for("open")
    until(lambda: child.errors().count(": done") >= 3)
    code, seconds = told_to_end(nursery, child, number)
    loader.signal(signal.SIGTERM)
    assert nursery.reap(loader) == 0
    print(f"gone after {seconds:.2f} s")
    assert code == 0, child.errors()
    assert "Traceback" not in child.errors()
    assert seconds <= IN_TIME
    check_took(path, loader)
    assert rows(path, "select 1 from jobs where state = 'queued' limit 1") != [], "hollow run: nothing was left to do"
    check_released(path)
    check_sound(path)


@pytest.mark.parametrize("program", ["application", "blocking", "worker"])
def test_a_process_whose_model_hangs_is_gone_in_time_and_nobody_waits_for_its_lease(
    program: str,
    command: Callable[..., Child],
    server: ScriptedModelServer,
    nursery: Nursery,
    new: Callable[..., Place],
) -> None:
    path = new()
    if program == "worker":
        child = command(path, Timeout())
        until(lambda: len(server.requests) == 3)
    else:
        child = nursery.start(program, db=str(path), lease=HELD, model="hanging")
        child.wait_for("asked")
    assert rows(path, "select count(*) > 0 from jobs where state = 'running'") == [(1,)], (
        "hollow run: no model is asked"
    )
    code, seconds = told_to_end(nursery, child, signal.SIGTERM)
    print(f"gone after {seconds:.2f} s")
    assert code == 0, child.errors()
    assert "Traceback" not in child.errors()
    if program != "worker":
        check_took(path, child)
    check_released(path)
    check_sound(path)
    assert seconds <= IN_TIME


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_an_import_that_is_interrupted_keeps_what_is_in_and_goes_on_when_it_is_run_again(
    number: signal.Signals, expected: int, nursery: Nursery, new: Callable[..., Place], tmp_path: Path
) -> None:
    path, chats, messages = new(), tmp_path / "chats.jsonl", 8000
    said = [{"role": "user", "content": f"{number} was said"} for number in range(messages)]
    chats.write_text(json.dumps({"session": "s", "messages": said}) + "\n", encoding="utf-8")
    told: dict[str, Any] = {"db": str(path), "words": ["import", str(chats), "--user", "u"]}
    child = nursery.start("anaphora", **told)
    until(lambda: count_of(path) > 0)
    code, seconds = told_to_end(nursery, child, number)
    assert code == expected
    assert child.errors() == ""
    assert seconds <= IN_TIME
    assert 0 < len(log_of(path)) < messages, "hollow run: it was not interrupted in the middle"
    nursery.run("anaphora", **told)
    assert [int(text.partition(" ")[0]) for text in log_of(path)] == list(range(messages))
    check_sound(path)


def count_of(path: Place) -> int:
    """How many messages there are, as soon as there is a place for them."""
    if isinstance(path, Path):
        if not (path.exists() and path.stat().st_size > 0 and Path(f"{path}-wal").exists()):
            return 0
        if rows(path, "select 1 from sqlite_master where name = 'messages'") == []:
            return 0
    ((count,),) = rows(path, "select count(*) from messages")
    return int(count)
