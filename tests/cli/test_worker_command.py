"""`anaphora worker`: one job, all jobs, or until told to stop."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Run, conversation, write_lines

WORKER = [sys.executable, "-c", "import sys; from anaphora.cli import main; sys.exit(main())", "worker"]


def states(database: Path) -> dict[str, int]:
    """How many summarise jobs are in which state."""
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT state, count(*) FROM jobs WHERE kind = 'summarise' GROUP BY state"
        return dict(connection.execute(query).fetchall())


def test_drain_does_everything_and_says_so_a_line_a_job(run: Run, imported: Path) -> None:
    done = run("worker", "--drain", "--json")
    assert done.document == {"done": 3, "failed": 0, "waiting": 0}
    assert sorted(line.partition(" attempt")[0] for line in done.err.splitlines()) == [
        "summarise alice/default/1",
        "summarise alice/default/2",
        "summarise bob/default/1",
    ]
    assert states(imported) == {"done": 3}


def test_once_does_one_job(run: Run, imported: Path) -> None:
    assert run("worker", "--once", "--json").document == {"done": 1, "failed": 0, "waiting": 2}
    assert states(imported) == {"done": 1, "queued": 2}


def test_several_at_once_do_each_job_once(run: Run, home: Path) -> None:
    records = [conversation(12, session=str(number)) for number in range(12)]
    assert run("import", str(write_lines(home / "chats.jsonl", records))).code == 0
    assert run("worker", "--drain", "--concurrency", "4", "--json").document == {"done": 12, "failed": 0, "waiting": 0}


def test_nothing_to_do_is_no_failure(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    for words in (("--drain",), ("--once",)):
        done = run("worker", *words)
        assert (done.code, done.err) == (0, "0 jobs done, 0 not.\n")


def test_drain_waits_for_planned_retries_no_longer_than_told(run: Run, imported: Path) -> None:
    with closing(sqlite3.connect(imported)) as connection, connection:
        connection.execute("UPDATE jobs SET run_at = '2999-01-01T00:00:00.000000Z'")
    started = time.monotonic()
    done = run("worker", "--drain", "--timeout", "300ms")
    assert done.code == 1
    assert "3 jobs still waiting after 0.3 s" in done.err
    (told,) = [line for line in done.err.splitlines() if line.startswith("Waiting")]
    assert told.startswith("Waiting for 3 jobs that are planned for later, the next (summarise of ")
    assert told.endswith("Up to 0.3 s; Ctrl-C ends.")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--once", "--drain"), "one of the two"),
        (("--concurrency", "0"), "between 1 and 32"),
        (("--drain", "--timeout", "later"), "not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], says: str, run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("worker", *words)
    assert done.code == 2
    assert says in done.complaint


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_its_grace_and_leaves_nothing_running(
    told: signal.Signals, run: Run, home: Path
) -> None:
    records = [conversation(40, session=str(number)) for number in range(60)]
    assert run("import", str(write_lines(home / "chats.jsonl", records))).code == 0
    process = subprocess.Popen(WORKER, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = [process.stderr.readline() for _ in range(3)]
    process.send_signal(told)
    sent = time.monotonic()
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - sent < 5
    assert (process.returncode, out) == (0, "")
    assert first[0].startswith("Working on anaphora.db, extractively: no model is set.")
    assert "Traceback" not in err
    left = states(home / "anaphora.db")
    assert set(left) == {"done", "queued"}
    assert run("doctor").code == 0
    assert run("worker", "--drain", "--json").document["done"] == left["queued"]
