"""Seed 002's numbers without its holes: nothing is in neither, backlogs drain, short sessions are read too."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.logs import log, turns

from anaphora.domain.chunks import Chunk
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.domain.plans import Snapshot
from anaphora.domain.summaries import Method
from anaphora.errors import InvalidInput
from anaphora.strategies.batch_extraction import BatchExtraction

SEED = BatchExtraction()
SAID = datetime(2026, 1, 1, tzinfo=UTC)


def chunk(start: int, stop: int) -> Chunk:
    return Chunk(
        id=UUID(int=start + 1),
        session_id=UUID(int=1),
        range=SeqRange(start, stop),
        text=f"of {start}",
        tokens=3,
        method=Method.MODEL,
        model="m",
        prompt_version="p",
        trust=Trust.OWNER_SAID,
        first_at=SAID,
        last_at=SAID,
        created_at=SAID,
    )


def test_thirty_unread_messages_are_not_enough_and_thirty_one_are() -> None:
    assert SEED.due(log([2] * 15), quiet=False) is None
    assert SEED.due(log([1] + [2] * 15), quiet=False) == SeqRange(0, 31)


def test_a_short_session_is_read_when_nothing_more_is_said_or_it_ends() -> None:
    """Hole 2.3: a conversation of 28 messages never yielded anything."""
    state = log([2] * 14)
    assert SEED.due(state, quiet=False) is None
    assert SEED.due(state, quiet=True) == SeqRange(0, 28)
    assert SEED.due(replace(state, ended=True), quiet=False) == SeqRange(0, 28)


def test_what_was_read_is_not_read_again() -> None:
    assert SEED.due(log([2] * 14, covered_to=28), quiet=True) is None


def test_a_turn_without_its_answer_waits_unless_the_session_is_over() -> None:
    state = replace(log([2] * 15 + [1]), turn_finished=False)
    assert BatchExtraction(threshold=0).due(state, quiet=False) == SeqRange(0, 30)
    assert BatchExtraction(threshold=0).due(state, quiet=True) == SeqRange(0, 31)


def test_with_no_threshold_every_finished_turn_is_due() -> None:
    each = BatchExtraction(threshold=0)
    assert each.due(log([2]), quiet=False) == SeqRange(0, 2)
    assert each.due(log([2, 2], covered_to=2), quiet=False) == SeqRange(2, 4)


def test_deleted_messages_do_not_count_and_alone_are_nothing_to_read() -> None:
    state = replace(log([2] * 16), deleted=(SeqRange(0, 4),))
    assert SEED.due(state, quiet=False) is None
    assert SEED.due(replace(log([2]), deleted=(SeqRange(0, 2),)), quiet=True) is None


@given(turns, st.integers(0, 40), st.booleans(), st.booleans())
def test_what_is_due_begins_at_the_head_and_ends_within_the_log(
    lengths: list[int], covered: int, quiet: bool, ended: bool
) -> None:
    state = log(lengths, covered_to=min(covered, sum(lengths)), ended=ended)
    due = SEED.due(state, quiet=quiet)
    if due is not None:
        assert due.start == state.covered_to
        assert due.start < due.stop <= state.head
    elif quiet or ended:
        assert state.covered_to == state.head


@given(turns, st.integers(0, 400))
def test_what_no_chunk_has_reached_stands_verbatim(lengths: list[int], covered: int) -> None:
    """Holes 2.1 and 2.4: up to ten messages were in neither."""
    state = log(lengths, covered_to=min(covered, sum(lengths)))
    selection = SEED.select(Snapshot(state=state, summary=None))
    assert selection.verbatim.stop == state.head
    assert selection.verbatim.start <= state.covered_to
    assert selection.verbatim.start <= max(0, state.head - SEED.keep_verbatim)


def test_the_three_best_chunks_before_the_window_stand_in_their_order() -> None:
    state = log([2] * 40, covered_to=80)
    best = [chunk(40, 50), chunk(0, 10), chunk(70, 80), chunk(20, 30), chunk(10, 20)]
    selection = SEED.select(Snapshot(state=state, summary=None, chunks=best))
    assert [point.range.start for point in selection.points] == [0, 20, 40]
    assert selection.verbatim == SeqRange(60, 80)


def test_there_is_never_a_summary_to_be_made() -> None:
    state = log([2] * 40)
    assert SEED.plan(state) is None
    assert SEED.rebuild_plan(state, 80) is None


@pytest.mark.parametrize(
    "numbers",
    [{"threshold": -1}, {"batch": 0}, {"chunks": -1}, {"keep_verbatim": 0}, {"keep_verbatim": 65}],
)
def test_numbers_out_of_range_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        BatchExtraction(**numbers)
