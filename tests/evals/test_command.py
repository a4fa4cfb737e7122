"""`anaphora eval`: from a file to one document or two tables."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.databases.postgres import database_of
from tests.evals.conversations import asked, locomo, neutral, written

from anaphora.cli import main

Said = tuple[int, str, str]
Run = Callable[..., Said]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `anaphora eval`: the exit code, what it printed, and what it said beside that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANAPHORA_ENCODING", "cl100k_base")

    def ran(*words: str) -> Said:
        code = main(["eval", *words, "--no-embedder"])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def document(said: Said) -> Any:
    code, out, err = said
    assert code == 0, err
    assert out.count("\n") == 1
    return json.loads(out)


def complaint(said: Said) -> str:
    code, out, err = said
    assert (code, out) == (2, "")
    assert err.startswith("anaphora: ")
    assert err.count("\n") == 1
    return err


def test_locomo_is_asked_by_category(run: Run, tmp_path: Path) -> None:
    found = document(run("locomo", written(tmp_path / "locomo.json", locomo()), "--json"))
    assert {name: part["questions"] for name, part in found["by_category"].items()} == {"2": 1, "4": 1}
    assert (found["questions"], found["recall@5"], found["coverage@2000"]) == (2, 1.0, 1.0)


def test_evidence_that_no_question_leads_to_lowers_the_figures(run: Run, tmp_path: Path) -> None:
    questions = [asked("Where does the cello teacher live?", 1, "D1:1", "D2:1")]
    found = document(run("locomo", written(tmp_path / "locomo.json", locomo(qa=questions)), "--json"))
    assert (found["recall@5"], found["recall@20"], found["coverage@2000"]) == (0.5, 0.5, 0.5)
    assert found["baselines"]["bm25"]["recall@20"] == 0.5


def test_the_neutral_format_is_asked_by_type(run: Run, tmp_path: Path) -> None:
    found = document(run("recall", written(tmp_path / "recall.json", neutral()), "--json"))
    assert set(found["by_category"]) == {"costs", "facts"}
    assert (found["recall@5"], found["embed_ms"]) == (1.0, None)


def test_people_see_a_row_for_each_system_and_each_category(run: Run, tmp_path: Path) -> None:
    code, out, err = run("locomo", written(tmp_path / "locomo.json", locomo()))
    assert code == 0, err
    firsts = {line.split("  ")[0].strip() for line in out.splitlines()}
    assert {"system", "anaphora", "bm25", "category", "2 temporal", "4 single-hop"} <= firsts


def test_how_far_it_is_is_told_beside_the_document(run: Run, tmp_path: Path) -> None:
    said = run("recall", written(tmp_path / "recall.json", neutral()), "--json")
    assert "4 messages imported" in said[2]
    assert "2 of 2 questions asked" in said[2]
    assert document(said)["questions"] == 2


def test_nothing_is_left_in_the_folder(run: Run, tmp_path: Path) -> None:
    document(run("recall", written(tmp_path / "recall.json", neutral()), "--json"))
    assert [path.name for path in tmp_path.iterdir()] == ["recall.json"]


def test_a_database_of_ones_own_keeps_the_users_and_is_measured_once(run: Run, tmp_path: Path) -> None:
    words = ("recall", written(tmp_path / "recall.json", neutral()), "--json", "--db", str(tmp_path / "own.db"))
    document(run(*words))
    assert "already remembers user 'ann'" in complaint(run(*words))


def test_a_server_and_a_file_give_the_same_figures(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_DURABILITY", "normal")  # the server of the tests does not wait for its disk
    words = ("locomo", written(tmp_path / "locomo.json", locomo()), "--json")
    there, here = document(run(*words, "--db", asyncio.run(database_of(tmp_path)))), document(run(*words))
    assert {**there, "search_ms": None} == {**here, "search_ms": None}


def test_the_models_of_the_settings_are_not_asked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_MODEL", "nobody:sells-this")
    assert document(run("recall", written(tmp_path / "recall.json", neutral()), "--json"))["questions"] == 2


def test_a_model_that_reranks_is_not_asked_either(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_RERANK_PROVIDER", "nobody")
    monkeypatch.setenv("ANAPHORA_RERANK_MODEL", "sells-this")
    assert document(run("recall", written(tmp_path / "recall.json", neutral()), "--json"))["questions"] == 2


def test_no_time_goes_into_summaries(run: Run, tmp_path: Path) -> None:
    said = [
        {"id": str(number), "session": "long", "role": "user", "content": f"The cat Momo ate {number} fish."}
        for number in range(40)
    ]
    questions = [{"question": "How is the cat called?", "evidence": ["7"]}]
    database = tmp_path / "own.db"
    file = written(tmp_path / "recall.json", neutral(messages=said, questions=questions))
    assert document(run("recall", file, "--json", "--db", str(database)))["questions"] == 1
    with closing(sqlite3.connect(database)) as tables:
        assert tables.execute("SELECT count(*) FROM messages").fetchone() == (40,)
        assert tables.execute("SELECT (SELECT count(*) FROM summaries) + (SELECT count(*) FROM jobs)").fetchone() == (
            0,
        )


@pytest.mark.parametrize("command", ["locomo", "recall"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no such file"),
        ("", "the file is empty"),
        ("{not json", "expected valid JSON"),
        ("[]", "expected questions with evidence"),
        ('[{"id": "a", "text": "b"}]', "expected a"),
        ("[17]", "expected a"),
    ],
)
def test_a_file_that_cannot_be_measured_is_told_in_one_line(
    run: Run, tmp_path: Path, command: str, text: str | None, told: str
) -> None:
    file = tmp_path / "file.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert told in complaint(run(command, str(file), "--json"))
    assert not (tmp_path / "anaphora.db").exists()


@pytest.mark.parametrize(
    ("command", "record"),
    [
        ("recall", locomo()),
        ("locomo", neutral()),
        ("locomo", locomo(qa=[])),
        ("recall", neutral(questions=[])),
        ("recall", neutral(questions=[{"question": "Who?", "evidence": ["m9"]}])),
        ("recall", neutral(messages={})),
        ("locomo", locomo(qa=[{"question": 5, "category": 1, "evidence": ["D1:1"]}])),
    ],
)
def test_the_wrong_format_and_a_file_without_questions_are_told(
    run: Run, tmp_path: Path, command: str, record: object
) -> None:
    file = written(tmp_path / "file.json", record)
    assert f"anaphora: {file}: " in complaint(run(command, file))
