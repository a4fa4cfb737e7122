"""Search by meaning in a file: what the laws of every store do not see."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.bench import opened

from anaphora.domain.vectors import MAX_DIMENSIONS, Space
from anaphora.errors import InvalidInput, MissingExtra
from anaphora.storage.sqlite.cosines import Matrix
from anaphora.storage.vectors import Found

SPACE = Space(profile="p", dimensions=3)


def rows(vectors: list[tuple[float, ...]], *, start: int = 0) -> Iterator[tuple[int, str, int, int, str, bytes]]:
    """Vectors as the database gives them: every other one of another session and another agent."""
    for seq, vector in enumerate(vectors, start=start):
        yield seq + 1, f"s{seq % 2}", seq, 0, f"a{seq % 2}", struct.pack("<3f", *vector)


def matrix(vectors: list[tuple[float, ...]], *, at_once: int | None = None) -> Matrix:
    """The vectors at hand, read in portions of this size."""
    step = at_once or len(vectors)
    made = Matrix(3)
    for start in range(0, len(vectors), step):
        made.add(rows(vectors[start : start + step], start=start))
    return made


def closest(made: Matrix, wanted: tuple[float, ...], limit: int) -> list[Found]:
    return made.closest(wanted, limit, agent=None, session=None)


@given(
    count=st.integers(1, 60),
    limit=st.integers(1, 70),
    seed=st.integers(0, 999),
    at_once=st.integers(1, 60),
    copies=st.booleans(),
)
def test_the_closest_are_those_that_a_plain_comparison_finds_with_all_that_are_as_close(
    count: int, limit: int, seed: int, at_once: int, *, copies: bool
) -> None:
    chance = random.Random(seed)
    pool = [SPACE.unit([chance.gauss(0, 1) for _ in range(3)]) for _ in range(4 if copies else count)]
    vectors = [chance.choice(pool) for _ in range(count)] if copies else pool
    wanted = SPACE.unit([1.0, 0.5, -0.2])
    exact = sorted(_dot(vector, wanted) for vector in vectors)
    found = sorted(close for *_, close in closest(matrix(vectors, at_once=at_once), wanted, limit))
    assert len(found) >= min(limit, count)
    assert found == pytest.approx(exact[-len(found) :], abs=1e-5)
    assert copies or len(found) == min(limit, count)


def test_more_vectors_than_are_kept_in_memory_at_a_time_are_all_compared() -> None:
    vectors = [SPACE.unit([1.0, number / 10_000, 0.0]) for number in range(10_000)]
    found = {seq for _, seq, _, _ in closest(matrix(vectors), SPACE.unit([0.0, 1.0, 0.0]), 3)}
    assert {9_999, 9_998, 9_997} <= found
    assert min(found) > 9_900


@pytest.mark.parametrize(
    ("agent", "session", "found"),
    [
        (None, None, {0, 1, 2, 3}),
        ("a1", None, {1, 3}),
        (None, "s0", {0, 2}),
        ("a1", "s1", {1, 3}),
        ("a1", "s0", set()),
        ("a9", None, set()),
        (None, "s9", set()),
    ],
)
def test_only_what_is_asked_for_is_compared(agent: str | None, session: str | None, found: set[int]) -> None:
    made = matrix([(1.0, 0.0, 0.0)] * 4)
    assert {seq for _, seq, _, _ in made.closest((1.0, 0.0, 0.0), 9, agent=agent, session=session)} == found


@given(count=st.integers(0, 40), seed=st.integers(0, 99), at_once=st.integers(1, 40))
def test_the_mean_is_that_of_the_vectors_of_the_scope_and_of_no_others(count: int, seed: int, at_once: int) -> None:
    chance = random.Random(seed)
    vectors = [SPACE.unit([chance.gauss(0, 1) for _ in range(3)]) for _ in range(count)]
    made = matrix(vectors, at_once=at_once) if count else Matrix(3)
    scopes: list[tuple[str | None, str | None, list[tuple[float, ...]]]] = [
        (None, None, vectors),
        ("a1", None, vectors[1::2]),
        (None, "s0", vectors[::2]),
        ("a1", "s1", vectors[1::2]),
        ("a1", "s0", []),
        ("a9", None, []),
    ]
    for agent, session, meant in scopes:
        expected = [sum(values) / len(meant) for values in zip(*meant, strict=True)]
        assert made.mean(agent=agent, session=session) == pytest.approx(expected, abs=1e-6)


def test_one_agent_alone_is_all_there_is() -> None:
    made = Matrix(3)
    made.add([(1, "s", 0, 0, "a", struct.pack("<3f", 1.0, 0.0, 0.0))])
    assert made.mean(agent="a", session=None) == made.mean(agent=None, session=None) == [1.0, 0.0, 0.0]
    assert made.mean(agent="b", session=None) == []
    assert closest(made, (1.0, 0.0, 0.0), 1) == made.closest((1.0, 0.0, 0.0), 1, agent="a", session=None)
    assert made.closest((1.0, 0.0, 0.0), 1, agent="b", session=None) == []


@pytest.mark.anyio
async def test_without_numpy_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "anaphora.storage.sqlite.cosines", raising=False)
    async with opened(tmp_path / "m.db") as store:
        with pytest.raises(MissingExtra, match=r"anaphora\[local\]"):
            await store.read(
                "t",
                lambda unit: unit.vectors.nearest(
                    "t", "u", agent=None, session_id=None, space=SPACE, vector=[1, 0, 0], limit=1
                ),
            )


@pytest.mark.parametrize(
    ("profile", "dimensions"), [("", 3), ("a\0b", 3), ("p", 0), ("p", -1), ("p", MAX_DIMENSIONS + 1)]
)
def test_a_space_without_a_name_or_a_sensible_length_is_refused(profile: str, dimensions: int) -> None:
    with pytest.raises(InvalidInput):
        Space(profile=profile, dimensions=dimensions)


def _dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
