from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from anaphora.cli import main
from anaphora.cli.demo_view import LineView, LiveView, Outcome, closing, shares
from anaphora.demo.replay import Measure, Step, Totals, Version
from anaphora.demo.script import load


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANAPHORA_EMBEDDER", "none")
    monkeypatch.setenv("COLUMNS", "100")


def measure(turn: int, *, fault: str | None = None) -> Measure:
    head = 2 * (turn - 1)
    return Measure(
        turn=turn,
        session="spring",
        head=head,
        tokens=40 + head,
        tokens_full_history=40 + 30 * head,
        summarised=head // 2,
        verbatim=head - head // 2,
        elided=0,
        fault=fault,
    )


def version(number: int) -> Version:
    return Version(
        session="spring",
        version=number,
        base=number - 1 or None,
        start=0,
        stop=8 * number,
        method="extractive",
        model=None,
        tokens=120,
        points=("User: A garden \x1b[31mbehind\x1b[0m the brickyard.",),
    )


def test_the_json_holds_every_turn_with_its_account_intact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--turns", "30", "--json", "--svg", "p.svg"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert err == ""
    assert set(told) == {
        *("title", "user", "strategy", "model", "ok", "totals", "turns", "versions", "questions", "waiting"),
        *("svg", "db", "seconds"),
    }
    assert (told["ok"], told["model"], told["strategy"], told["waiting"]) == (True, None, "rolling_pairs", None)
    assert [turn["fault"] for turn in told["turns"]] == [None] * 30
    assert told["totals"]["intact"] == told["totals"]["turns"] == 30
    assert {question["rank"] for question in told["questions"]} == {1}
    assert ET.parse("p.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_without_a_terminal_it_prints_lines_that_say_what_a_person_needs_to_see(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--turns", "30"]) == 0
    out = capsys.readouterr().out
    assert "No language model: summaries are chosen sentences (extractive)" in out
    assert "ANAPHORA_MODEL" in out
    assert "every message accounted for at 30 of 30 turns" in out
    assert "v2 summarises 0-9" in out
    assert "Mrs Oduya" in out
    assert "nan" not in out.lower()
    assert "\x1b" not in out
    assert out.splitlines()[-2].split() == ["next", "anaphora", "chat", "YOU"]
    assert out.splitlines()[-1].split()[:3] == ["anaphora", "demo", "--serve"]
    assert Path("anaphora-demo.svg").is_file()


def test_the_database_is_kept_where_it_is_wanted_and_not_filled_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--turns", "2", "--db", "kept.db", "--strategy", "sliding_window"]) == 0
    assert Path("kept.db").is_file()
    capsys.readouterr()
    assert main(["demo", "--turns", "2", "--db", "kept.db"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--turns", "0"], "turns must be at least 1"),
        (["--svg", "no/such/folder/p.svg"], "there is no such folder"),
        (["--svg", "."], "that is a folder"),
        (["--strategy", "rolling_pears"], "did you mean 'rolling_pairs'?"),
        (["--model", "nonsense"], "has no provider"),
    ],
)
def test_a_wrong_wish_is_refused_in_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--turns", "1", *words]) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert err.count("\n") == 1


def outcome(*, intact: int) -> Outcome:
    measures = [measure(turn, fault=None if turn <= intact else "message 3 is lost") for turn in range(1, 11)]
    totals = Totals(turns=10, messages=20, tokens=400, tokens_full_history=4000, intact=intact, versions=1, elided=0)
    return Outcome(
        script=load().cut(10),
        strategy="rolling_pairs",
        model="openai:x",
        totals=totals,
        measures=measures,
        versions=[version(1)],
        findings=[],
        svg=Path("p.svg"),
        db=None,
        waiting="2 summaries: the model is down",
        seconds=1.0,
    )


@pytest.mark.parametrize(("intact", "mark"), [(10, "✓"), (9, "✗")])
def test_the_end_says_whether_the_account_held_at_every_turn(intact: int, mark: str) -> None:
    ended = outcome(intact=intact)
    console = Console(file=io.StringIO(), width=100)
    console.print(closing(ended, 100))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO, as made above
    assert ended.ok == (intact == 10)
    assert f"{mark} every message accounted for exactly once at {intact} of 10 turns" in text
    assert "90% saved" in text
    assert "the model is down" in text


def test_the_live_picture_shows_curves_account_and_chain_and_obeys_no_escape_of_a_model() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=90, height=30, color_system=None)
    with LiveView(console, load().cut(20)) as view:
        for turn in range(1, 9):
            view.step(Step(measure=measure(turn), versions=(version(turn),)))
    text = screen.getvalue()
    assert "14 of 14 messages accounted for exactly once  (8 of 8 turns)" in text
    assert "… v5 0-39 → v6 0-47 → v7 0-55 → v8 0-63  (120 tokens)" in text
    assert "A garden \\x1b[31mbehind" in text
    assert max(len(line) for line in text.splitlines() if "\x1b" not in line) <= 90


def test_a_fault_is_shown_at_its_turn() -> None:
    lines, screen = io.StringIO(), io.StringIO()
    LineView(Console(file=lines, width=100), load().cut(9)).step(Step(measure=measure(3, fault="message 1 is lost")))
    assert "message 1 is lost" in lines.getvalue()
    with LiveView(Console(file=screen, force_terminal=True, width=90, height=30), load().cut(9)) as view:
        view.step(Step(measure=measure(3, fault="message 1 is lost")))
    assert "✗ message 1 is lost" in screen.getvalue()


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0), (1, 1, 998), (3, 2, 1), (0, 0, 5)])
def test_a_bar_is_full_and_shows_even_the_smallest_part(counts: tuple[int, int, int]) -> None:
    cells = shares(counts, 20)
    assert sum(cells) == (20 if sum(counts) else 0)
    assert [cell > 0 for cell in cells] == [count > 0 for count in counts]
