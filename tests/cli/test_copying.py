"""`anaphora copy`: a file to a server and back is the same to the byte."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.cli.conftest import Run, conversation, write_lines
from tests.databases.postgres import database_of


def _exported(run: Run, db: str, tenant: str) -> str:
    done = run("export", "--db", db, "--tenant", tenant)
    assert done.code == 0, done.err
    return done.out


def test_a_file_to_a_server_and_back_exports_the_same_lines(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tenant, with edits, deletions and summaries; again, it brings nothing new; jobs are planned anew."""
    monkeypatch.setenv("ANAPHORA_DURABILITY", "normal")  # the server of the tests does not wait for its disk
    server = asyncio.run(database_of(tmp_path))
    write_lines(home / "chats.jsonl", [conversation(30), conversation(7, user="bob")])
    for tenant in ("default", "acme"):
        assert run("import", "chats.jsonl", "--tenant", tenant).code == 0
    assert run("worker", "--drain").code == 0
    assert run("edit", "3", "corrected", "--user", "alice", "--session", "1").code == 0
    assert run("delete", "5", "--user", "alice", "--session", "1", "--yes").code == 0
    there = run("copy", "anaphora.db", server, "--json")
    assert there.code == 0, there.err
    assert [(t["tenant"], t["sessions"], t["messages"], t["equal"]) for t in there.document["tenants"]] == [
        ("acme", 2, 37, True),
        ("default", 2, 37, True),
    ]
    again = run("copy", "anaphora.db", server, "--json")
    assert [t["messages"] for t in again.document["tenants"]] == [0, 0]
    assert run("copy", server, "back.db").code == 0
    for tenant in ("default", "acme"):
        lines = _exported(run, "anaphora.db", tenant)
        assert lines.count("\n") > 40
        assert _exported(run, server, tenant) == lines
        assert _exported(run, "back.db", tenant) == lines
    assert run("worker", "--drain", "--db", "back.db").code == 0
    assert run("doctor", "--db", "back.db").code == 0


def test_topics_go_to_a_server_and_back_with_their_sessions(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANAPHORA_DURABILITY", "normal")
    monkeypatch.setenv("ANAPHORA_STRATEGY", "topics")
    monkeypatch.setenv("ANAPHORA_TOPICS__MOST_CHARACTERS", "60")
    server = asyncio.run(database_of(tmp_path))
    write_lines(home / "chats.jsonl", [conversation(30), conversation(7, user="bob")])
    assert run("import", "chats.jsonl").code == 0
    assert run("worker", "--drain").code == 0
    assert run("edit", "3", "corrected", "--user", "alice", "--session", "1").code == 0
    lines = _exported(run, "anaphora.db", "default")
    assert lines.count('{"record":"topic"') > 4
    assert lines.count('"stale":true') == 1
    assert run("copy", "anaphora.db", server).code == 0
    assert run("copy", server, "back.db").code == 0
    for db in (server, "back.db"):
        assert _exported(run, db, "default") == lines
        assert run("worker", "--drain", "--db", db).code == 0
        assert run("doctor", "--db", db).code == 0
        assert '"stale":true' not in _exported(run, db, "default")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("copy", "anaphora.db", "other.db"), 1, "there is no database at anaphora.db"),
        (("copy", "mysql://x/y", "a.db"), 2, "no database that Anaphora knows"),
    ],
)
def test_what_cannot_be_copied_is_one_line(run: Run, words: tuple[str, ...], code: int, says: str) -> None:
    done = run(*words)
    assert (done.code, says in done.complaint) == (code, True)


def test_a_database_is_not_copied_into_itself(run: Run, home: Path) -> None:
    write_lines(home / "chats.jsonl", [conversation(3)])
    assert run("import", "chats.jsonl").code == 0
    done = run("copy", "anaphora.db", "anaphora.db")
    assert (done.code, done.complaint) == (2, "both are the same database: give another target")
