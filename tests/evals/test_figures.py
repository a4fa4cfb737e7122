"""The figures of a document mean what the reference says."""

from __future__ import annotations

import pytest

from anaphora.evals.baselines import Bm25
from anaphora.evals.cases import Place, Question
from anaphora.evals.figures import BUDGETS, Answered, Spent, report
from anaphora.rules.timings import percentile

FIRST, SECOND, OTHER = ("s", 0), ("s", 1), ("s", 2)
TEXTS: list[tuple[Place, str]] = [
    (FIRST, "The ferry to Oslo leaves at nine."),
    (SECOND, "Ferries and ferries: nothing but a ferry."),
    (OTHER, "She was painting the fence."),
]


def answered(*found: Place, category: str = "1", shown: int = 0, seconds: float = 0.001) -> Answered:
    """An answer to a question whose evidence is `FIRST` and `SECOND`; `shown`: from which budget on `FIRST` is."""
    return Answered(
        question=Question(text="?", category=category, evidence=frozenset({FIRST, SECOND})),
        found=found,
        shown={budget: frozenset({FIRST} if budget >= shown else ()) for budget in BUDGETS},
        baselines={"bm25": (OTHER, FIRST)},
        spent=Spent(search=seconds, cpu=seconds / 2, whole=seconds * 2),
    )


def filler(count: int) -> list[Place]:
    return [("t", number) for number in range(count)]


def test_recall_is_the_share_of_the_evidence_among_the_first_hits() -> None:
    document = report([answered(*filler(4), FIRST, *filler(4), SECOND)], embedded=None)
    assert (document["recall@5"], document["recall@10"], document["recall@20"]) == (0.5, 1.0, 1.0)


def test_coverage_is_the_share_of_the_evidence_that_is_shown() -> None:
    document = report([answered(shown=1000)], embedded=None)
    assert [document[f"coverage@{budget}"] for budget in BUDGETS] == [0.0, 0.5, 0.5]


def test_every_question_counts_the_same_and_is_counted_in_its_category() -> None:
    answers = [answered(FIRST, SECOND), answered(category="2"), answered(FIRST, category="2")]
    document = report(answers, embedded=None)
    assert (document["questions"], document["recall@5"]) == (3, 0.5)
    found = {name: (part["questions"], part["recall@5"]) for name, part in document["by_category"].items()}
    assert found == {"1": (1, 1.0), "2": (2, 0.25)}


def test_baselines_are_measured_on_the_same_questions() -> None:
    document = report([answered(FIRST, SECOND), answered()], embedded=None)
    assert document["baselines"] == {"bm25": {"recall@5": 0.5, "recall@10": 0.5, "recall@20": 0.5}}


def test_times_are_milliseconds() -> None:
    document = report([answered(seconds=0.004)], embedded=0.0125)
    assert document["search_ms"] == {"p50": 4.0, "p99": 4.0, "cpu_p50": 2.0, "with_question_p50": 8.0}
    assert document["embed_ms"] == 12.5


@pytest.mark.parametrize(("share", "value"), [(0.5, 51), (0.99, 100), (0.0, 1), (1.0, 100)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile(list(range(100, 0, -1)), share) == value


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("When does the ferry to Oslo leave?", [FIRST, SECOND]),
        ("What about ferries?", [SECOND, FIRST]),
        ("Who painted?", [OTHER]),
        ('Is it "syntax" OR content:ferry* NOT Oslo?', [FIRST, SECOND]),
        ("鲸鱼在哪里？", []),
    ],
)
def test_the_baseline_of_words_ranks_whole_messages_by_their_stems(question: str, found: list[Place]) -> None:
    with Bm25(TEXTS) as words:
        assert list(words.find(question, 20)) == found


def test_the_baseline_of_words_gives_no_more_than_it_is_asked_for() -> None:
    with Bm25(TEXTS) as words:
        assert list(words.find("ferry Oslo", 1)) == [FIRST]
