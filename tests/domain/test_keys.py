"""Ranges are exact sets of numbers; ids and keys take any script and refuse what no store can hold."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import (
    MAX_ID_CHARS,
    SeqRange,
    SessionKey,
    check_limit,
    checked_text,
    count_in,
    subtract,
    union,
    uuid7,
)
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


def test_ranges_that_share_nothing_clip_to_an_empty_one_at_the_nearer_end() -> None:
    span = SeqRange(10, 20)
    assert span.clip(SeqRange(0, 5)) == SeqRange(10, 10)
    assert span.clip(SeqRange(25, 30)) == SeqRange(20, 20)


@given(st.integers(0, 20), st.integers(0, 20), ranges.map(union))
def test_counting_counts_the_numbers_that_both_hold(a: int, b: int, spans: tuple[SeqRange, ...]) -> None:
    span = SeqRange(min(a, b), max(a, b))
    assert count_in(span, spans) == len(set(span) & numbers(spans))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_a_range_contains_another_if_it_holds_each_of_its_numbers(a: int, b: int, c: int, d: int) -> None:
    one, two = SeqRange(min(a, b), max(a, b)), SeqRange(min(c, d), max(c, d))
    assert one.contains(two) == (set(two) <= set(one))


def test_a_range_holds_its_start_and_not_its_stop() -> None:
    span = SeqRange(3, 5)
    assert [seq in span for seq in (2, 3, 4, 5)] == [False, True, True, False]
    assert "3" not in span
    assert (len(span), list(span), str(span)) == (2, [3, 4], "[3, 5)")


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (3, 2)])
def test_a_range_with_impossible_ends_is_refused_with_them(start: int, stop: int) -> None:
    with pytest.raises(InvalidInput, match=rf"\[{start}, {stop}\)"):
        SeqRange(start, stop)


def test_an_empty_range_may_be_anywhere() -> None:
    assert [len(SeqRange(at, at)) for at in (0, 7)] == [0, 0]


@pytest.mark.parametrize("bad", ["", "  ", "a\x00b", "\ud800", "x" * 201])
@pytest.mark.parametrize("part", ["tenant", "user", "agent", "session"])
def test_an_impossible_name_is_refused_wherever_it_stands(part: str, bad: str) -> None:
    names = {"tenant": "t", "user": "u", "agent": "a", "session": "s"} | {part: bad}
    with pytest.raises(InvalidInput, match=part):
        SessionKey(**names)


def test_a_name_may_be_as_long_as_it_may_be() -> None:
    long = "x" * MAX_ID_CHARS
    assert SessionKey(tenant=long, user="u", agent="a", session="s").tenant == long
    with pytest.raises(InvalidInput, match="200"):
        SessionKey(tenant=long + "x", user="u", agent="a", session="s")


@pytest.mark.parametrize(
    ("value", "reason"), [(7, "string.*int"), (None, "string.*NoneType"), ("a\x00b", "NUL"), ("\ud800", "surrogate")]
)
def test_what_no_store_can_hold_is_refused_with_its_name_and_the_reason(value: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=f"the question.*{reason}"):
        checked_text(value, "the question")


def test_a_text_that_every_store_can_hold_comes_back_as_it_is() -> None:
    text = " e\u0301 \U0001f600 \n"
    assert checked_text(text, "the question") is text


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


def test_uuid7_makes_the_example_of_its_standard() -> None:
    """RFC 9562, A.6: the time, then 12 random bits, then 62."""
    now = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)
    unused = 0b101010 << 62
    randomness = ((0xCC3 << 68) | unused | 0x18C4DC0C0C07398F).to_bytes(10, "big")
    assert str(uuid7(now, randomness)) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


def test_what_a_command_line_could_not_read_is_said_to_be_no_utf_8() -> None:
    with pytest.raises(InvalidInput, match=r"^the query is not valid UTF-8$"):
        checked_text(b"caf\xe9".decode("utf-8", "surrogateescape"), "the query")
    with pytest.raises(InvalidInput, match="half a surrogate pair"):
        checked_text("\ud83d", "the query")


@pytest.mark.parametrize("limit", ["5", 1.5, None, True])
def test_a_limit_is_a_whole_number(limit: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^limit must be a whole number from 1 to 10$"):
        check_limit(limit, 10)


@pytest.mark.parametrize("limit", [0, -1, 11])
def test_a_limit_is_neither_none_nor_too_many(limit: int) -> None:
    check_limit(1, 10)
    check_limit(10, 10)
    with pytest.raises(InvalidInput, match="limit must be between 1 and 10"):
        check_limit(limit, 10)
