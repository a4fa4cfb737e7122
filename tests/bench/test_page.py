"""The page about benchmarks shows what was measured, and nothing else."""

from __future__ import annotations

from pathlib import Path

from anaphora.bench.keeping import kept
from anaphora.bench.questions import QUESTIONS
from anaphora.bench.tables import markdown

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
RESULTS = ROOT / "benchmarks" / "results"
MARK = "<!-- figures -->"


def test_the_figures_of_the_page_are_those_that_were_kept() -> None:
    _, shown = PAGE.read_text(encoding="utf-8").split(MARK)
    assert shown.strip() == markdown(kept(RESULTS)).strip(), "benchmarks/README.md says how to put them on the page"


def test_the_kept_results_answer_every_question_in_full() -> None:
    results = kept(RESULTS)
    there = {result.question for result in results}
    # a long question is asked now and then
    assert [result.question for result in results] == [
        name for name, question in QUESTIONS.items() if not question.long or name in there
    ]
    assert not any(result.quick for result in results)


def test_the_page_tells_of_every_question_and_its_targets() -> None:
    told, _ = PAGE.read_text(encoding="utf-8").split(MARK)
    missing = [name for name in QUESTIONS if f"| `{name}` |" not in told]
    assert missing == []
