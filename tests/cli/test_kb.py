"""`anaphora kb`: documents from the command line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

USER = ("--user", "alice")


@pytest.fixture(autouse=True)
def a_folder(home: Path) -> Path:
    (home / "guide.md").write_text("# Sign-in guide\n\nTokens expire after one hour.\n", encoding="utf-8")
    return home


def test_documents_are_added_listed_found_shown_and_deleted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = run("kb", "add", "guide.md", *USER, "--metadata", '{"tags": ["auth"]}', "--json")
    document = kept.document
    assert (kept.code, document["title"], document["metadata"]) == (0, "Sign-in guide", {"tags": ["auth"]})
    assert (
        run("kb", "add", "guide.md", *USER, "--metadata", '{"tags": ["auth"]}', "--json").document["id"]
        == document["id"]
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("From stdin."))
    assert run("kb", "add", "-", *USER, "--type", "note", "--key", "k").code == 0
    listed = run("kb", "list", *USER, "--json").document["documents"]
    assert [one["doc_type"] for one in listed] == ["note", "document"]
    assert "content" not in listed[0]
    assert len(run("kb", "list", *USER, "--filter", 'tags contains "auth"', "--json").document["documents"]) == 1
    found = run("kb", "search", "when do tokens expire?", *USER, "--json").document
    assert found["hits"][0]["document"]["id"] == document["id"]
    assert "one hour" in run("kb", "search", "tokens", *USER).out
    short = document["id"].replace("-", "")[-8:]
    assert "Tokens expire" in run("kb", "show", short, *USER).out
    assert run("kb", "show", document["id"], *USER, "--json").document["content"].startswith("# Sign-in")
    assert run("kb", "delete", short, *USER, "--yes", "--json").document == {"id": document["id"], "deleted": True}
    assert run("kb", "show", document["id"], *USER).code == 1
    assert "There are no documents." in run("kb", "list", "--namespace", "team", "--namespace", "docs").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", *USER), 2, "say what to add"),
        (("add", "guide.md", "--text", "x", *USER), 2, "say what to add"),
        (("add", "guide.md"), 2, "give either a user or a namespace"),
        (("add", ".", *USER), 2, "is a folder"),
        (("add", "none.pdf", *USER), 2, "none.pdf cannot be read"),
        (("add", "guide.md", *USER, "--metadata", "{"), 2, "not valid JSON"),
        (("add", "guide.md", *USER, "--metadata", "[]"), 2, "must be a JSON object"),
        (("list", *USER, "--filter", "a ="), 2, "the filter lacks"),
        (("list", *USER, "--limit", "0"), 2, "limit must be between"),
        (("list", "--namespace", ""), 2, "must not be empty"),
        (("show", "abc", *USER), 2, "too short"),
        (("show", "../../etc", *USER), 2, "is no id of a document"),
        (("show", "123456", *USER), 1, "there is no document 123456"),
        (("delete", "123456", *USER), 2, "add --yes"),
    ],
)
def test_a_mistake_is_told_in_one_line(words: tuple[str, ...], code: int, said: str, run: Run) -> None:
    assert run("kb", "add", "--text", "x", "--user", "bob").code == 0
    ran = run("kb", *words)
    assert (ran.code, said in ran.complaint) == (code, True), ran.complaint


def test_what_is_added_is_in_the_export_and_the_doctor_is_content(run: Run, home: Path) -> None:
    assert run("kb", "add", "guide.md", *USER).code == 0
    assert run("export", "all.jsonl").code == 0
    records = [json.loads(line)["record"] for line in (home / "all.jsonl").read_text().splitlines()]
    assert records == ["export", "document", "end"]
    assert run("doctor").code == 0


def test_a_file_that_is_added_again_is_said_to_be_there_already(run: Run) -> None:
    assert " is kept: Sign-in guide" in run("kb", "add", "guide.md", *USER).out
    assert " was there already: Sign-in guide" in run("kb", "add", "guide.md", *USER).out
    assert " is kept: " in run("kb", "add", "--text", "Something else", *USER).out
