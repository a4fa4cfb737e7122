"""A batch is bounded, ends between turns, and never parts a call from its result."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message, Role
from anaphora.errors import NOT_USABLE
from anaphora.rules.batching import BatchLimits, batch_stop, next_size


def log(turns: list[int], *, tokens: int = 10, start: int = 0) -> list[Message]:
    """Turns of these lengths: a user message, tool results between, an assistant message last."""
    out: list[Message] = []
    seq = start
    for size in turns:
        first = seq
        for at in range(size):
            role = Role.USER if at == 0 else Role.ASSISTANT if at in (1, size - 1) else Role.TOOL
            out.append(
                Message(
                    id=UUID(int=seq),
                    seq=seq,
                    turn=first,
                    role=role,
                    content="x",
                    tokens=tokens,
                    created_at=datetime(2026, 1, 1, tzinfo=UTC),
                )
            )
            seq += 1
    return out


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 20))
def test_a_batch_ends_between_turns_makes_progress_and_is_bounded(turns: list[int], limit: int) -> None:
    messages = log(turns)
    span = SeqRange(0, len(messages))
    stop = batch_stop(messages[: 4 * limit + 1], span, BatchLimits(messages=limit))
    starts = {message.turn for message in messages} | {len(messages)}
    assert 0 < stop <= span.stop
    if max(turns) <= limit:
        assert stop in starts
        assert stop <= limit or stop == turns[0]
        following = min((s for s in starts if s > stop), default=None)
        assert following is None or following > limit


def test_a_backlog_of_thousands_is_taken_in_bounded_steps() -> None:
    messages = log([2] * 2000)
    at, steps = 0, 0
    while at < len(messages):
        stop = batch_stop(messages[at : at + 161], SeqRange(at, len(messages)), BatchLimits())
        assert 0 < stop - at <= 40
        at, steps = stop, steps + 1
    assert steps == 100


def test_one_turn_larger_than_a_batch_is_read_whole_while_its_end_is_in_sight() -> None:
    messages = log([60, 2])
    assert batch_stop(messages, SeqRange(0, 62), BatchLimits(messages=40)) == 60


def test_an_endless_turn_is_cut_before_a_message_that_is_no_tool_result() -> None:
    messages = log([500])
    stop = batch_stop(messages[:161], SeqRange(0, 500), BatchLimits(messages=40))
    assert messages[stop].role is not Role.TOOL


def test_messages_that_cost_too_much_end_a_batch_early() -> None:
    messages = log([2, 2, 2, 2], tokens=1000)
    assert batch_stop(messages, SeqRange(0, 8), BatchLimits(messages=40, tokens=4500)) == 4


def test_failures_shrink_a_batch_down_to_one_message() -> None:
    limits = BatchLimits(messages=40)
    assert [limits.halved(n).messages for n in range(7)] == [40, 20, 10, 5, 2, 1, 1]


def test_a_batch_may_cost_exactly_what_is_allowed() -> None:
    messages = log([2, 2, 2], tokens=1000)
    assert batch_stop(messages, SeqRange(0, 6), BatchLimits(messages=4, tokens=4000)) == 4
    assert batch_stop(messages, SeqRange(0, 6), BatchLimits(messages=6, tokens=3999)) == 2


def test_failures_leave_the_tokens_of_a_batch_as_they_are() -> None:
    """One long message must fit, however often it failed."""
    assert {BatchLimits(tokens=5000).halved(n).tokens for n in range(7)} == {5000}


def test_before_the_first_failure_nothing_shrinks() -> None:
    assert BatchLimits(messages=40).halved(-1).messages == 40


def test_a_turn_that_ends_out_of_sight_is_not_taken_for_a_whole_one() -> None:
    """Of the last turn only the part that was read is known: what ends before it is a batch."""
    messages = log([2, 2, 9])
    assert batch_stop(messages[:12], SeqRange(0, 13), BatchLimits(messages=40)) == 4
    assert batch_stop(messages, SeqRange(0, 13), BatchLimits(messages=40)) == 13


def test_a_run_of_tool_results_without_an_end_in_sight_is_taken_as_far_as_it_was_read() -> None:
    messages = log([500], start=100)[2:40]
    assert {message.role for message in messages} == {Role.TOOL}
    assert batch_stop(messages, SeqRange(102, 600), BatchLimits(messages=10)) == 140


def test_a_claim_of_which_nothing_is_left_ends_where_it_should() -> None:
    assert batch_stop([], SeqRange(4, 9), BatchLimits()) == 9


def test_a_model_reads_at_most_forty_messages_of_six_thousand_tokens_unless_told_otherwise() -> None:
    assert BatchLimits() == BatchLimits(messages=40, tokens=6000)


def _job(attempt: int, reason: str | None, span: SeqRange | None) -> Job:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Job(
        id=UUID(int=1),
        tenant="default",
        session_id=UUID(int=2),
        key=SessionKey(tenant="default", user="ann", agent="default", session="s"),
        kind=JobKind.EXTRACT,
        state=JobState.RUNNING,
        range=span,
        attempt=attempt,
        max_attempts=5,
        run_at=now,
        lease_owner="w",
        lease_until=now,
        rearm=False,
        needs_model=False,
        from_seq=None,
        epoch=0,
        reason=reason,
        created_at=now,
        updated_at=now,
    )


@pytest.mark.parametrize(
    ("attempt", "reason", "size"),
    [
        (1, f"{NOT_USABLE} (empty)", sys.maxsize),  # tried again by hand: everything is
        (2, f"{NOT_USABLE} (empty)", 10),
        (5, f"{NOT_USABLE} (empty)", 10),
        (2, None, 10),  # its worker died
        (2, "no connection", 20),
        (5, "no connection", 20),
        (6, "no connection", 1),
        (6, None, 1),
    ],
)
def test_an_attempt_reads_half_of_what_the_last_one_failed_at_but_all_of_what_got_no_answer(
    attempt: int, reason: str | None, size: int
) -> None:
    assert next_size(_job(attempt, reason, SeqRange(0, 24)), 4) == size


def test_what_was_read_meanwhile_makes_no_attempt_smaller() -> None:
    assert next_size(_job(3, None, SeqRange(0, 4)), 4) == sys.maxsize
    assert next_size(_job(3, None, None), 0) == sys.maxsize
