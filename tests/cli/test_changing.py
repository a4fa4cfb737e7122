"""`anaphora edit` and `delete`, `history --versions` and `--as-of`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.cli.conftest import Run

ALICE = ("--user", "alice", "--session", "1")


def test_an_edit_is_shown_by_history_with_what_was_said_before(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run("edit", "3", "I meant Tuesday.", *ALICE).out == "Message 3 is at version 2 now.\n"
    lines = run("history", *ALICE, "--before", "4", "--limit", "1", "--versions").out.splitlines()
    assert [line.split()[0] for line in lines] == ["3.1", "3.2"]
    assert "peanuts" in lines[0]
    assert lines[1].endswith("assistant: I meant Tuesday.")
    found = run("history", *ALICE, "--before", "4", "--limit", "1", "--versions", "--json").document["messages"]
    assert [(m["version"], m["deleted"], m["changed_at"] is None) for m in found] == [
        (1, False, True),
        (2, False, False),
    ]


def test_the_text_of_an_edit_may_come_from_stdin(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported.exists()
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))
    assert run("edit", "3", "-", *ALICE, "--json").document["content"] == "two\nlines"


def test_a_deleted_message_is_left_out_and_said_to_be_deleted(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run("delete", "3", *ALICE, "--yes").out == "Message 3 is deleted.\n"
    assert run("delete", "3", *ALICE, "--yes").out == "Message 3 was deleted before.\n"
    assert run("delete", "3", *ALICE, "--yes", "--json").document == {"deleted": False}
    seqs = [m["seq"] for m in run("history", *ALICE, "--json").document["messages"]]
    assert seqs == [seq for seq in range(30) if seq != 3]
    assert run("history", *ALICE, "--versions").out.splitlines()[4].endswith("(deleted)")
    made = run("context", *ALICE, "--json").document
    assert made["coverage"]["deleted"] == [[3, 4]]
    assert "29 word by word, 0 elided (search finds them), 1 deleted." in run("context", *ALICE).err
    assert run("doctor").code == 0


def test_delete_asks_and_where_nobody_can_be_asked_it_needs_yes(run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("delete", "3", *ALICE)
    assert done.code == 2
    assert "add --yes" in done.complaint
    assert len(run("history", *ALICE, "--json").document["messages"]) == 30


def test_summaries_of_a_changed_message_are_made_anew(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    assert "made anew by `anaphora worker`" in run("edit", "0", "I never liked peanuts.", *ALICE).out
    listed = run("summaries", "list", *ALICE, "--json").document["summaries"]
    assert [entry["status"] for entry in listed if entry.get("served")] == ["stale"]
    assert "stale" in run("context", *ALICE, "--json").document["degraded"]
    assert run("worker", "--drain").code == 0
    assert "stale" not in run("context", *ALICE, "--json").document["degraded"]
    assert run("doctor").code == 0


def test_the_past_is_shown_as_of_a_number_of_messages(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    run("edit", "0", "Never mind.", *ALICE)
    run("delete", "1", *ALICE, "-y")
    then = run("history", *ALICE, "--as-of", "2", "--json").document["messages"]
    assert [m["seq"] for m in then] == [0, 1]
    assert "peanuts" in then[0]["content"]
    made = run("context", *ALICE, "--as-of", "12", "--json").document
    assert made["coverage"]["head"] == 12
    assert made["coverage"]["deleted"] == []
    assert run("summaries", "list", *ALICE, "--as-of", "2", "--json").document == {"summaries": []}


def test_the_past_is_shown_as_of_a_time(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run("history", *ALICE, "--as-of", "2020-01-01", "--json").document == {"messages": []}
    now = run("history", *ALICE, "--json").document
    assert run("history", *ALICE, "--as-of", "2120-01-01T00:00+01:00", "--json").document == now


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("context", "--as-of", "soon"), 2, "is no moment"),
        (("context", "--as-of", "31"), 2, "between 0 and 30"),
        (("history", "--as-of", "3", "--versions"), 2, "not both"),
        (("edit", "30", "x"), 1, "no message 30"),
        (("edit", "3", " "), 2, "needs content"),
        (("edit", "x", "y"), 2, "SEQ"),
        (("delete", "30", "--yes"), 1, "no message 30"),
    ],
)
def test_what_cannot_be_is_one_line(words: tuple[str, ...], code: int, says: str, run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run(*words, *ALICE)
    assert done.code == code
    assert says in done.complaint


def test_each_conversation_has_a_past_of_its_own(run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("summaries", "list", "--user", "alice", "--as-of", "3")
    assert done.code == 2
    assert "--as-of needs --session" in done.complaint
