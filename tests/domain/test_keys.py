"""Ranges are exact sets of numbers; ids and keys take any script and refuse what no store can hold."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange, SessionKey, subtract, union, uuid7
from anaphora.errors import InvalidInput

ranges = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda pair: SeqRange(pair[0], pair[0] + pair[1])), max_size=8
)


def numbers(spans: object) -> set[int]:
    return {n for span in spans for n in span}  # type: ignore[attr-defined]


@given(ranges)
def test_union_holds_the_same_numbers_in_separate_sorted_stretches(spans: list[SeqRange]) -> None:
    joined = union(spans)
    assert numbers(joined) == numbers(spans)
    assert all(a.stop < b.start for a, b in itertools.pairwise(joined))


@given(ranges, ranges)
def test_subtract_is_set_difference(whole: list[SeqRange], holes: list[SeqRange]) -> None:
    left = subtract(whole, holes)
    assert numbers(left) == numbers(whole) - numbers(holes)
    assert union(left) == left


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_clip_keeps_what_both_share(a: int, b: int, c: int, d: int) -> None:
    one, two = SeqRange(min(a, b), max(a, b)), SeqRange(min(c, d), max(c, d))
    assert set(one.clip(two)) == set(one) & set(two)


def test_a_range_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not a range"):
        SeqRange(3, 2)


@pytest.mark.parametrize("bad", ["", "  ", "a\x00b", "\ud800", "x" * 201])
@pytest.mark.parametrize("part", ["tenant", "user", "agent", "session"])
def test_an_impossible_name_is_refused_wherever_it_stands(part: str, bad: str) -> None:
    names = {"tenant": "t", "user": "u", "agent": "a", "session": "s"} | {part: bad}
    with pytest.raises(InvalidInput, match=part):
        SessionKey(**names)


def test_names_that_look_alike_are_different_keys() -> None:
    def key(user: str) -> SessionKey:
        return SessionKey(tenant="t", user=user, agent="a", session="s")

    assert len({key(user) for user in ("Alice", "alice", "al", "../x", "é", "e\u0301", "a/b", "a%b")}) == 8


def test_uuid7_sorts_by_time_and_says_its_version() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = [uuid7(start + timedelta(milliseconds=n), bytes([n % 251] * 10)) for n in range(500)]
    assert made == sorted(made)
    assert {id_.version for id_ in made} == {7}
    assert {id_.variant for id_ in made} == {"specified in RFC 4122"}
