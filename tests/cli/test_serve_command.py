"""`anaphora serve`: who may reach it, where it listens, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.cli.conftest import Run
from tests.processes import lives, until

from anaphora.server.connections import MOST_HEAD

SERVE = [sys.executable, "-c", "import sys; from anaphora.cli import main; sys.exit(main())", "serve"]
LISTENS = re.compile(r"listens on http://(\S+?):(\d+) ")


@contextmanager
def serving(home: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], int, list[str]]]:
    """The service as its own process, its port, and what it said until it listened."""
    process = subprocess.Popen(
        [*SERVE, "--port", "0", *words],
        cwd=home,
        env={**os.environ, "ANAPHORA_EMBEDDER": "none"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said: list[str] = []
    try:
        for line in process.stderr:
            said.append(line)
            if found := LISTENS.search(line):
                assert found[1] == "127.0.0.1"
                yield process, int(found[2]), said
                break
        else:
            pytest.fail(f"it did not listen: {said}")
    finally:
        process.kill()
        process.communicate()


def ask(port: int, path: str, *, key: str | None = None, body: object = None) -> tuple[int, str]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}{path}", data=data, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_it_serves_who_has_a_key_and_ends_when_told_with_what_was_said_kept(run: Run, home: Path) -> None:
    key = run("keys", "create", "--user", "ann", "--scopes", "all", "--json").document["key"]
    with serving(home, "--json-logs") as (process, port, said):
        assert len(said) == 1
        assert ask(port, "/v1/sessions")[0] == 401
        said_it = {"role": "user", "content": "I'm allergic to peanuts."}
        assert ask(port, "/v1/sessions/s1/messages", key=key, body=said_it)[0] == 201
        assert ask(port, "/ready")[0] == 200
        assert 'route="/v1/sessions/{session}/messages",status="201"' in ask(port, "/metrics")[1]
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (0, "")
        assert time.monotonic() - began <= 5
        lines = [json.loads(line) for line in err.splitlines()]
        assert [(line["route"], line["status"]) for line in lines] == [
            ("/v1/sessions", 401),
            ("/v1/sessions/{session}/messages", 201),
            ("/ready", 200),
            ("/metrics", 200),
        ]
        assert "peanut" not in err
    assert "peanuts" in run("history", "--user", "ann", "--session", "s1").out


def test_ctrl_c_ends_it_while_somebody_waits_for_an_answer(home: Path) -> None:
    with serving(home, "--no-auth", "--user", "ann") as (process, port, _):
        with socket.create_connection(("127.0.0.1", port)) as half:
            half.sendall(b"POST /v1/sessions/s/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
            assert ask(port, "/health")[0] == 200
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
        assert time.monotonic() - began <= 5
        assert "Traceback" not in err


def test_without_keys_everybody_on_this_machine_is_one_person(run: Run, home: Path) -> None:
    with serving(home, "--no-auth", "--user", "ann", "--no-worker") as (_, port, _):
        assert ask(port, "/v1/sessions/s1/messages", body={"role": "user", "content": "Hello."})[0] == 201
    assert "Hello." in run("history", "--user", "ann", "--session", "s1").out


def test_a_head_that_does_not_end_is_not_kept(run: Run, home: Path) -> None:
    key = run("keys", "create", "--user", "ann", "--scopes", "all", "--json").document["key"]
    with serving(home) as (_, port, _):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as asking:
            asking.sendall(b"GET /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: ".ljust(MOST_HEAD + 1, b"x"))
            assert asking.makefile("rb").read().startswith(b"HTTP/1.1 431 ")
        for before in (b"", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as asking:
                long = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: %b\r\n\r\n" % (b"x" * 120_000)
                asking.sendall(before + long)
                assert b"HTTP/1.1 431 " in asking.makefile("rb").read()
        assert ask(port, f"/v1/sessions?start={'x' * 60_000}", key=key)[0] == 200
        large = {"role": "user", "content": "word " * 100_000}
        assert ask(port, "/v1/sessions/s1/messages", key=key, body=large)[0] == 201
        assert ask(port, "/v1/sessions", key=key)[0] == 200


def test_without_any_key_it_starts_here_and_says_how_to_make_one(home: Path) -> None:
    with serving(home) as (_, port, said):
        assert "anaphora keys create" in said[0]
        assert ask(port, "/v1/sessions")[0] == 401


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--no-auth", "--user", "ann", "--host", "192.0.2.7"), 2, "needs keys"),
        (("--no-auth", "--user", "ann", "--host", "::"), 2, "needs keys"),
        (("--no-auth",), 2, "--user"),
        (("--user", "ann"), 2, "--no-auth"),
        (("--port", "65536"), 2, "65535"),
        (("--port", "many"), 2, "integer"),
    ],
)
def test_what_cannot_be_served_is_one_line(run: Run, home: Path, words: tuple[str, ...], code: int, says: str) -> None:
    done = run("serve", *words)
    assert done.code == code, done.err
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert home.is_dir()


def test_a_port_that_somebody_has_is_one_line(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", "--port", str(taken.getsockname()[1]))
    assert done.code == 1
    assert "in use" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_where_others_could_reach_it_nobody_is_served_without_a_key(home: Path) -> None:
    words = [*SERVE, "--host", "::ffff:127.0.0.1", "--port", "0"]
    done = subprocess.run(
        words, cwd=home, env={**os.environ, "ANAPHORA_EMBEDDER": "none"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "keys create" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that were started by it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(child) for child in children.split()]


def is_summarised(port: int) -> bool:
    """Whether there is a version of the session's summary by now."""
    return ask(port, "/v1/sessions/s1/summaries")[1] != "[]"


def test_a_worker_beside_it_summarises_and_goes_when_it_goes(home: Path) -> None:
    with serving(home, "--no-auth", "--user", "ann", "--json-logs") as (process, port, _):
        for number in range(24):
            body = {"role": ("user", "assistant")[number % 2], "content": f"Thing {number} was said."}
            assert ask(port, "/v1/sessions/s1/messages", body=body)[0] == 201
        until(lambda: is_summarised(port))
        (worker,) = workers_of(process)
        assert os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, process.pid)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 0
        assert not lives(worker)
        assert {json.loads(line)["event"] for line in err.splitlines()} == {"request"}


def test_a_worker_that_dies_is_started_again_and_the_log_says_so(home: Path) -> None:
    with serving(home, "--no-auth", "--user", "ann", "--json-logs") as (process, port, _):
        until(lambda: len(workers_of(process)) == 1)
        (first,) = workers_of(process)
        os.kill(first, signal.SIGKILL)
        until(lambda: workers_of(process) not in ([], [first]))
        assert ask(port, "/ready")[0] == 200
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    (told,) = (json.loads(line) for line in err.splitlines() if "worker" in line)
    assert told["level"] == "warning"
    assert "code -9" in err


def test_a_worker_does_not_outlive_a_service_that_is_killed(home: Path) -> None:
    with serving(home, "--no-auth", "--user", "ann") as (process, _, _):
        until(lambda: [lives(worker) for worker in workers_of(process)] == [True])
        (worker,) = workers_of(process)
        process.kill()
        until(lambda: not lives(worker))
        assert not lives(worker)


@pytest.mark.parametrize("how", ["none", "inside"])
def test_it_starts_no_process_where_none_is_wanted(home: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("ANAPHORA_SERVER__WORKER", how)
    with serving(home, "--no-auth", "--user", "ann") as (process, port, _):
        for number in range(24):
            assert ask(port, "/v1/sessions/s1/messages", body={"role": "user", "content": f"{number}"})[0] == 201
        if how == "inside":
            until(lambda: is_summarised(port))
        assert workers_of(process) == []


@pytest.mark.parametrize(("words", "says"), [((), "a pipe"), (("--once",), "--once"), (("--drain",), "--drain")])
def test_a_worker_is_attached_to_a_pipe_and_works_until_it_ends(run: Run, words: tuple[str, ...], says: str) -> None:
    assert run("migrate").code == 0
    done = run("worker", "--attached", *words)
    assert (done.code, says in done.complaint) == (2, True)
