"""MaxSim: each token of the question looks for its like in the passage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.vectors import Scale
from anaphora.models.embedders.onnx import OnnxEmbedder
from anaphora.models.embedders.profiles import BGE_SMALL
from anaphora.models.rerank import MaxSim, Rows, closeness

QUESTION = "Which food must I avoid?"
PASSAGES = (
    "I'm allergic to peanuts, so no satay for me.",
    "We moved from Lisbon to Oslo last year.",
    "The invoice is due on Friday.",
)
ANGLES = st.lists(st.floats(0, 6.2), max_size=6)


def rows(*vectors: Sequence[float]) -> Rows:
    return np.asarray(vectors, dtype=np.float32).reshape(len(vectors), 2)


def turned(angles: Sequence[float]) -> Rows:
    return rows(*[(math.cos(angle), math.sin(angle)) for angle in angles])


@pytest.mark.parametrize(
    ("question", "passage", "close"),
    [
        (rows((1, 0)), rows((1, 0)), 1),
        (rows((1, 0)), rows((0, 1)), 0),
        (rows((1, 0)), rows((-1, 0)), -1),
        (rows((1, 0)), rows((0, 1), (1, 0), (0, 1)), 1),  # what else stands there does not matter
        (rows((1, 0), (0, 1)), rows((1, 0)), 0.5),  # every token of the question counts alike
        (rows((1, 0), (0, 1)), rows((0, 1), (1, 0)), 1),  # wherever they stand
        (rows(), rows((1, 0)), 0),
        (rows((1, 0)), rows(), 0),
    ],
)
def test_each_token_of_the_question_counts_by_its_closest(question: Rows, passage: Rows, close: float) -> None:
    assert closeness(question, passage) == pytest.approx(close)


@given(ANGLES, ANGLES)
def test_it_is_the_mean_of_the_best_cosines(question: list[float], passage: list[float]) -> None:
    expected = 0.0
    if question and passage:
        best = [max(math.cos(one - other) for other in passage) for one in question]
        expected = math.fsum(best) / len(best)
    assert closeness(turned(question), turned(passage)) == pytest.approx(expected, abs=1e-5)


@given(ANGLES, ANGLES, ANGLES)
def test_a_passage_that_says_more_is_never_further_away(
    question: list[float], said: list[float], more: list[float]
) -> None:
    if said:
        assert closeness(turned(question), turned([*said, *more])) >= closeness(turned(question), turned(said)) - 1e-6


class Spelled:
    """Tokens are letters, each with a direction of its own."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def token_vectors(self, text: str) -> Rows:
        self.read.append(text)
        return np.eye(26, dtype=np.float32)[[ord(letter) - ord("a") for letter in text]]


@pytest.mark.anyio
async def test_a_passage_is_worth_how_far_above_chance_it_is_and_never_less_than_nothing() -> None:
    reranker = MaxSim(Spelled(), name="letters", scale=Scale(mean=0.5, spread=0.25), weight=2.0)
    assert list(await reranker.rerank("abcd", ["abcd", "abc", "ab", "a", ""])) == [4, 2, 0, 0, 0]


@pytest.mark.anyio
async def test_a_question_without_a_token_says_nothing() -> None:
    assert list(await MaxSim(Spelled(), name="letters").rerank("", ["a", "b"])) == [0, 0]


@pytest.mark.anyio
async def test_who_is_cancelled_reads_no_further() -> None:
    encoder = Spelled()

    class Leaving(Spelled):
        def token_vectors(self, text: str) -> Rows:
            if text == "b":
                anyio.from_thread.run_sync(scope.cancel)
            return encoder.token_vectors(text)

    with anyio.CancelScope() as scope:
        await MaxSim(Leaving(), name="letters").rerank("a", ["a", "b", "c", "d"])
    assert scope.cancelled_caught
    assert "d" not in encoder.read


def test_tokens_have_unit_vectors_and_the_marks_around_them_none(bge: OnnxEmbedder) -> None:
    vectors = bge.token_vectors("hello world")
    assert vectors.shape == (2, BGE_SMALL.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert bge.token_vectors("").shape == (0, BGE_SMALL.dimensions)
    assert len(bge.token_vectors("word " * 5000)) == BGE_SMALL.max_tokens - 2


@pytest.mark.anyio
async def test_the_passage_that_answers_is_worth_most_in_whatever_company(bge: OnnxEmbedder) -> None:
    reranker = MaxSim(bge, name="local")
    alone = dict(zip(PASSAGES, await reranker.rerank(QUESTION, PASSAGES), strict=True))
    assert max(alone, key=lambda passage: alone[passage] or 0.0) == PASSAGES[0]
    for order in permutations(PASSAGES):
        assert list(await reranker.rerank(QUESTION, order)) == [alone[passage] for passage in order]
