"""`anaphora eval gate`: from labelled candidates to counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anaphora.cli.evaluating import gate
from anaphora.errors import InvalidInput


def row(
    number: int, *, keep: bool, kind: str = "direct", said: str = "I live in Lisbon", **changes: Any
) -> dict[str, Any]:
    fact = {"category": "other", "content": "Lives in Lisbon", "quote": "I live in Lisbon", "seq": 0, "importance": 5}
    message = {"seq": 0, "role": "user", "name": None, "content": said}
    return {
        "id": f"{kind}-{number}",
        "kind": kind,
        "speaker": "Alice",
        "subject": None,
        "messages": [message],
        "memory": [],
        "fact": fact,
        "keep": keep,
        "why": "",
    } | changes


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in rows), encoding="utf-8")
    return path


def figures(path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    gate(path, as_json=True)
    return json.loads(capsys.readouterr().out)


def test_kept_facts_and_accepted_junk_are_counted_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(
        tmp_path / "set.jsonl",
        row(1, keep=True),
        row(2, keep=True, said="I live in Porto"),
        "",
        row(3, keep=False, kind="junk"),
        row(4, keep=False, kind="junk", said="Should I live in Lisbon?", fact=row(0, keep=True)["fact"]),
    )
    found = figures(file, capsys)
    assert (found["rows"], found["true_facts"], found["kept"], found["kept_share"]) == (4, 2, 1, 0.5)
    assert (found["junk"], found["junk_accepted"], found["junk_accepted_share"]) == (2, 1, 0.5)
    assert {kind: part["rows"] for kind, part in found["by_kind"].items()} == {"direct": 2, "junk": 2}
    assert found["by_kind"]["junk"]["kept_share"] is None
    assert [(wrong["id"], wrong["keep"]) for wrong in found["wrong"]] == [("direct-2", True), ("junk-3", False)]


def test_people_see_the_shares_and_what_went_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate(written(tmp_path / "set.jsonl", row(1, keep=True), row(2, keep=False)))
    out = capsys.readouterr().out
    assert "true facts kept: 100.0%; junk accepted: 100.0%" in out
    assert "direct-2" in out
    assert "direct-1" not in out


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "the row"),
        ({"id": "x"}, "kind"),
        (row(2, keep=True, messages=[]), "messages"),
        (row(2, keep=True, more=1), "more"),
        (row(1, keep=True), "stands in the file twice"),
    ],
)
def test_a_bad_line_is_named_in_one_line(tmp_path: Path, line: object, problem: str) -> None:
    file = written(tmp_path / "set.jsonl", row(1, keep=True), line)
    with pytest.raises(InvalidInput) as caught:
        gate(file)
    assert "line 2" in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00"])
def test_a_file_without_rows_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "set.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"set\.jsonl"):
        gate(file)
