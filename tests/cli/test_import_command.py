"""`anaphora import`: counts, again, on and on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, conversation, write_lines


def test_it_prints_what_came_in_and_what_waits(run: Run, home: Path) -> None:
    file = write_lines(home / "chats.jsonl", [conversation(30), conversation(12, session="2")])
    done = run("import", str(file))
    assert done.out.splitlines() == [
        "Imported 42 messages of 2 sessions in 2 conversations.",
        "2 jobs queued: `anaphora worker` works on them.",
    ]
    assert done.err == ""


def test_json_is_one_document_in_a_fixed_order(run: Run, home: Path) -> None:
    file = write_lines(home / "chats.jsonl", [conversation(30)])
    assert run("import", str(file), "--json").out == '{"conversations": 1, "sessions": 1, "messages": 30}\n'


def test_again_brings_nothing_and_more_lines_bring_what_is_new(run: Run, home: Path) -> None:
    file = write_lines(home / "chats.jsonl", [conversation(4)])
    assert run("import", str(file), "--json").document["messages"] == 4
    assert run("import", str(file), "--json").document == {"conversations": 1, "sessions": 1, "messages": 0}
    write_lines(file, [conversation(6)])
    again = run("import", str(file))
    assert "Imported 2 messages" in again.out
    assert "(4 messages already there)" in again.out


def test_what_stood_before_a_bad_line_stays_and_the_next_run_goes_on(run: Run, home: Path) -> None:
    first, second = json.dumps(conversation(4)), json.dumps(conversation(4, session="2"))
    file = home / "chats.jsonl"
    file.write_text(f"{first}\n{{broken\n{second}\n", encoding="utf-8")
    failed = run("import", str(file))
    assert failed.code == 2
    assert failed.complaint.startswith(f"{file}: line 2: expected valid JSON")
    assert len(run("history", "--user", "alice", "--session", "1", "--json").document["messages"]) == 4
    file.write_text(f"{first}\n{second}\n", encoding="utf-8")
    assert run("import", str(file), "--json").document["messages"] == 4


def test_new_sessions_get_the_strategy_that_was_asked_for(run: Run, home: Path) -> None:
    file = write_lines(home / "chats.jsonl", [conversation(4)])
    assert run("import", str(file), "--strategy", "sliding_window").code == 0
    (session,) = run("sessions", "list", "--json").document["sessions"]
    assert session["strategy"] == "sliding_window"


@pytest.mark.parametrize(
    ("name", "format_name"), [("locomo.json", "locomo"), ("sharegpt.json", "sharegpt"), ("openai-tools.json", "auto")]
)
def test_every_format_can_be_imported_for_an_agent(name: str, format_name: str, run: Run) -> None:
    file = Path(__file__).parents[1] / "data" / name
    done = run("import", str(file), "--format", format_name, "--user", "carol", "--agent", "guide", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.document["messages"] > 0
    assert {row["agent"] for row in run("sessions", "list", "--json").document["sessions"]} == {"guide"}


def test_a_missing_file_makes_no_database(run: Run, home: Path) -> None:
    assert run("import", str(home / "nowhere.jsonl")).code == 2
    assert list(home.iterdir()) == []
