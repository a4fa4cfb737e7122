"""A user's mistake: one line that says what was wrong and what to do, the right exit code, never a traceback."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Run, conversation, unprivileged, write_lines

ALICE = ("--user", "alice", "--session", "1")

#: how a file is made, and what is said of it
FILES: list[tuple[Callable[[Path], object], str]] = [
    (lambda _: None, "there is no such file"),
    (lambda path: path.mkdir(), "expected a file, not a folder"),
    (lambda path: path.write_bytes(b""), "the file is empty"),
    (lambda path: path.write_bytes(b'{"messages": []}\n{oops\n'), "line 2: expected valid JSON"),
    (lambda path: path.write_bytes(b'{"role": "user", "content": "caf\xe9"}\n'), "line 1: expected UTF-8 text"),
    (lambda path: path.write_bytes(b'{"role": "wizard", "content": "x"}\n'), "role"),
    (lambda path: path.write_bytes(b'{"role": "user", "content": 7}\n'), "line 1"),
    (lambda path: path.write_bytes(b'{"role": "user", "content": "a\\u0000b"}\n'), "NUL"),
    (lambda path: path.write_bytes(b'{"role": "user", "content": "\\ud800"}\n'), "surrogate"),
    (lambda path: path.write_bytes(b'{"role": "user", "content": ""}\n'), "line 1"),
    (lambda path: path.write_bytes(b'{"role": "user", "content": "' + b"x" * 1_048_577 + b'"}\n'), "1,048,576"),
    (lambda path: path.write_bytes(b"[" * 100_000), "nested too deeply"),
]


@pytest.mark.parametrize(("make", "says"), FILES, ids=[says.replace(" ", "-") for _, says in FILES])
def test_a_file_that_cannot_be_imported(make: Callable[[Path], object], says: str, run: Run, home: Path) -> None:
    path = home / "chats.jsonl"
    make(path)
    done = run("import", str(path), "--format", "openai", "--user", "alice")
    assert done.code == 2
    assert done.complaint.startswith(f"{path}: ")
    assert says in done.complaint


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("import", "chats.jsonl", "--format", "openia"), "unknown format 'openia': did you mean 'openai'?"),
        (("import", "chats.jsonl", "--strategy", "rolling_pears"), "did you mean 'rolling_pairs'?"),
        (("history", *ALICE, "--limit", "0"), "limit must be between 1 and 1000"),
        (("history", *ALICE, "--limit", "1001"), "limit must be between 1 and 1000"),
        (("search", "x", "--user", "alice", "--limit", "0"), "limit must be between 1 and 200"),
        (("summaries", "list", "--all-users", "--limit", "0"), "limit must be between 1 and 1000"),
        (("jobs", "list", "--limit", "0"), "limit must be between 1 and 1000"),
        (("jobs", "list", "--stuck", "5 parsecs"), "'5 parsecs' is not a duration"),
        (("context", *ALICE, "--budget", "10"), "a budget of 10 tokens is too small: use at least 64"),
        (("context", *ALICE, "--format", "opnai"), "did you mean 'openai'?"),
        (("history", "--user", "", "--session", "1"), "user must not be empty"),
        (("history", "--user", "a" * 201, "--session", "1"), "longer than 200 characters"),
        (("search", "x" * 10_001, "--user", "alice"), "longer than 10,000 characters"),
        (("history", *ALICE, "--db", "mysql://x/y"), "mysql:// is no database"),
        (("doctor", "--db", "mysql://x/y"), "mysql:// is no database that Anaphora knows"),
        (("worker", "--db", "postgresql://127.0.0.1/y?channel_binding=require"), "channel_binding"),
        (("models", "pull", "--from", "nowhere"), "cannot read nowhere"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else None,
)
def test_what_was_asked_for_wrongly_ends_with_2(
    words: tuple[str, ...], says: str, run: Run, imported: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported.exists()
    monkeypatch.setenv("ANAPHORA_MODELS", str(home / "models"))
    write_lines(home / "chats.jsonl", [conversation(2)])
    done = run(*words)
    assert done.code == 2
    assert says in done.complaint


COMMANDS = [
    ("history", *ALICE),
    ("doctor",),
    ("worker", "--drain"),
    ("sessions", "list"),
    ("jobs", "retry"),
    ("reset", *ALICE, "--yes"),
]


def test_a_server_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_BUSY_TIMEOUT", "0.2")
    done = run("doctor", "--db", "postgresql://ann:hidden@127.0.0.1:1/memory")
    assert done.code == 1
    assert done.complaint.startswith("the PostgreSQL server cannot be reached: check that it runs")
    assert "hidden" not in done.complaint


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_database_that_is_not_there(words: tuple[str, ...], run: Run, home: Path) -> None:
    done = run(*words)
    assert done.code == 1
    assert done.complaint.startswith("there is no database at ./anaphora.db: ")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("words", [*COMMANDS, ("migrate",)], ids=" ".join)
def test_a_file_that_is_no_database(words: tuple[str, ...], run: Run, home: Path) -> None:
    (home / "anaphora.db").write_text("a shopping list, long enough to be looked at " * 50, encoding="utf-8")
    done = run(*words)
    assert done.code == 1
    assert "not an SQLite database" in done.complaint


@pytest.mark.parametrize("words", [*COMMANDS, ("migrate",)], ids=" ".join)
def test_the_database_of_another_program(words: tuple[str, ...], run: Run, home: Path) -> None:
    with closing(sqlite3.connect(home / "anaphora.db")) as connection, connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    done = run(*words)
    assert done.code == 1
    assert "the database of another program" in done.complaint


@pytest.mark.parametrize("words", [*COMMANDS, ("migrate",)], ids=" ".join)
def test_a_database_of_a_later_version(words: tuple[str, ...], run: Run, imported: Path) -> None:
    with closing(sqlite3.connect(imported)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = run(*words)
    assert done.code == 1
    assert "later version of Anaphora" in done.complaint


@pytest.mark.parametrize("words", [*COMMANDS, ("migrate",)], ids=" ".join)
def test_a_folder_is_no_database(words: tuple[str, ...], run: Run, home: Path) -> None:
    (home / "anaphora.db").mkdir()
    done = run(*words)
    assert done.code == 1
    assert done.complaint


@pytest.mark.parametrize("words", [("import", "chats.jsonl"), ("reset", *ALICE, "--yes"), ("worker", "--drain")])
def test_a_database_that_cannot_be_written(
    words: tuple[str, ...], run: Run, imported: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = open_folder / "anaphora.db"
    copy.write_bytes(imported.read_bytes())
    copy.chmod(0o444)
    write_lines(open_folder / "chats.jsonl", [conversation(2, session="new")]).chmod(0o444)
    open_folder.chmod(0o555)
    monkeypatch.chdir(open_folder)
    assert run("worker", "--once", "--db", str(imported)).code == 0
    assert run("reset", *ALICE, "--yes", "--db", str(imported)).code == 0
    assert run("import", "chats.jsonl", "--db", str(imported)).code == 0
    with unprivileged():
        done = run(*words)
    assert done.code == 1
    assert "cannot be written" in done.complaint
    assert copy.read_bytes()[:16] == b"SQLite format 3\x00"


def test_a_folder_in_which_nothing_can_be_made(run: Run, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(open_folder / "chats.jsonl", [conversation(2)]).chmod(0o444)
    open_folder.chmod(0o555)
    monkeypatch.chdir(open_folder)
    with unprivileged():
        done = run("import", "chats.jsonl")
    assert done.code == 1
    assert "check its permissions" in done.complaint
    missing = run("import", "chats.jsonl", "--db", "no/such/folder/x.db")
    assert missing.code == 1
    assert "does not exist" in missing.complaint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("stratgy = 'rolling_pairs'\n", "stratgy: unknown setting 'stratgy': did you mean 'strategy'?"),
        ("strategy = 'rolling_pears'\n", "did you mean 'rolling_pairs'?"),
        ("[rolling_pairs]\nwindow_pair = 4\n", "rolling_pairs.window_pair: unknown setting 'window_pair'"),
        ("[rolling_pairs]\nwindow_pairs = 0\n", "window_pairs must be between 1 and 32"),
        ("context_budget = 'lots'\n", "context_budget: "),
        ("durability = 'some'\n", "durability: "),
        ("this is no toml\n", "anaphora.toml: not valid TOML"),
        ("encoding = 'utf-9'\n", "unknown token encoding 'utf-9'"),
    ],
)
def test_a_settings_file_with_a_mistake(
    text: str, says: str, run: Run, imported: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported.exists()
    monkeypatch.delenv("ANAPHORA_ENCODING")
    (home / "anaphora.toml").write_text(text, encoding="utf-8")
    done = run("history", *ALICE)
    assert done.code == 2
    assert says in done.complaint


def test_a_settings_file_that_is_named_and_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_CONFIG", "nowhere.toml")
    done = run("sessions", "list")
    assert done.code == 2
    assert done.complaint.startswith("nowhere.toml: there is no such file")


def test_a_model_that_nobody_knows(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported.exists()
    monkeypatch.setenv("ANAPHORA_MODEL", "nobody:nothing")
    done = run("worker", "--drain")
    assert done.code == 2
    assert "nobody" in done.complaint
