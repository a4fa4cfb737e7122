"""What a reader sees of a log are numbers, and they are those of the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange, union
from anaphora.domain.plans import State


def state(head: int, *, starts: tuple[int, ...] = (), deleted: tuple[SeqRange, ...] = ()) -> State:
    return State(head=head, covered_to=0, turn_starts=starts, turn_finished=True, deleted=deleted)


spans = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda ends: SeqRange(min(ends), max(ends)))


@given(spans, st.lists(spans, max_size=4).map(union))
def test_the_live_messages_of_a_span_are_those_that_were_not_deleted(
    span: SeqRange, deleted: tuple[SeqRange, ...]
) -> None:
    gone = {seq for stretch in deleted for seq in stretch}
    assert state(30, deleted=deleted).live(span) == len(set(span) - gone)


@pytest.mark.parametrize(("seq", "start"), [(4, 4), (5, 4), (6, 4), (7, 7), (8, 7), (9, 9), (30, 9), (3, 4), (0, 4)])
def test_a_message_is_of_the_newest_turn_that_starts_at_it_or_before(seq: int, start: int) -> None:
    """What lies before every turn that a session remembers counts to the oldest of them."""
    assert state(31, starts=(4, 7, 9)).turn_start(seq) == start


def test_in_an_empty_log_the_first_turn_starts_with_the_first_message() -> None:
    assert state(0).turn_start(0) == 0


def test_a_session_is_open_unless_it_is_said_to_be_ended() -> None:
    assert not State(head=0, covered_to=0, turn_starts=(), turn_finished=True).ended
