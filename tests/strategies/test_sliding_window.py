"""Seed 000's tables, with half-open ranges: its inclusive (start, end) is our [start, end + 1)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.logs import deletions, live, log, starts_of, summary, turns

from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import TAIL_TURNS, Plan, Selection, Snapshot, State
from anaphora.errors import InvalidInput
from anaphora.strategies.sliding_window import SlidingWindow

SEED = SlidingWindow()


def pairs(head: int, *, covered_to: int = 0, ended: bool = False) -> State:
    """A log of questions and answers; an odd head ends with an open question."""
    starts = tuple(range(0, head, 2))[-TAIL_TURNS:]
    return State(head=head, covered_to=covered_to, turn_starts=starts, turn_finished=head % 2 == 0, ended=ended)


@pytest.mark.parametrize(("last_seq", "start", "stop"), [(5, 0, 6), (13, 0, 14), (15, 2, 16), (19, 6, 20)])
def test_the_window_is_the_seeds_table(last_seq: int, start: int, stop: int) -> None:
    plan = SEED.plan(pairs(last_seq + 1))
    assert plan is not None
    assert (plan.keep_from, plan.read) == (start, SeqRange(start, stop))


def test_no_summary_is_due_before_the_sixth_message() -> None:
    assert SEED.plan(pairs(4)) is None


def test_the_version_chain_of_the_seed_is_replayed() -> None:
    """Triggers at 5, 9, 13, 15 and 19; each reads only what is new and keeps what the window holds."""
    covered, chain = 0, []
    for last in (5, 9, 13, 15, 19):
        plan = SEED.plan(pairs(last + 1, covered_to=covered))
        assert plan is not None
        chain.append((plan.keep_from, plan.read.start, plan.read.stop))
        covered = plan.read.stop
    assert chain == [(0, 0, 6), (0, 6, 10), (0, 10, 14), (2, 14, 16), (6, 16, 20)]


def test_an_open_question_waits_for_its_answer() -> None:
    assert SEED.plan(pairs(7, covered_to=6)) is None
    plan = SEED.plan(pairs(9, covered_to=6))
    assert plan is not None
    assert plan.read == SeqRange(6, 8)


def test_ending_a_session_takes_the_open_turn_too() -> None:
    plan = SEED.plan(pairs(9, covered_to=8, ended=True))
    assert plan is not None
    assert plan.read == SeqRange(8, 9)


@given(turns, st.integers(2, 20))
def test_no_turn_is_ever_split(lengths: list[int], window: int) -> None:
    plan = SlidingWindow(window=window, keep_verbatim=0, summarise_after_seq=0).plan(log(lengths))
    assert plan is not None
    assert plan.keep_from in starts_of(lengths)
    assert plan.read.start in starts_of(lengths)


def window(lengths: list[int], stop: int, size: int = 14) -> int:
    """Where the first whole turn of the last messages before `stop` starts, or else the turn that fills them."""
    before = [start for start in starts_of(lengths) if start < stop]
    return next((start for start in before if start >= stop - size), before[-1])


@given(turns, st.integers(0, 300), st.booleans(), st.booleans(), st.integers(1, 5), deletions)
def test_a_summary_is_due_exactly_when_enough_live_messages_of_finished_turns_are_new(
    lengths: list[int], covered_to: int, finished: bool, ended: bool, needed: int, deleted: tuple[SeqRange, ...]
) -> None:
    """It covers the window up to the last finished turn, and reads what is new in it."""
    state = log(lengths, covered_to=covered_to, turn_finished=finished, ended=ended, deleted=deleted)
    stop = state.head if finished or ended else state.head - lengths[-1]
    new = live(state, state.covered_to, stop)
    expected = None
    if stop >= 6 and len(new) >= (1 if ended else needed):
        start = window(lengths, stop)
        read = SeqRange(max(start, state.covered_to), stop)
        if set(new) & set(read):
            expected = Plan(read=read, keep_from=start, max_tokens=300)
    assert SlidingWindow(min_new_messages=needed).plan(state) == expected


def test_a_summary_waits_until_there_are_as_many_new_messages_as_it_should() -> None:
    patient = SlidingWindow(min_new_messages=4)
    assert patient.plan(pairs(12, covered_to=10)) is None
    assert patient.plan(pairs(14, covered_to=10)) is not None
    assert patient.plan(pairs(12, covered_to=10, ended=True)) is not None


def test_deleted_messages_do_not_make_a_summary_due() -> None:
    gone = log([2] * 6, covered_to=10, deleted=(SeqRange(10, 12),))
    assert SEED.plan(gone) is None


def test_a_window_in_which_everything_was_deleted_is_not_read() -> None:
    """Though messages before the window are new."""
    assert SEED.plan(log([2] * 20, covered_to=10, deleted=(SeqRange(26, 40),))) is None


def test_what_an_outage_left_behind_the_window_is_not_read_again() -> None:
    """Hole 0.10: it is declared elided, not sent to a model together with the order to drop it."""
    plan = SEED.plan(pairs(100, covered_to=6))
    assert plan is not None
    assert plan.read == SeqRange(86, 100)


def test_the_last_four_messages_stand_verbatim_and_points_that_say_no_more_stay_out() -> None:
    made = summary(6, 20, 12, 16)
    selection = SEED.select(Snapshot(state=pairs(20, covered_to=20), summary=made))
    assert selection.verbatim == SeqRange(16, 20)
    assert [point.text for point in selection.points] == ["6-12", "12-16"]


def test_messages_after_the_summary_stand_between_it_and_the_window() -> None:
    selection = SEED.select(Snapshot(state=pairs(26, covered_to=14), summary=summary(0, 14)))
    assert selection.verbatim == SeqRange(14, 26)
    assert selection.recent_from == 22


@given(turns, st.integers(0, 300), st.integers(0, 9), st.data())
def test_the_newest_messages_always_stand_verbatim_and_so_does_what_the_summary_does_not_reach(
    lengths: list[int], stop: int, keep: int, data: st.DataObject
) -> None:
    """The newest ones are `keep_verbatim` messages and the rest of their turn; the summary's points stand before."""
    state = log(lengths, covered_to=stop)
    recent = (
        max((start for start in starts_of(lengths) if start <= state.head - keep), default=0) if keep else state.head
    )
    served = None
    if state.covered_to > 0:
        cuts = data.draw(st.sets(st.integers(1, state.covered_to), max_size=4)) - {state.covered_to}
        served = summary(0, state.covered_to, *sorted(cuts))
    start = min(state.covered_to, recent) if served else 0
    selection = SlidingWindow(keep_verbatim=keep).select(Snapshot(state=state, summary=served))
    assert selection == Selection(
        points=tuple(point for point in served.points if point.range.start < start) if served else (),
        verbatim=SeqRange(start, state.head),
        recent_from=max(start, recent),
    )


def test_nothing_need_stand_verbatim_beside_the_summary() -> None:
    selection = SlidingWindow(keep_verbatim=0).select(Snapshot(state=pairs(20, covered_to=20), summary=summary(6, 20)))
    assert selection == Selection(points=summary(6, 20).points, verbatim=SeqRange(20, 20), recent_from=20)


def test_before_the_first_summary_everything_stands_verbatim() -> None:
    assert SEED.select(Snapshot(state=pairs(10), summary=None)) == Selection(
        points=(), verbatim=SeqRange(0, 10), recent_from=6
    )


def test_in_a_session_shorter_than_what_stands_verbatim_everything_is_recent() -> None:
    assert SEED.select(Snapshot(state=log([1, 1, 1]), summary=None)).recent_from == 0


def test_where_nothing_was_said_nothing_is_due_and_nothing_stands() -> None:
    for finished in (True, False):
        empty = log([], turn_finished=finished)
        assert SlidingWindow(summarise_after_seq=0).plan(empty) is None
        assert SEED.select(Snapshot(state=empty, summary=None)) == Selection(
            points=(), verbatim=SeqRange(0, 0), recent_from=0
        )


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=TAIL_TURNS), st.integers(0, 300), st.integers(1, 300), deletions
)
def test_a_rebuild_reads_the_window_that_ends_at_its_target_in_one_step(
    lengths: list[int], covered_to: int, target: int, deleted: tuple[SeqRange, ...]
) -> None:
    state = log(lengths, covered_to=covered_to, deleted=deleted)
    target = min(target, state.head)
    start = window(lengths, target)
    expected = None
    if live(state, max(start, state.covered_to), target):
        expected = Plan(read=SeqRange(max(start, state.covered_to), target), keep_from=start, max_tokens=300)
    assert SEED.rebuild_plan(state, target) == expected


def test_a_rebuild_that_is_at_its_target_or_beyond_it_is_there() -> None:
    assert SEED.rebuild_plan(pairs(30, covered_to=20), 20) is None
    assert SEED.rebuild_plan(pairs(30, covered_to=26), 20) is None


def test_the_widest_window_fits_in_what_a_session_remembers() -> None:
    plan = SlidingWindow(window=TAIL_TURNS).plan(log([1] * 300))
    assert plan is not None
    assert plan.read == SeqRange(300 - TAIL_TURNS, 300)


def test_the_smallest_and_the_largest_numbers_that_make_sense_are_accepted() -> None:
    least = SlidingWindow(window=2, keep_verbatim=0, min_new_messages=1, summarise_after_seq=0, summary_max_tokens=48)
    assert least.plan(log([1])) == Plan(read=SeqRange(0, 1), keep_from=0, max_tokens=48)
    all_verbatim = SlidingWindow(window=6, keep_verbatim=6)
    assert all_verbatim.select(Snapshot(state=pairs(20), summary=None)).recent_from == 14


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [
        ("window", 1, ["2", "64"]),
        ("window", 65, ["2", "64"]),
        ("keep_verbatim", -1, ["0"]),
        ("keep_verbatim", 15, ["0"]),
        ("min_new_messages", 0, ["1", "0"]),
        ("summarise_after_seq", -1, ["1", "0"]),
        ("summary_max_tokens", 47, ["48"]),
    ],
)
def test_a_number_that_makes_no_window_is_refused_with_those_that_do(name: str, value: int, bounds: list[str]) -> None:
    with pytest.raises(InvalidInput, match=name) as caught:
        SlidingWindow(**{name: value})
    assert re.findall(r"[\d.]+", str(caught.value)) == bounds


def test_without_settings_the_numbers_are_the_seeds() -> None:
    seed = SlidingWindow()
    assert (seed.window, seed.summarise_after_seq, seed.min_new_messages) == (14, 5, 1)
    assert (seed.keep_verbatim, seed.summary_max_tokens) == (4, 300)
