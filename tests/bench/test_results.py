"""Results: what they hold, how they are kept, compared and shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.bench.asking import NOW, asked, result

from anaphora.bench.compare import cautions, changes
from anaphora.bench.keeping import keep, kept
from anaphora.bench.question import Question
from anaphora.bench.result import (
    MILLIS,
    RATE,
    RATIO,
    Figure,
    Measured,
    Result,
    Target,
    at_least,
    at_most,
    per_second,
    ratio,
    waits,
)
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bench.tables import comparison, described, markdown, shown, table
from anaphora.errors import InvalidInput, NotFound
from anaphora.rules.timings import percentile

FAST = Figure(name="acknowledged", case="16 clients", value=2_500, unit=RATE, target=at_least(2_000))
SLOW = Figure(name="p99", case="16 clients", value=90.25, unit=MILLIS, target=at_most(80))
WORD = Figure(name="search goes by", value="words")


@dataclass(frozen=True)
class Nothing:
    count: int = 3


async def slow(sizes: Nothing, _: Setup) -> Measured:
    assert sizes.count == 3
    return Measured(figures=(FAST, SLOW), notes=("Slow today.",), versions={"other": "9.9"})


@pytest.mark.anyio
async def test_a_missed_target_is_part_of_the_result_and_no_error(tmp_path: Path) -> None:
    question = Question(name="slow", asks="How slow?", full=Nothing(), quick=Nothing(), measure=slow)
    found = await asked(question, tmp_path)
    assert found.missed == (SLOW,)
    assert found.sizes == {"count": 3}
    assert found.notes == ("Slow today.",)
    assert found.versions["other"] == "9.9"


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [
        (at_least(10), 10, True),
        (at_least(10), 9.99, False),
        (at_most(10), 10, True),
        (at_most(10), 10.01, False),
        (at_most(0), 0, True),
        (at_most(0), 1, False),
    ],
)
def test_a_bound_belongs_to_what_is_wanted(target: Target, value: float, met: bool) -> None:
    assert target.met_by(value) is met
    assert Figure(name="x", value=value, target=target).met is met


@pytest.mark.parametrize("bounds", [{}, {"at_least": 1.0, "at_most": 2.0}])
def test_a_target_has_one_bound(bounds: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="one bound"):
        Target(**bounds)


def test_a_figure_without_a_target_is_neither_met_nor_missed() -> None:
    assert WORD.met is None
    assert result(WORD).missed == ()


def test_a_result_survives_being_written_and_read() -> None:
    made = result(FAST, SLOW, WORD)
    assert Result.from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    "document",
    [
        {},
        {**result().to_dict(), "figures": [{"name": "x"}]},
        {**result().to_dict(), "figures": [{"name": "x", "case": "", "unit": "", "value": None}]},
        {**result(FAST).to_dict(), "started_at": "yesterday"},
        {**result(FAST).to_dict(), "versions": ["0.1"]},
    ],
)
def test_what_is_no_result_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="not a result"):
        Result.from_dict(document)


def test_shares_rates_and_ratios_are_what_they_say() -> None:
    values = [float(number) for number in range(1, 101)]
    assert percentile(values, 0.5) == 51
    assert percentile(values, 0.99) == 100
    assert percentile(values, 1.0) == 100
    assert percentile([], 0.5) == 0
    assert [per_second(1_000, 2.0), per_second(1, 4.0), per_second(3, 0.0)] == [500, 0.2, 0]
    assert [ratio(3, 2), ratio(3, 0)] == [1.5, 0]
    assert [figure.value for figure in waits([0.001, 0.002, 0.0035], name="a turn")] == [2.0, 3.5]


def test_a_folder_gives_the_newest_result_of_each_question_in_the_order_of_the_questions(tmp_path: Path) -> None:
    later = NOW + timedelta(hours=1)
    paths = [
        keep(result(FAST, question="search"), tmp_path),
        keep(result(SLOW, question="append", started_at=later), tmp_path),
        keep(result(FAST, question="append"), tmp_path),
    ]
    assert [path.name for path in paths] == [
        "search-20260301T120000Z.json",
        "append-20260301T130000Z.json",
        "append-20260301T120000Z.json",
    ]
    found = kept(tmp_path)
    assert [(each.question, each.started_at) for each in found] == [("append", later), ("search", NOW)]
    assert [each.figures for each in kept(paths[2])] == [(FAST,)]


def test_a_folder_without_results_and_a_file_that_is_none_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no results in"):
        kept(tmp_path)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"broken\.json: not JSON"):
        kept(tmp_path)
    (tmp_path / "broken.json").write_text('{"question": "append"}', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"broken\.json: not a result"):
        kept(tmp_path)


def test_comparing_gives_ratios_and_says_which_way_is_better() -> None:
    old = result(FAST, SLOW, WORD, Figure(name="ratio", value=2.0, unit=RATIO), Figure(name="lost", value=0))
    new = result(
        Figure(name="acknowledged", case="16 clients", value=5_000, unit=RATE),
        Figure(name="p99", case="16 clients", value=361, unit=MILLIS),
        Figure(name="search goes by", value="vectors"),
        Figure(name="ratio", value=1.0, unit=RATIO),
        Figure(name="lost", value=0),
        Figure(name="only now", value=1),
    )
    found = {change.name: (change.ratio, change.better) for change in changes([old], [new])}
    assert found == {
        "acknowledged": (2.0, True),
        "p99": (4.0, False),
        "ratio": (0.5, None),
        "lost": (None, None),
    }


def test_a_target_decides_which_way_is_better() -> None:
    flat = Figure(name="ratio", value=2.0, unit=RATIO, target=at_most(1.2))
    (change,) = changes([result(flat)], [result(Figure(name="ratio", value=1.0, unit=RATIO, target=at_most(1.2)))])
    assert change.better is True


def test_what_makes_a_comparison_doubtful_is_told() -> None:
    old = [result(FAST), result(FAST, question="search")]
    new = [result(FAST, seed=2, machine={"cores": 64}, sizes={"messages": 99}), result(FAST, question="context")]
    assert set(cautions(old, new)) == {
        "append: not of the same machine",
        "append: not of the same sizes",
        "append: not of the same seed",
        "context: only the new results have it",
        "search: only the old results have it",
    }
    assert list(cautions(old, old)) == []


def test_a_busier_moment_of_a_machine_makes_it_no_other_machine() -> None:
    calm, busy = (result(FAST, machine={"cores": 2, "load": load}) for load in (0.1, 7.5))
    assert list(cautions([calm], [busy])) == []
    assert "load 7.5 before" in described(busy)


def test_cases_stand_side_by_side_where_every_figure_has_them_all() -> None:
    one, other = (Figure(name="p99", case=case, value=1.5, unit=MILLIS, target=at_most(1)) for case in ("one", "other"))
    drawn = table(
        result(one, other, Figure(name="p50", case="other", value=1), Figure(name="p50", case="one", value=2))
    )
    assert drawn.columns == ("", "one", "other")
    assert drawn.rows == (
        ("p99", "1.50 ms (<= 1 ms: missed)", "1.50 ms (<= 1 ms: missed)"),
        ("p50", "2", "1"),
    )


def test_other_figures_stand_below_each_other_with_their_targets() -> None:
    drawn = table(result(FAST, SLOW, WORD))
    assert drawn.rows == (
        ("acknowledged", "16 clients", "2,500/s", ">= 2,000/s", "met"),
        ("p99", "16 clients", "90.2 ms", "<= 80 ms", "missed"),
        ("search goes by", "", "words", "", ""),
    )


def test_a_page_shows_the_figures_the_notes_and_what_they_were_measured_on() -> None:
    page = markdown([result(FAST, SLOW, Figure(name="a|b", value="x|y"))])
    assert "### `append`" in page
    assert "| acknowledged | 16 clients | 2,500/s | >= 2,000/s | met |" in page
    assert "| p99 | 16 clients | 90.2 ms | <= 80 ms | **missed** |" in page
    assert "| a\\|b | | x\\|y | | |" in page
    assert "A note." in page
    assert "Measured on Linux x86_64, 2 cores, 4 GiB; anaphora 0.1.0; seed 1; 2026-03-01; 1.50 s." in page


def test_quick_figures_are_not_taken_for_measurements() -> None:
    assert "quick: too small" in described(result(FAST, quick=True))
    assert "quick" not in described(result(FAST))


def test_a_comparison_shows_then_now_and_the_ratio() -> None:
    (row,) = comparison(list(changes([result(SLOW)], [result(SLOW)]))).rows
    assert row == ("append", "p99", "16 clients", "90.2 ms", "90.2 ms", "1x", "")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0, "s", "0 s"), (0.04, "x", "0.04x"), (12.345, "ms", "12.3 ms"), (1234.5, "/s", "1,234/s"), (3, "", "3")],
)
def test_values_have_as_many_digits_as_mean_something(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_the_settings_of_whoever_measures_have_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "anaphora.toml").write_text('strategy = "sliding_window"\nmodel = "openai:none"\n', encoding="utf-8")
    monkeypatch.setenv("ANAPHORA_DURABILITY", "normal")
    settings = plain_settings(tmp_path / "x.db", context_budget=100)
    assert (settings.strategy, settings.model, settings.durability) == ("rolling_pairs", None, "full")
    assert (settings.context_budget, settings.embedder) == (100, "none")
