"""Seed 000's tables, with half-open ranges: its inclusive (start, end) is our [start, end + 1)."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.domain.plans import TAIL_TURNS, Snapshot, State
from anaphora.domain.summaries import Method, Point, Summary
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


@given(st.lists(st.integers(1, 6), min_size=1, max_size=60), st.integers(2, 20))
def test_no_turn_is_ever_split(turns: list[int], window: int) -> None:
    starts = tuple(sum(turns[:n]) for n in range(len(turns)))
    state = State(head=sum(turns), covered_to=0, turn_starts=starts[-TAIL_TURNS:], turn_finished=True)
    plan = SlidingWindow(window=window, keep_verbatim=0, summarise_after_seq=0).plan(state)
    assert plan is not None
    assert plan.keep_from in starts
    assert plan.read.start in starts


def test_what_an_outage_left_behind_the_window_is_not_read_again() -> None:
    """Hole 0.10: it is declared elided, not sent to a model together with the order to drop it."""
    plan = SEED.plan(pairs(100, covered_to=6))
    assert plan is not None
    assert plan.read == SeqRange(86, 100)


def summary(start: int, stop: int, *cuts: int) -> Summary:
    edges = [start, *cuts, stop]
    points = tuple(Point(text=f"{a}-{b}", range=SeqRange(a, b)) for a, b in itertools.pairwise(edges))
    return Summary(
        id=UUID(int=1),
        base_id=None,
        version=1,
        strategy="sliding_window",
        range=SeqRange(start, stop),
        points=points,
        method=Method.MODEL,
        model="m",
        prompt_version="p",
        trust=Trust.OWNER_SAID,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        generation_ms=1,
        tokens=1,
    )


def test_the_last_four_messages_stand_verbatim_and_points_that_say_no_more_stay_out() -> None:
    made = summary(6, 20, 12, 16)
    selection = SEED.select(Snapshot(state=pairs(20, covered_to=20), summary=made))
    assert selection.verbatim == SeqRange(16, 20)
    assert [point.text for point in selection.points] == ["6-12", "12-16"]


def test_messages_after_the_summary_stand_between_it_and_the_window() -> None:
    selection = SEED.select(Snapshot(state=pairs(26, covered_to=14), summary=summary(0, 14)))
    assert selection.verbatim == SeqRange(14, 26)
    assert selection.recent_from == 22


@pytest.mark.parametrize("numbers", [{"window": 1}, {"keep_verbatim": 15}, {"min_new_messages": 0}])
def test_numbers_that_make_no_window_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        SlidingWindow(**numbers)
