"""Seed 004's numbers without its holes: nothing lies between the summary and the window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Snapshot, State
from anaphora.errors import InvalidInput
from anaphora.strategies.rolling_pairs import RollingPairs

SEED = RollingPairs()


def log(turns: list[int], *, covered_to: int = 0, ended: bool = False) -> State:
    starts = tuple(sum(turns[:n]) for n in range(len(turns)))
    return State(
        head=sum(turns), covered_to=covered_to, turn_starts=starts[-TAIL_TURNS:], turn_finished=True, ended=ended
    )


def test_eighteen_messages_are_ten_summarised_and_eight_verbatim() -> None:
    """The seed's worked example."""
    plan = SEED.plan(log([2] * 9))
    assert plan is not None
    assert plan.read == SeqRange(0, 10)
    assert plan.max_tokens == 150


def test_the_first_summary_is_due_at_ten_messages() -> None:
    assert SEED.plan(log([2] * 4)) is None
    plan = SEED.plan(log([2] * 5))
    assert plan is not None
    assert plan.read == SeqRange(0, 2)


def test_the_next_summary_is_due_after_eight_more_messages() -> None:
    assert SEED.plan(log([2] * 12, covered_to=10)) is None
    plan = SEED.plan(log([2] * 13, covered_to=10))
    assert plan is not None
    assert plan.read == SeqRange(10, 18)


def test_the_end_of_a_session_summarises_what_left_the_window() -> None:
    plan = SEED.plan(log([2] * 12, covered_to=10, ended=True))
    assert plan is not None
    assert plan.read == SeqRange(10, 16)


def test_ending_twice_finds_nothing_more() -> None:
    assert SEED.plan(log([2] * 12, covered_to=16, ended=True)) is None


@given(st.lists(st.integers(1, 7), min_size=1, max_size=100), st.data())
def test_the_window_holds_whole_turns_and_the_last_pairs(turns: list[int], data: st.DataObject) -> None:
    state = log(turns, covered_to=0)
    start = SEED.window_start(state)
    assert start in {sum(turns[:n]) for n in range(len(turns))}
    assert start <= max(0, state.head - 8)
    assert start <= sum(turns[:-4]) if len(turns) > 4 else start == 0
    covered = data.draw(st.integers(0, start))
    selection = SEED.select(Snapshot(state=log(turns, covered_to=covered), summary=None))
    assert selection.verbatim == SeqRange(0, state.head)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=100), st.integers(0, 700), st.booleans())
def test_a_plan_starts_where_the_summary_ends_and_stops_at_the_window(
    turns: list[int], covered: int, ended: bool
) -> None:
    state = log(turns, covered_to=min(covered, sum(turns)), ended=ended)
    plan = SEED.plan(state)
    if plan is not None:
        assert plan.read == SeqRange(state.covered_to, SEED.window_start(state))
        assert plan.keep_from == 0


def test_a_rebuild_reads_up_to_its_target_and_then_stops() -> None:
    plan = SEED.rebuild_plan(log([2] * 30, covered_to=8), 40)
    assert plan is not None
    assert plan.read == SeqRange(8, 40)
    assert SEED.rebuild_plan(log([2] * 30, covered_to=40), 40) is None


@pytest.mark.parametrize(
    "numbers", [{"window_pairs": 0}, {"window_pairs": 33}, {"summarise_after": 0}, {"summary_max_tokens": 10}]
)
def test_numbers_that_make_no_sense_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        RollingPairs(**numbers)
