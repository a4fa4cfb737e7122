"""From what every question brought to one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from anaphora.evals.cases import Place, Question
from anaphora.rules.timings import millis, percentile

#: how many of the first hits count
DEPTHS: Final = (5, 10, 20)
#: tokens of the prompts
BUDGETS: Final = (500, 1000, 2000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds of one search."""

    #: without making the question's vector
    search: float
    #: processor time of the same
    cpu: float
    #: all of it, the question's vector included
    whole: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What one question brought."""

    question: Question
    #: best first
    found: Sequence[Place]
    #: by budget: what stands in the prompt word by word
    shown: Mapping[int, frozenset[Place]]
    #: by baseline, best first
    baselines: Mapping[str, Sequence[Place]]
    spent: Spent

    def recall(self, found: Sequence[Place], depth: int) -> float:
        """The share of the evidence that is among the first `depth`."""
        evidence = self.question.evidence
        return len(evidence & set(found[:depth])) / len(evidence)

    def coverage(self, budget: int) -> float:
        """The share of the evidence that is shown."""
        evidence = self.question.evidence
        return len(evidence & self.shown[budget]) / len(evidence)


def report(answers: Sequence[Answered], *, embedded: float | None) -> dict[str, Any]:
    """One document: means over questions, of all and by category, beside the baselines.

    Args:
        answers: at least one.
        embedded: seconds that a message took to embed; None without an embedder.

    """
    categories = sorted({answer.question.category for answer in answers})
    return {
        **_means(answers),
        "by_category": {
            name: _means([answer for answer in answers if answer.question.category == name]) for name in categories
        },
        "baselines": {
            name: {
                f"recall@{depth}": _mean([answer.recall(answer.baselines[name], depth) for answer in answers])
                for depth in DEPTHS
            }
            for name in answers[0].baselines
        },
        "search_ms": {
            "p50": millis(percentile([answer.spent.search for answer in answers], 0.5)),
            "p99": millis(percentile([answer.spent.search for answer in answers], 0.99)),
            "cpu_p50": millis(percentile([answer.spent.cpu for answer in answers], 0.5)),
            "with_question_p50": millis(percentile([answer.spent.whole for answer in answers], 0.5)),
        },
        "embed_ms": None if embedded is None else millis(embedded),
    }


def _means(answers: Sequence[Answered]) -> dict[str, Any]:
    recall = {f"recall@{depth}": _mean([one.recall(one.found, depth) for one in answers]) for depth in DEPTHS}
    coverage = {f"coverage@{budget}": _mean([one.coverage(budget) for one in answers]) for budget in BUDGETS}
    return {"questions": len(answers), **recall, **coverage}


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4)
