"""`anaphora eval compactions`: one conversation, every strategy, and what became of its messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evals.conversations import locomo, written

from anaphora.cli import main
from anaphora.evals import locomo as locomo_file
from anaphora.evals.compactions import STRATEGIES, joined

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `anaphora eval compactions`: the exit code, what it printed, and what it said beside that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANAPHORA_ENCODING", "cl100k_base")

    def ran(*words: str) -> tuple[int, str, str]:
        code = main(["eval", "compactions", *words, "--no-embedder"])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def document(said: tuple[int, str, str]) -> Any:
    code, out, err = said
    assert code == 0, err
    return json.loads(out)


def test_sessions_that_are_joined_keep_their_evidence(tmp_path: Path) -> None:
    [case] = locomo_file.cases(Path(written(tmp_path / "locomo.json", locomo())))
    whole, before = joined(case), dict(case.texts())
    [session] = whole.sessions
    assert [message.content for message in session.messages] == list(before.values())
    for old, new in zip(case.questions, whole.questions, strict=True):
        assert {before[place] for place in old.evidence} == {dict(whole.texts())[place] for place in new.evidence}


def test_every_message_before_every_turn_is_in_one_share(run: Run) -> None:
    found = document(run("--turns", "7", "--json"))
    assert tuple(found["strategies"]) == STRATEGIES
    assert (found["messages"], found["questions"], found["model"]) == (14, 0, None)
    for each in found["strategies"].values():
        assert each["turns"] == 7
        assert each["verbatim"] + each["summarised"] + each["elided"] == pytest.approx(1, abs=0.001)
        assert 0 < each["tokens_mean"] <= each["tokens_p95"]


def test_a_conversation_that_fits_is_covered_whole(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "locomo.json", locomo())
    found = document(run(file, "--only", "token_budget", "--json"))["strategies"]["token_budget"]
    assert {found[f"{name}@1000"] for name in ("verbatim", "coverage", "word_by_word", "with_search")} == {1.0}


def test_a_scripted_model_is_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_EXTRACTION", "none")
    found = document(run("--turns", "7", "--scripted", "--only", "rolling_pairs", "--json"))
    [each] = found["strategies"].values()
    assert found["model"] == "scripted"
    assert each["model_calls"] == 2  # with the tenth message, and when the session ended
    assert (each["elided"], each["summarised"] > 0) == (0, True)


def test_people_see_a_row_for_each_strategy(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "locomo.json", locomo())
    code, out, err = run(file, "--only", "topics", "--only", "rolling_pairs")
    assert code == 0, err
    assert [line.split()[0] for line in out.splitlines() if line.startswith(("rolling", "topics"))] == [
        "rolling_pairs",
        "topics",
    ] * 2


@pytest.mark.parametrize(
    ("words", "told"),
    [(("--only", "best"), "there is no strategy 'best'"), (("file.json", "--turns", "3"), "--turns cuts")],
)
def test_what_cannot_be_played_is_told_in_one_line(run: Run, words: tuple[str, ...], told: str) -> None:
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
