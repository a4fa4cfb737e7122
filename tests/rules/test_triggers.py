"""Windows begin at the start of a turn, so that none is ever split, and hold at least what they should."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.logs import log, starts_of, turns

from anaphora.domain.plans import TAIL_TURNS
from anaphora.rules.triggers import last_turns_start, window_start


@given(turns, st.integers(1, TAIL_TURNS // 2), st.integers(0, TAIL_TURNS))
def test_a_window_of_turns_and_messages_is_the_shortest_that_holds_both(
    lengths: list[int], wanted: int, messages: int
) -> None:
    starts, head = starts_of(lengths), sum(lengths)
    holding = [
        start
        for at, start in enumerate(starts)
        if len(starts) - at >= min(wanted, len(starts)) and head - start >= min(messages, head)
    ]
    assert last_turns_start(log(lengths), turns=wanted, messages=messages) == max(holding)


@pytest.mark.parametrize(
    ("lengths", "start"),
    [
        ([2, 2, 2, 2, 2], 2),  # four turns are eight messages
        ([1, 1, 1, 1, 1, 1], 0),  # four turns are too few messages
        ([9, 1, 1, 1, 1], 0),  # eight messages reach into the first turn
        ([9, 3, 3, 3, 3], 9),  # four turns are more than eight messages
        ([1, 2, 2, 2, 2, 1], 1),
    ],
)
def test_the_last_four_turns_and_eight_messages(lengths: list[int], start: int) -> None:
    assert last_turns_start(log(lengths), turns=4, messages=8) == start


def test_the_window_of_an_empty_log_begins_with_its_first_message() -> None:
    assert last_turns_start(log([]), turns=4, messages=8) == 0
    assert window_start(log([]), stop=0, size=14) == 0


@given(st.lists(st.integers(1, 7), min_size=1, max_size=TAIL_TURNS), st.integers(1, 450), st.integers(1, TAIL_TURNS))
def test_a_window_before_a_message_begins_with_its_first_whole_turn_or_with_the_turn_that_fills_it(
    lengths: list[int], stop: int, size: int
) -> None:
    stop = min(stop, sum(lengths))
    before = [start for start in starts_of(lengths) if start < stop]
    whole = [start for start in before if start >= stop - size]
    assert window_start(log(lengths), stop=stop, size=size) == (whole[0] if whole else before[-1])


@pytest.mark.parametrize(
    ("lengths", "stop", "start"),
    [
        ([2] * 20, 14, 0),  # exactly the whole log
        ([2] * 20, 15, 2),  # one more message, and the first turn is no whole one any more
        ([2] * 20, 16, 2),
        ([20, 20], 20, 0),  # the first turn fills the window, and the second begins behind it
        ([20, 20], 21, 20),
        ([3, 16, 1], 19, 3),  # the turn that fills the window begins before it
        ([3, 1, 14], 18, 4),
        ([3, 17, 1], 20, 3),
    ],
)
def test_the_last_fourteen_messages_in_whole_turns(lengths: list[int], stop: int, start: int) -> None:
    assert window_start(log(lengths), stop=stop, size=14) == start


def test_a_window_before_all_turns_that_are_remembered_begins_where_it_is_long_enough() -> None:
    """A session remembers where its newest turns begin: of what lies before them only the numbers are known."""
    state = replace(log([2] * 40), turn_starts=(60, 62, 64))
    assert [window_start(state, stop=stop, size=14) for stop in (50, 60, 62)] == [36, 46, 60]
