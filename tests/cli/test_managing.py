"""`anaphora sessions`, `jobs`, `reset` and `rebuild`."""

from __future__ import annotations

import io
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Run

ALICE = ("--user", "alice", "--session", "1")


def change(database: Path, statements: Sequence[str]) -> None:
    """Do to a database what no code of ours would do."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            assert connection.execute(statement).rowcount != 0, statement


def test_sessions_are_listed_by_user_and_agent(run: Run, imported: Path) -> None:
    assert imported.exists()
    rows = run("sessions", "list", "--json").document["sessions"]
    assert {(row["user"], row["session"], row["messages"]) for row in rows} == {
        ("alice", "1", 30),
        ("alice", "2", 12),
        ("bob", "1", 12),
    }
    assert [row["user"] for row in run("sessions", "list", "--user", "bob", "--json").document["sessions"]] == ["bob"]
    assert run("sessions", "list", "--agent", "nobody").out == "There are no sessions yet.\n"
    assert run("sessions", "list", "--tenant", "other", "--json").document == {"sessions": []}
    assert "rolling_pairs" in run("sessions", "list").out


def test_jobs_are_listed_and_stuck_ones_are_told_apart(run: Run, imported: Path) -> None:
    assert len(run("jobs", "list", "--json").document["jobs"]) == 3
    assert run("jobs", "list", "--stuck", "1d", "--json").document == {"jobs": []}
    change(imported, ["UPDATE jobs SET run_at = '2020-01-01T00:00:00.000000Z' WHERE rowid = 1"])
    stuck = run("jobs", "list", "--stuck", "1d", "--json").document["jobs"]
    assert [job["state"] for job in stuck] == ["queued"]
    assert "queued" in run("jobs", "list").out
    assert run("jobs", "list", "--failed").out == "There are no such jobs.\n"
    assert run("jobs", "list", "--failed", "--stuck", "1d").code == 2


def test_failed_jobs_are_listed_with_their_reason_and_tried_again(run: Run, imported: Path) -> None:
    change(imported, ["UPDATE jobs SET state = 'failed', attempt = 5, reason = 'the model is gone'"])
    failed = run("jobs", "list", "--failed", "--json").document["jobs"]
    assert [job["reason"] for job in failed] == ["the model is gone"] * 3
    assert {job["status"] for job in failed} == {"failed"}
    assert run("jobs", "retry", failed[0]["id"], "--json").document == {"queued": 1}
    assert run("jobs", "retry").out == "2 jobs queued: `anaphora worker` works on them.\n"
    assert run("jobs", "retry").out == "No job has failed.\n"
    assert run("worker", "--drain", "--json").document["done"] == 3


@pytest.mark.parametrize(("job", "code"), [("not-an-id", 2), ("00000000-0000-7000-8000-000000000000", 1)])
def test_a_job_that_is_not_there_is_said_so(job: str, code: int, run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("jobs", "retry", job)
    assert done.code == code
    assert job in done.complaint


def test_a_model_that_fails_for_good_leaves_a_digest_and_a_reason(
    run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(imported, ["UPDATE jobs SET max_attempts = 1"])
    monkeypatch.setenv("ANAPHORA_MODEL", "openai:nobody")
    monkeypatch.setenv("ANAPHORA_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ANAPHORA_API_KEY", "none")
    assert run("worker", "--once").code == 0
    entries = run("summaries", "list", "--all-users", "--json").document["summaries"]
    assert {entry["status"] for entry in entries} >= {"completed", "failed", "processing"}
    (digest,) = [entry for entry in entries if entry["status"] == "completed"]
    assert digest["method"] == "digest"
    (failed,) = run("jobs", "list", "--failed", "--json").document["jobs"]
    assert failed["reason"]


def test_reset_clears_a_session_and_nothing_else(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    done = run("reset", *ALICE, "--yes")
    assert (done.code, done.out, done.err) == (0, "Cleared 30 messages from your history.\n", "")
    assert run("history", *ALICE, "--json").document == {"messages": []}
    assert run("search", "peanuts", "--user", "alice", "--json").document == {"hits": [], "degraded": []}
    assert run("reset", *ALICE, "--yes", "--json").document == {"cleared": 0}
    assert len(run("history", "--user", "bob", "--session", "1", "--json").document["messages"]) == 12
    assert run("doctor").code == 0


def test_reset_asks_a_person_and_refuses_where_nobody_can_answer(
    run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported.exists()

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "add --yes" in run("reset", *ALICE).complaint
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    said_no = run("reset", *ALICE)
    assert said_no.code == 1
    assert "nothing was done" in said_no.err
    assert len(run("history", *ALICE, "--json").document["messages"]) == 30
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert run("reset", *ALICE).out.endswith("Cleared 30 messages from your history.\n")


def test_rebuild_makes_a_new_version_that_takes_the_place_of_the_old_one(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    done = run("rebuild", "1", "--user", "alice", "--wait")
    assert (done.code, done.out) == (0, "The summaries were made anew.\n")
    entries = run("summaries", "list", *ALICE, "--json").document["summaries"]
    assert [(entry["status"], entry["served"]) for entry in entries] == [("completed", True), ("superseded", False)]
    assert run("doctor").code == 0


def test_a_rebuild_is_queued_once(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    assert run("rebuild", "1", "--user", "alice", "--json").document["queued"] is True
    again = run("rebuild", "1", "--user", "alice")
    assert (again.code, again.out) == (0, "A rebuild is under way already.\n")
    assert run("worker", "--drain", "--json").document["done"] == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("7", "--user", "alice"), 1, "no session '7'"),
        (("1", "--user", "alice", "--from", "31"), 2, "not 31"),
        (("1", "--user", "alice", "--from", "-1"), 2, "not -1"),
    ],
)
def test_what_cannot_be_rebuilt_is_said_so(
    words: tuple[str, ...], code: int, says: str, run: Run, summarised: Path
) -> None:
    assert summarised.exists()
    done = run("rebuild", *words)
    assert done.code == code
    assert says in done.complaint
