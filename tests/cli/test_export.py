"""`anaphora export` and back: files that are whole, private and never overwritten by mistake."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from tests.cli.conftest import Run, conversation, write_lines

from anaphora.domain import records

#: how often each failpoint of an import is reached before the process is killed there
KILLS = {"restore.after_block": (1, 2, 3)}


def test_what_is_exported_and_imported_is_exported_again_to_the_byte(run: Run, chain: Path, home: Path) -> None:
    assert chain.exists()
    out = run("export", "all.jsonl")
    assert (out.code, out.err) == (0, "")
    assert out.out == "Exported 68 messages and 4 versions of summaries in 3 sessions of 2 users.\n"
    assert run("import", "all.jsonl", "--db", "other.db").out.startswith("Imported 68 messages of 3 sessions")
    assert run("export", "again.jsonl", "--db", "other.db").code == 0
    assert (home / "again.jsonl").read_bytes() == (home / "all.jsonl").read_bytes()
    assert run("doctor", "--db", "other.db", "--json").document["ok"]
    shown = ("context", "--user", "alice", "--session", "1", "--query", "peanuts?", "--json")
    first, second = run(*shown).document, run(*shown, "--db", "other.db").document
    assert first["coverage"] == second["coverage"]
    assert run("import", "all.jsonl", "--db", "other.db", "--json").document == {
        "conversations": 3,
        "sessions": 3,
        "messages": 0,
    }


def test_without_a_file_the_lines_go_to_standard_output_as_utf8(run: Run, home: Path) -> None:
    said = {"user": "zoë", "session": "1", "messages": [{"role": "user", "content": "caf\u00e9 \u2028 \U0001f600"}]}
    assert run("import", str(write_lines(home / "chats.jsonl", [said]))).code == 0
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([*ANAPHORA, "export"], cwd=home, env=environment, capture_output=True, check=True)
    assert done.stderr == b"Exported 1 message and 0 versions of summaries in 1 session of 1 user.\n"
    assert "zoë".encode() in done.stdout
    assert "caf\u00e9 \\u2028 \U0001f600".encode() in done.stdout
    *lines, last = done.stdout.splitlines(keepends=True)
    assert json.loads(last)["sha256"] == sha256(b"".join(lines)).hexdigest()
    assert run("export", "-").out.encode() == done.stdout


def test_options_narrow_it_and_a_typo_is_no_empty_export(run: Run, imported: Path, home: Path) -> None:
    assert imported.exists()
    kinds = [json.loads(line)["record"] for line in run("export", "--user", "bob").out.splitlines()]
    assert kinds.count("session") == 1
    assert kinds.count("message") == 12
    for words in (("--user", "bobb"), ("--session", "9"), ("--agent", "x"), ("--user", "bob", "--session", "2")):
        done = run("export", "typo.jsonl", *words)
        assert done.code == 1
        assert done.complaint.startswith("there is no such conversation")
    assert not (home / "typo.jsonl").exists()


def test_a_file_appears_when_it_is_whole_and_for_its_owner_only(run: Run, imported: Path, home: Path) -> None:
    assert imported.exists()
    done = run("export", "all.jsonl", "--json")
    assert done.document == {
        "file": "all.jsonl",
        "users": 2,
        "sessions": 3,
        "messages": 54,
        "versions": 0,
        "summaries": 0,
        "moves": 0,
        "receipts": 3,
        "chunks": 0,
        "topics": 0,
        "subjects": 0,
        "facts": 0,
        "fact_versions": 0,
        "fact_sources": 0,
        "pages": 0,
        "documents": 0,
    }
    assert stat.S_IMODE((home / "all.jsonl").stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir() if "export" in path.name or "part" in path.name] == []


def test_a_file_that_exists_is_replaced_only_by_force(run: Run, imported: Path, home: Path) -> None:
    assert imported.exists()
    (home / "all.jsonl").write_text("precious", encoding="utf-8")
    done = run("export", "all.jsonl")
    assert done.code == 2
    assert done.complaint == "all.jsonl exists: choose another name, or --force to replace it"
    assert (home / "all.jsonl").read_text(encoding="utf-8") == "precious"
    assert run("export", "all.jsonl", "--force").code == 0
    assert (home / "all.jsonl").read_text(encoding="utf-8").startswith('{"record":"export"')


@pytest.mark.parametrize("name", ["anaphora.db", "link.db", "."])
def test_neither_the_database_nor_a_folder_is_ever_replaced(name: str, run: Run, imported: Path, home: Path) -> None:
    (home / "link.db").symlink_to(imported)
    before = imported.read_bytes()
    done = run("export", name, "--force")
    assert done.code == 2
    assert "is the database itself" in done.complaint or "is no regular file" in done.complaint
    assert imported.read_bytes() == before


def test_an_export_that_fails_leaves_no_file_behind(run: Run, imported: Path, home: Path) -> None:
    data = bytearray(imported.read_bytes())
    for at in range(8 * 4096, len(data), 4096):
        data[at : at + 64] = b"\xff" * 64
    imported.write_bytes(data)
    assert run("export", "all.jsonl").code == 1
    assert {path.name for path in home.iterdir()} <= {"anaphora.db", "anaphora.db-wal", "anaphora.db-shm"}


def test_the_schema_needs_no_database(run: Run, home: Path) -> None:
    assert json.loads(run("export", "--schema").out) == records.schema()
    assert run("export", "schema.json", "--schema").out == ""
    assert json.loads((home / "schema.json").read_text(encoding="utf-8")) == records.schema()
    assert [path.name for path in home.iterdir()] == ["schema.json"]


def test_an_export_may_get_another_user_but_not_another_agent(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run("export", "bob.jsonl", "--user", "bob").code == 0
    assert run("import", "bob.jsonl", "--db", "other.db", "--user", "robert").code == 0
    sessions = run("sessions", "list", "--db", "other.db", "--json").document["sessions"]
    assert [row["user"] for row in sessions] == ["robert"]
    for words in (("--agent", "x"), ("--strategy", "sliding_window")):
        done = run("import", "bob.jsonl", "--db", "third.db", *words)
        assert done.code == 2
        assert "no --agent, no --strategy" in done.complaint
    assert not Path("third.db").exists()


@pytest.mark.parametrize("words", [(), ("--format", "anaphora"), ("--format", "auto")])
def test_the_format_is_known_from_the_first_line_whatever_the_name(
    words: tuple[str, ...], run: Run, imported: Path, home: Path
) -> None:
    assert imported.exists()
    assert run("export", "all.txt").code == 0
    assert run("import", "all.txt", "--db", str(home / "other.db"), *words).code == 0


def test_an_export_that_is_cut_off_makes_no_database(run: Run, imported: Path, home: Path) -> None:
    assert imported.exists()
    assert run("export", "all.jsonl").code == 0
    whole = (home / "all.jsonl").read_bytes()
    for cut, says in ((whole[:-100], "not whole"), (whole[: whole.index(b"\n") + 1], "not whole")):
        (home / "cut.jsonl").write_bytes(cut)
        done = run("import", "cut.jsonl", "--db", "other.db")
        assert done.code == 2
        assert done.complaint.startswith("cut.jsonl: ")
        assert says in done.complaint
    (home / "altered.jsonl").write_bytes(whole.replace(b"item3 ", b"item8 ", 1))
    done = run("import", "altered.jsonl", "--db", "other.db")
    assert "the export was altered, or is damaged" in done.complaint
    assert not (home / "other.db").exists()


def test_another_file_is_no_export(run: Run, home: Path) -> None:
    write_lines(home / "chats.jsonl", [conversation(4)])
    done = run("import", "chats.jsonl", "--format", "anaphora")
    assert done.code == 2
    assert done.complaint.startswith("chats.jsonl: line 1: expected a record of an export")
    assert run("import", "nowhere.jsonl", "--format", "anaphora").complaint == "nowhere.jsonl: there is no such file"
    assert [path.name for path in home.iterdir()] == ["chats.jsonl"]


ANAPHORA = [sys.executable, "-c", "import sys; from anaphora.cli import main; sys.exit(main())"]


@pytest.mark.faults
@pytest.mark.parametrize(("name", "count"), [(name, count) for name, counts in KILLS.items() for count in counts])
def test_an_import_that_was_killed_goes_on_where_it_stopped(name: str, count: int, run: Run, home: Path) -> None:
    """I7, I8: what was written is sound at every moment; again brings the rest, once."""
    chats = [conversation(700), conversation(520, session="2"), conversation(30, user="bob")]
    assert run("import", str(write_lines(home / "chats.jsonl", chats))).code == 0
    assert run("worker", "--drain").code == 0
    assert run("export", "all.jsonl").code == 0
    environment = {**os.environ, "ANAPHORA_FAILPOINT": f"{name}:{count}"}
    command = [*ANAPHORA, "import", "all.jsonl", "--db", "other.db"]
    died = subprocess.run(command, cwd=home, env=environment, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL
    assert run("doctor", "--db", "other.db", "--json").document["ok"]
    left = sum(row["messages"] for row in run("sessions", "list", "--db", "other.db", "--json").document["sessions"])
    assert 0 < left <= 1250
    assert run("import", "all.jsonl", "--db", "other.db", "--json").document["messages"] == 1250 - left
    assert run("export", "again.jsonl", "--db", "other.db").code == 0
    assert (home / "again.jsonl").read_bytes() == (home / "all.jsonl").read_bytes()
    assert run("doctor", "--db", "other.db", "--json").document["ok"]
