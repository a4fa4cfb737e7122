"""Seed 004's numbers without its holes: nothing lies between the summary and the window."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.logs import deletions, live, log, starts_of, summary, turns

from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Plan, Selection, Snapshot
from anaphora.errors import InvalidInput
from anaphora.strategies.rolling_pairs import RollingPairs

SEED = RollingPairs()


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


def test_the_first_summary_is_due_for_one_message_that_left_the_window() -> None:
    plan = SEED.plan(log([1, 2, 2, 2, 2, 1]))
    assert plan is not None
    assert plan.read == SeqRange(0, 1)


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


@given(turns, st.data())
def test_the_window_holds_whole_turns_and_the_last_pairs(lengths: list[int], data: st.DataObject) -> None:
    state = log(lengths)
    start = SEED.window_start(state)
    assert start in starts_of(lengths)
    assert start <= max(0, state.head - 8)
    assert start <= sum(lengths[:-4]) if len(lengths) > 4 else start == 0
    covered = data.draw(st.integers(0, start))
    selection = SEED.select(Snapshot(state=log(lengths, covered_to=covered), summary=None))
    assert selection == Selection(points=(), verbatim=SeqRange(0, state.head), recent_from=start)


@given(turns, st.integers(0, 300), st.booleans(), deletions)
def test_a_summary_is_due_exactly_when_enough_live_messages_have_left_the_window(
    lengths: list[int], covered_to: int, ended: bool, deleted: tuple[SeqRange, ...]
) -> None:
    """It starts where the last one ends and stops at the window, so that nothing lies between (holes 4.1, 4.2)."""
    state = log(lengths, covered_to=covered_to, ended=ended, deleted=deleted)
    window = SEED.window_start(state)
    enough = 1 if ended or state.covered_to == 0 else 8
    due = state.head >= 10 and len(live(state, state.covered_to, window)) >= enough
    expected = Plan(read=SeqRange(state.covered_to, window), keep_from=0, max_tokens=150) if due else None
    assert SEED.plan(state) == expected


def test_deleted_messages_do_not_make_a_summary_due() -> None:
    assert SEED.plan(log([2] * 13, covered_to=10, deleted=(SeqRange(12, 13),))) is None
    assert SEED.plan(log([2] * 14, covered_to=10, deleted=(SeqRange(12, 13),))) is not None


@given(turns, st.integers(0, 300), st.integers(0, 300), deletions)
def test_a_rebuild_reads_on_to_its_target_while_something_is_left_to_read(
    lengths: list[int], covered_to: int, target: int, deleted: tuple[SeqRange, ...]
) -> None:
    state = log(lengths, covered_to=covered_to, deleted=deleted)
    target = min(target, state.head)
    left = live(state, state.covered_to, target)
    expected = Plan(read=SeqRange(state.covered_to, target), keep_from=0, max_tokens=150) if left else None
    assert SEED.rebuild_plan(state, target) == expected


def test_a_rebuild_that_is_beyond_its_target_is_there() -> None:
    assert SEED.rebuild_plan(log([2] * 30, covered_to=50), 40) is None


def test_the_whole_summary_stands_before_every_message_that_it_does_not_speak_for() -> None:
    served = summary(0, 14, 6)
    selection = SEED.select(Snapshot(state=log([2] * 15, covered_to=14), summary=served))
    assert selection == Selection(points=served.points, verbatim=SeqRange(14, 30), recent_from=22)


def test_what_the_summary_of_an_ended_session_speaks_for_is_not_recent() -> None:
    """Until the window has moved on, it reaches into it."""
    selection = SEED.select(Snapshot(state=log([2] * 12, covered_to=20), summary=summary(0, 20)))
    assert (selection.verbatim, selection.recent_from) == (SeqRange(20, 24), 20)


def test_where_nothing_was_said_nothing_is_due_and_nothing_stands() -> None:
    assert SEED.plan(log([])) is None
    assert RollingPairs(min_messages_for_summary=1).plan(log([], ended=True)) is None
    assert SEED.select(Snapshot(state=log([]), summary=None)) == Selection(
        points=(), verbatim=SeqRange(0, 0), recent_from=0
    )


def test_the_widest_window_fits_in_what_a_session_remembers() -> None:
    widest = RollingPairs(window_pairs=TAIL_TURNS // 2)
    assert widest.window_start(log([1] * 300)) == 300 - TAIL_TURNS


def test_the_smallest_numbers_that_make_sense_are_accepted() -> None:
    least = RollingPairs(window_pairs=1, min_messages_for_summary=1, summarise_after=1, summary_max_tokens=48)
    assert least.plan(log([1, 1, 1])) == Plan(read=SeqRange(0, 1), keep_from=0, max_tokens=48)
    assert least.plan(log([1, 1, 1, 1], covered_to=1)) == Plan(read=SeqRange(1, 2), keep_from=0, max_tokens=48)


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [
        ("window_pairs", 0, ["1", "32"]),
        ("window_pairs", 33, ["1", "32"]),
        ("summarise_after", 0, ["1"]),
        ("min_messages_for_summary", 0, ["1"]),
        ("summary_max_tokens", 47, ["48"]),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_with_those_that_do(name: str, value: int, bounds: list[str]) -> None:
    with pytest.raises(InvalidInput, match=name) as caught:
        RollingPairs(**{name: value})
    assert re.findall(r"[\d.]+", str(caught.value)) == bounds


def test_without_settings_the_numbers_are_the_seeds() -> None:
    assert (SEED.window_pairs, SEED.min_messages_for_summary, SEED.summarise_after, SEED.summary_max_tokens) == (
        4,
        10,
        8,
        150,
    )
