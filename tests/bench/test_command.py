"""`anaphora bench`, from the real entry point."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tests.bench.asking import NOW, result

from anaphora.bench.keeping import keep, kept
from anaphora.bench.peers.question import PACKAGES
from anaphora.bench.questions import QUESTIONS
from anaphora.bench.result import MILLIS, Figure, at_most
from anaphora.cli import main

SLOW = Figure(name="p99", case="now", value=90, unit=MILLIS, target=at_most(80))
FINE = replace(SLOW, value=45)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What the command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `anaphora bench` with some words in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def ran(*words: str) -> Ran:
        capsys.readouterr()
        code = main(["bench", *words])
        said = capsys.readouterr()
        return Ran(code=code, out=said.out, err=said.err)

    return ran


def test_what_is_measured_is_shown_and_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "databases").mkdir()
    done = run("rebuild", "search", "--quick", "--seed", "5", "--out", "kept/here", "--folder", "databases")
    assert done.code == 0, done.err
    assert done.out.index("search:") < done.out.index("rebuild:")
    assert "calls of the model" in done.out
    found = kept(tmp_path / "kept/here")
    assert [(each.question, each.quick, each.seed) for each in found] == [("search", True, 5), ("rebuild", True, 5)]
    assert len(list((tmp_path / "kept/here").iterdir())) == 2
    assert list((tmp_path / "databases").iterdir()) == []


def test_json_is_one_document_with_everything(run: Run) -> None:
    done = run("search", "--quick", "--json")
    assert done.code == 0
    (only,) = json.loads(done.out)["results"]
    assert only["question"] == "search"
    assert only["figures"]
    assert "not kept: --out" in done.err


def test_quick_results_are_not_put_among_those_of_a_checkout(run: Run, tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    assert run("search", "--quick").code == 0
    assert list((tmp_path / "benchmarks").iterdir()) == []


def test_an_unknown_question_is_told_in_one_line(run: Run) -> None:
    done = run("apend")
    assert (done.code, done.out) == (2, "")
    assert done.err == "anaphora: unknown question 'apend': did you mean 'append'?\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--folder", "nowhere", "append"], "nowhere: there is no such folder for the databases"),
        (["--markdown", "--json", "append"], "give either --markdown or --json"),
        (["--from", "nowhere"], "there are no results in nowhere"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(words: list[str], says: str, run: Run) -> None:
    done = run(*words)
    assert done.code in {1, 2}
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert says in line


def test_the_list_has_every_question(run: Run) -> None:
    done = run("--list")
    assert done.code == 0
    assert all(name in done.out for name in QUESTIONS)
    listed = json.loads(run("--list", "--json").out)["questions"]
    assert {each["name"]: each["asks"] for each in listed} == {
        name: question.asks for name, question in QUESTIONS.items()
    }


def without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the packages of the comparison were never installed."""
    real = metadata.version

    def version(name: str) -> str:
        if name in PACKAGES:
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)


def test_the_comparison_without_its_packages_is_one_line_and_a_failure(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_others(monkeypatch)
    done = run("peers", "--quick")
    assert (done.code, done.out) == (1, "")
    complaint = [line for line in done.err.splitlines() if line.startswith("anaphora: ")]
    assert complaint == [
        "anaphora: peers: the comparison with LangGraph and mem0 needs more packages: pip install 'anaphora[bench]'"
    ]


def test_a_question_that_fails_does_not_keep_the_others_from_being_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))  # no process that is started from here works
    done = run("several_processes", "search", "--quick")
    assert done.code == 1
    assert "search: How long" in done.out
    assert "several_processes:" not in done.out
    assert any(line.startswith("anaphora: several_processes: ") for line in done.err.splitlines())


def test_a_missed_target_is_shown_and_only_strict_makes_it_a_failure(run: Run, tmp_path: Path) -> None:
    keep(result(SLOW), tmp_path / "kept")
    done = run("--from", "kept")
    assert done.code == 0
    assert "missed" in done.out
    assert "target missed: append: p99 now" in done.err
    assert run("--from", "kept", "--strict").code == 1
    keep(result(FINE, started_at=NOW + timedelta(hours=1)), tmp_path / "kept")
    done = run("--from", "kept", "--strict")
    assert (done.code, done.err) == (0, "")


def test_kept_results_can_be_shown_for_a_page_and_for_a_program(run: Run, tmp_path: Path) -> None:
    for question in ("append", "search"):
        keep(result(FINE, question=question), tmp_path / "kept")
    page = run("--from", "kept", "--markdown")
    assert page.out.index("### `append`") < page.out.index("### `search`")
    document: dict[str, Any] = json.loads(run("search", "--from", "kept", "--json").out)
    assert [each["question"] for each in document["results"]] == ["search"]


def test_comparing_prints_ratios_and_what_makes_them_doubtful(run: Run, tmp_path: Path) -> None:
    keep(result(SLOW), tmp_path / "old")
    keep(result(FINE, seed=2), tmp_path / "new")
    done = run("--compare", "old", "new")
    assert done.code == 0
    row = next(line.split() for line in done.out.splitlines() if "p99" in line)
    assert row == ["append", "p99", "now", "90", "ms", "45", "ms", "0.50x", "better"]
    assert done.err == "append: not of the same seed\n"
    (change,) = json.loads(run("--compare", "old", "new", "--json").out)["changes"]
    assert (change["ratio"], change["better"]) == (0.5, True)
