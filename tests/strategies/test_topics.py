"""Seed 003's numbers without its holes: described topics are summarised, everything else stands word by word."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.logs import log

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange, union
from anaphora.domain.messages import Trust
from anaphora.domain.plans import Snapshot, State
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Closed, Opened, Topic
from anaphora.errors import InvalidInput
from anaphora.strategies.topics import Topics

SEED = Topics()
SAID = datetime(2026, 1, 1, tzinfo=UTC)


def topic(start: int, stop: int, *, described: bool = True) -> Topic:
    return Topic(
        id=UUID(int=start + 1),
        session_id=UUID(int=1),
        range=SeqRange(start, stop),
        opened=Opened.SHIFT if start else Opened.FIRST,
        closed=Closed.SHIFT,
        continues=None,
        leads_to=None,
        name=f"name {start}" if described else None,
        summary=f"of {start}" if described else None,
        tokens=5 if described else 0,
        words=(),
        method=Method.MODEL if described else None,
        model="m" if described else None,
        prompt_version="p" if described else None,
        trust=Trust.OWNER_SAID,
        first_at=SAID,
        last_at=SAID,
        closed_at=SAID,
        closed_head=stop,
        described_at=SAID if described else None,
        described_head=stop if described else None,
    )


def empty(head: int) -> State:
    return log([2] * (head // 2))


def test_it_is_carried_on_by_following_topics_and_not_by_summaries() -> None:
    assert SEED.job is JobKind.FOLLOW


def test_what_was_said_since_is_followed_up_to_the_last_finished_turn() -> None:
    plan = SEED.plan(log([2] * 5, covered_to=4))
    assert plan is not None
    assert plan.read == SeqRange(4, 10)
    waiting = SEED.plan(log([2] * 5 + [1], covered_to=4, turn_finished=False))
    assert waiting is not None
    assert waiting.read == SeqRange(4, 10)
    assert SEED.plan(log([2] * 5, covered_to=10)) is None
    assert SEED.plan(log([1], turn_finished=False)) is None


def test_an_unanswered_question_is_followed_when_the_session_ends() -> None:
    plan = SEED.plan(log([2, 1], covered_to=2, turn_finished=False, ended=True))
    assert plan is not None
    assert plan.read == SeqRange(2, 3)


def test_nothing_is_rebuilt() -> None:
    assert SEED.rebuild_plan(empty(20), 10) is None


def test_described_topics_are_points_and_the_open_one_stands_word_by_word() -> None:
    selection = SEED.select(Snapshot(state=empty(20), summary=None, topics=(topic(0, 6), topic(6, 14))))
    assert [(p.text, p.range) for p in selection.points] == [
        ("name 0: of 0", SeqRange(0, 6)),
        ("name 6: of 6", SeqRange(6, 14)),
    ]
    assert selection.verbatim == SeqRange(14, 20)
    assert selection.recent_from == 14


def test_a_topic_that_nothing_speaks_for_yet_stands_word_by_word_with_all_that_follows() -> None:
    """Holes 3.7 and 3.8: the seed's next turn waits for the summary, and a summary that fails is a silent gap."""
    topics = (topic(0, 6), topic(6, 14, described=False), topic(14, 16))
    selection = SEED.select(Snapshot(state=empty(20), summary=None, topics=topics))
    assert [p.range for p in selection.points] == [SeqRange(0, 6)]
    assert selection.verbatim == SeqRange(6, 20)
    assert selection.recent_from == 16


def test_without_topics_everything_stands_word_by_word() -> None:
    selection = SEED.select(Snapshot(state=empty(8), summary=None))
    assert (selection.points, selection.verbatim) == ((), SeqRange(0, 8))


def test_a_topic_without_a_name_has_a_point_all_the_same() -> None:
    bare = replace(topic(0, 6), name=None)
    (point,) = SEED.select(Snapshot(state=empty(8), summary=None, topics=(bare,))).points
    assert point.text == "of 0"


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=12), st.integers(0, 9))
def test_points_and_verbatim_messages_are_all_there_is(lengths: list[tuple[int, bool]], opened: int) -> None:
    """I1: whatever is described or not, no message is in neither and none in both."""
    topics, start = [], 0
    for length, described in lengths:
        topics.append(topic(start, start + length, described=described))
        start += length
    state = log([1] * (start + opened))
    selection = SEED.select(Snapshot(state=state, summary=None, topics=tuple(topics)))
    parts = [*(point.range for point in selection.points), *([selection.verbatim] if selection.verbatim else [])]
    assert sum(len(part) for part in parts) == state.head
    assert union(parts) == ((SeqRange(0, state.head),) if state.head else ())


@pytest.mark.parametrize(
    ("numbers", "waits"),
    [
        ({}, True),
        ({"messages": 47}, True),
        ({"messages": 48}, False),
        ({"tokens": 2000, "opened": 2000}, True),
        ({"tokens": 500, "opened": 2001}, True),
        ({"tokens": 501, "opened": 2001}, False),
        ({"characters": 24_999}, True),
        ({"characters": 25_000}, False),
    ],
)
def test_what_may_begin_a_topic_waits_while_it_is_few_messages_that_have_room(
    numbers: dict[str, int], *, waits: bool
) -> None:
    least = {"messages": 1, "tokens": 1, "opened": 1, "characters": 1}
    assert SEED.may_wait(**{**least, **numbers}) is waits


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ({"least_messages": 0}, "least_messages"),
        ({"most_messages": 2}, "most_messages"),
        ({"batch": 0}, "batch"),
        ({"batch_tokens": 0}, "batch_tokens"),
        ({"alone": 0.5}, "alone"),
        ({"doubt": 1.5}, "doubt"),
        ({"summary_tokens": 47}, "summary_tokens"),
        ({"threads": -1}, "threads"),
        ({"past_threshold": -0.1}, "thresholds"),
        ({"thread_threshold": 1.1}, "thresholds"),
    ],
)
def test_numbers_that_cannot_work_are_refused(numbers: dict[str, float], wrong: str) -> None:
    with pytest.raises(InvalidInput, match=wrong):
        Topics(**numbers)  # type: ignore[arg-type]
