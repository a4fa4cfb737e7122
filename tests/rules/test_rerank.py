"""What somebody says of the first hits is one more kind of evidence, and never loses or invents a hit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rules.materials import message

from anaphora.domain.keys import SessionKey
from anaphora.domain.search import Hit
from anaphora.rules.rerank import RERANK, is_usable, reranked

SCORES = st.lists(st.floats(-20, 20), max_size=12).map(lambda scores: sorted(scores, reverse=True))
WORTH = st.one_of(st.none(), st.floats(0, 10))


def found(*scores: float) -> tuple[Hit, ...]:
    """Hits with these scores, numbered from 0."""
    return tuple(
        Hit(
            session_id=UUID(int=1),
            key=SessionKey(tenant="t", user="u", agent="a", session="s"),
            message=message(seq, f"message {seq}"),
            passage=f"message {seq}",
            score=score,
            scores={"words": score},
            words=(),
            similarity=None,
            relevance=0.5,
        )
        for seq, score in enumerate(scores)
    )


def seqs(hits: Sequence[Hit]) -> list[int]:
    return [hit.message.seq for hit in hits]


@pytest.mark.parametrize(
    ("scores", "worth", "order"),
    [
        ((3, 2, 1), (0, 0, 5), [2, 0, 1]),
        ((3, 2, 1), (0, 1, 2), [0, 1, 2]),  # of equals the first stays first
        ((3, 2, 1), (1, None, 9), [2, 1, 0]),  # who is not judged keeps its place
        ((3, 2, 1), (None, 9, 0), [0, 1, 2]),
        ((3, 2, 1, 0.5), (0, 9), [1, 0, 2, 3]),  # what stands behind stays there
        ((3, 2, 1), (None, None, None), [0, 1, 2]),
        ((3, 2, 1), (), [0, 1, 2]),
        ((), (), []),
    ],
)
def test_the_judged_change_places_among_themselves(
    scores: Sequence[float], worth: Sequence[float | None], order: list[int]
) -> None:
    assert seqs(reranked(found(*scores), worth)) == order


@given(SCORES, st.data())
def test_no_hit_is_lost_and_the_best_stay_first(scores: list[float], data: st.DataObject) -> None:
    hits = found(*scores)
    worth = data.draw(st.lists(WORTH, max_size=len(hits)))
    after = reranked(hits, worth)
    assert sorted(seqs(after)) == seqs(hits)
    values = [hit.score for hit in after]
    assert values == sorted(values, reverse=True)


@given(SCORES, st.data())
def test_a_score_is_the_sum_of_what_it_is_made_of(scores: list[float], data: st.DataObject) -> None:
    hits = found(*scores)
    worth = data.draw(st.lists(WORTH, max_size=len(hits)))
    for hit in reranked(hits, worth):
        assert hit.score == pytest.approx(math.fsum(hit.scores.values()))
        said = worth[hit.message.seq] if hit.message.seq < len(worth) else None
        if said is not None:
            assert hit.scores[RERANK] == said


@given(SCORES, st.data())
def test_who_is_not_judged_keeps_the_place(scores: list[float], data: st.DataObject) -> None:
    hits = found(*scores)
    worth = data.draw(st.lists(WORTH, max_size=len(hits)))
    after = seqs(reranked(hits, worth))
    for seq in range(len(hits)):
        if seq >= len(worth) or worth[seq] is None:
            assert after[seq] == seq


@given(SCORES)
def test_what_says_nothing_changes_nothing(scores: list[float]) -> None:
    hits = found(*scores)
    assert reranked(hits, [None] * len(hits)) == hits
    assert seqs(reranked(hits, [0.0] * len(hits))) == seqs(hits)


@pytest.mark.parametrize(
    ("worth", "count", "usable"),
    [
        ((1.0, None, 0.0), 3, True),
        ((), 0, True),
        ((1.0,), 2, False),
        ((1.0, 2.0), 1, False),
        ((-0.1,), 1, False),
        ((math.nan,), 1, False),
        ((math.inf,), 1, False),
    ],
)
def test_only_finite_numbers_from_nought_up_can_be_used(
    worth: Sequence[float | None], count: int, *, usable: bool
) -> None:
    assert is_usable(worth, count) is usable
