"""Seed 001's numbers without its holes: no gap, no livelock, and no call for nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.logs import deletions, live, log, summary, turns

from anaphora.domain.keys import SeqRange, subtract
from anaphora.domain.plans import TAIL_TURNS, Plan, Snapshot, State
from anaphora.errors import InvalidInput
from anaphora.rules.coverage import account
from anaphora.strategies.token_budget import TokenBudget

SEED = TokenBudget()
ARCHIVES = TokenBudget(archive_conversations=True)


def said(turns: int, *, tokens: int, covered_to: int = 0, new: int | None = None, ended: bool = False) -> State:
    """So many turns of two messages; so many tokens would stand in the prompt, so many of them are new."""
    return replace(
        log([2] * turns, covered_to=covered_to, ended=ended), tokens=tokens, said=tokens if new is None else new
    )


@pytest.mark.parametrize(
    ("state", "read"),
    [
        pytest.param(said(20, tokens=10_000), None, id="at the threshold nothing is due"),
        pytest.param(said(20, tokens=10_001), (0, 30), id="over it all but the kept ones is"),
        pytest.param(said(5, tokens=99_999), None, id="the kept ones are kept, whatever they cost"),
        pytest.param(said(6, tokens=10_001), (0, 2), id="one turn that left them is enough if all of it was just said"),
        pytest.param(said(16, tokens=50_000, covered_to=20, new=2_499), None, id="little new: no call for one turn"),
        pytest.param(said(16, tokens=50_000, covered_to=20, new=2_500), (20, 22), id="a quarter of the threshold is"),
        pytest.param(said(20, tokens=50_000, covered_to=20, new=0), (20, 30), id="as many as are kept have left them"),
        pytest.param(replace(said(20, tokens=9_000, covered_to=20), aim=30), (20, 30), id="what was begun is finished"),
        pytest.param(replace(said(20, tokens=9_000, covered_to=30), aim=30), None, id="and then it is finished"),
        pytest.param(said(3, tokens=30, ended=True), None, id="the end makes nothing due"),
    ],
)
def test_what_is_due(state: State, read: tuple[int, int] | None) -> None:
    plan = SEED.plan(state)
    expected = Plan(read=SeqRange(*read), keep_from=0, max_tokens=800, structured=True) if read else None
    assert plan == expected


def test_a_session_that_is_archived_is_summarised_to_its_end() -> None:
    plan = ARCHIVES.plan(said(3, tokens=30, ended=True))
    assert plan is not None
    assert (plan.read, plan.archive) == (SeqRange(0, 6), True)
    assert ARCHIVES.plan(said(3, tokens=30, covered_to=6, ended=True)) is None


@given(turns, st.integers(0, 300), st.integers(0, 40_000), deletions, st.booleans())
def test_no_message_is_in_no_part_whatever_was_summarised(
    lengths: list[int], covered_to: int, tokens: int, deleted: tuple[SeqRange, ...], ended: bool
) -> None:
    """I1: what is not spoken for stands verbatim, a plan goes from where the summary ends to where a turn begins."""
    state = replace(log(lengths, covered_to=covered_to, deleted=deleted, ended=ended), tokens=tokens, said=tokens)
    served = summary(0, state.covered_to) if state.covered_to else None
    selection = SEED.select(Snapshot(state=state, summary=served))
    coverage = account(
        state.head,
        summary_id=None,
        points=selection.points,
        verbatim=subtract((selection.verbatim,), state.deleted),
        deleted=state.deleted,
    )
    assert not coverage.elided
    plan = SEED.plan(state)
    if plan is not None:
        assert plan.read.start == state.covered_to
        assert plan.read.stop in state.turn_starts
        assert live(state, plan.read.start, plan.read.stop)
        assert len(SeqRange(plan.read.stop, state.head)) >= 10


@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from([1, 50, 700, 5_000, 200_000])), min_size=1, max_size=60),
    st.integers(1, 12),
    st.integers(1, 7),
)
def test_compression_ends_and_is_never_begun_for_nothing(
    said: list[tuple[int, int]], keep: int, batch_turns: int
) -> None:
    """Hole 1.10: whatever a message or the kept ones cost, a round ends, and the next waits for some gain."""
    strategy = TokenBudget(recent_messages_to_keep=keep)
    costs = [tokens for count, tokens in said for _ in range(count)]
    lengths, covered, aim, seen = [count for count, _ in said], 0, 0, 0
    rounds, of_summary = 0, 0
    for turn in range(1, len(lengths) + 1):
        head = sum(lengths[:turn])
        total = sum(costs[:head])
        for _ in range(head + 2):
            tokens = total - sum(costs[:covered]) + of_summary
            state = replace(log(lengths[:turn], covered_to=covered), tokens=tokens, said=total - seen, aim=aim)
            plan = strategy.plan(state)
            if plan is None:
                break
            if aim <= covered:
                rounds += 1
                assert tokens > strategy.threshold_tokens
                assert len(plan.read) >= keep or total - seen >= strategy.threshold_tokens / 4
            starts = [start for start in (*state.turn_starts, plan.read.stop) if start > covered]
            stop = min(starts[min(batch_turns, len(starts)) - 1], plan.read.stop)
            aim, covered, seen, of_summary = plan.read.stop, stop, total, 800
        else:
            pytest.fail("it compresses for ever")
    assert rounds <= 4 * sum(costs) / strategy.threshold_tokens + sum(lengths) / keep


@given(turns, st.integers(0, 300), st.integers(0, 300), deletions)
def test_a_rebuild_reads_on_to_its_target_while_something_is_left_to_read(
    lengths: list[int], covered_to: int, target: int, deleted: tuple[SeqRange, ...]
) -> None:
    state = log(lengths, covered_to=covered_to, deleted=deleted)
    target = min(target, state.head)
    plan = SEED.rebuild_plan(state, target)
    left = live(state, state.covered_to, target)
    assert (plan.read if plan else None) == (SeqRange(state.covered_to, target) if left else None)


def test_what_was_archived_at_an_end_stands_verbatim_again_when_the_session_goes_on() -> None:
    served = summary(0, 24, 6, 18)
    selection = ARCHIVES.select(Snapshot(state=log([2] * 13, covered_to=24), summary=served))
    assert selection.verbatim == SeqRange(16, 26)
    assert [point.range for point in selection.points] == [SeqRange(0, 6), SeqRange(6, 18)]


def test_a_small_threshold_has_a_small_summary() -> None:
    plan = TokenBudget(threshold_tokens=1_000).plan(replace(log([2] * 9), tokens=1_001, said=1_001))
    assert plan is not None
    assert plan.max_tokens == 250


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [
        ("threshold_tokens", 191, ["192"]),
        ("recent_messages_to_keep", 0, ["1", str(TAIL_TURNS)]),
        ("recent_messages_to_keep", TAIL_TURNS + 1, ["1", str(TAIL_TURNS)]),
        ("summary_max_tokens", 47, ["48"]),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_with_those_that_do(name: str, value: int, bounds: list[str]) -> None:
    make: Callable[..., TokenBudget] = TokenBudget
    with pytest.raises(InvalidInput, match=name) as caught:
        make(**{name: value})
    assert re.findall(r"\d+", str(caught.value)) == bounds


def test_without_settings_the_numbers_are_the_seeds() -> None:
    assert (SEED.threshold_tokens, SEED.recent_messages_to_keep, SEED.archive_conversations) == (10_000, 10, False)
