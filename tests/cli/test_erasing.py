"""`anaphora erase`, `erasures`, `verify-erasure` and `retention`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run


def test_a_dry_run_says_what_would_go_and_changes_nothing(run: Run, imported: Path) -> None:
    before = imported.read_bytes()
    planned = run("erase", "--user", "alice", "--dry-run", "--json").document
    assert (planned["done"], planned["counts"]["messages"], planned["counts"]["sessions"]) == (False, 42, 2)
    assert len(planned["ids"]["messages"]) == 42
    assert "Nothing was changed." in run("erase", "--user", "alice", "--dry-run").err
    assert imported.read_bytes() == before


def test_an_erased_user_is_found_nowhere_and_the_account_says_so(run: Run, imported: Path) -> None:
    assert run("verify-erasure", "--canary", "violins", "--db", str(imported)).code == 1
    assert run("erase", "--user", "alice", "--yes", "--asked-by", "Ann", "--json").document["counts"]["messages"] == 42
    assert run("verify-erasure", "--canary", "violins", "--canary", "alice").code == 0
    (account,) = run("erasures", "--json").document["erasures"]
    assert (account["asked_by"], account["state"], account["kind"]) == ("Ann", "done", "user")
    assert "Ann" in run("erasures").out
    assert run("doctor").code == 0


def test_the_account_counts_as_people_do(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run("erase", "--user", "alice", "--session", "2", "--message", "0", "--yes").code == 0
    listed = run("erasures").out
    assert "1 message" in listed
    assert "1 messages" not in listed


def test_a_file_is_not_imported_again_once_it_is_erased(run: Run, imported: Path) -> None:
    assert imported.exists()
    run("export", "all.jsonl")
    run("erase", "--user", "alice", "--session", "2", "--yes")
    again = run("import", "all.jsonl")
    assert "12 erased entries skipped" in again.out


def test_texts_are_read_from_a_file_and_not_repeated(run: Run, imported: Path, tmp_path: Path) -> None:
    assert imported.exists()
    texts = tmp_path / "texts"
    texts.write_text("nowhere to be found\ncomets\n", encoding="utf-8")
    found = run("verify-erasure", "--canary-file", str(texts))
    assert found.code == 1
    assert "comets" not in found.out + found.err
    assert "messages.content" in found.out
    assert {
        one["canary"] for one in run("verify-erasure", "--canary-file", str(texts), "--json").document["found"]
    } == {2}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("erase", "--yes"), "name what is to be erased"),
        (("erase", "--user", "alice"), "--yes"),
        (("erase", "--session", "1", "--yes"), "whose session"),
        (("erase", "--message", "1", "--yes"), "of which session"),
        (("erase", "--fact", "x", "--yes"), "no id of a fact"),
        (("verify-erasure",), "a text to look for"),
        (("verify-erasure", "--canary", "a"), "longer"),
        (("verify-erasure", "--canary-file", "nowhere.txt"), "nowhere.txt"),
        (("verify-erasure", "--canary", "violins", "--db", "nowhere.db"), "nowhere.db"),
        (("retention", "set", "soon", "--user", "alice", "--session", "1"), "number of days"),
        (("retention", "set", "-1", "--user", "alice", "--session", "1"), ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_makes_no_sense_is_refused_in_one_line(run: Run, imported: Path, words: tuple[str, ...], why: str) -> None:
    assert imported.exists()
    refused = run(*words)
    assert refused.code == 2
    assert why in refused.complaint


def test_what_is_not_there_is_not_found(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run("erase", "--user", "alice", "--session", "9", "--yes").code == 1
    assert run("retention", "restore", "--user", "alice", "--session", "1").code == 1
    assert run("erase", "--user", "nobody", "--yes").out == "There was nothing to erase.\n"


def test_sessions_expire_are_shown_and_come_back(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported.exists()
    said = run("retention", "show").out
    assert "kept for ever. What expires can be brought back for 7 days; then it is erased." in said
    run("worker", "--drain")
    assert run("retention", "set", "0", "--user", "bob", "--session", "1").code == 0
    assert run("retention", "run", "--json").document == {"expired": 0, "erased": 0, "kept": 1}
    run("worker", "--drain")  # it is summarised first
    assert run("retention", "run", "--json").document == {"expired": 1, "erased": 0, "kept": 0}
    assert [row["user"] for row in run("retention", "show", "--json").document["expired"]] == ["bob"]
    assert run("sessions", "list", "--user", "bob", "--json").document == {"sessions": []}
    assert run("retention", "set", "default", "--user", "bob", "--session", "1").code == 0
    restored = run("restore", "--user", "bob", "--session", "1")
    assert (restored.code, restored.out) == (0, "Session '1' of 'bob' is back.\n")
    (row,) = run("sessions", "list", "--user", "bob", "--json").document["sessions"]
    assert row["keep_days"] is None
    run("retention", "set", "30", "--user", "bob", "--session", "1")
    (row,) = run("sessions", "list", "--user", "bob", "--json").document["sessions"]
    assert row["keep_days"] == 30
    run("retention", "set", "default", "--user", "bob", "--session", "1")
    monkeypatch.setenv("ANAPHORA_RETENTION__DAYS", "0")
    monkeypatch.setenv("ANAPHORA_RETENTION__GRACE_DAYS", "0")
    assert run("retention", "run", "--json").document == {"expired": 1, "erased": 1, "kept": 2}
    run("worker", "--drain")
    assert run("retention", "run", "--json").document == {"expired": 2, "erased": 2, "kept": 0}
    assert run("verify-erasure", "--canary", "comets").code == 0
