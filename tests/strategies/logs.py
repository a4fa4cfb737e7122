"""What the tests of the strategies share: logs of turns, and summaries of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange, union
from anaphora.domain.messages import Trust
from anaphora.domain.plans import TAIL_TURNS, State
from anaphora.domain.summaries import Method, Point, Summary

#: how many messages each turn has
turns = st.lists(st.integers(1, 7), min_size=1, max_size=100)
#: stretches of a log in which every message was deleted
deletions = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), max_size=4).map(
    lambda found: union(SeqRange(start, start + size) for start, size in found)
)


def starts_of(lengths: Sequence[int]) -> list[int]:
    """Where turns of these lengths start."""
    return [sum(lengths[:at]) for at in range(len(lengths))]


def log(
    lengths: Sequence[int],
    *,
    covered_to: int = 0,
    ended: bool = False,
    turn_finished: bool = True,
    deleted: tuple[SeqRange, ...] = (),
) -> State:
    """A log of turns of these lengths, as much of it as a session remembers; what is summarised is within it."""
    head = sum(lengths)
    return State(
        head=head,
        covered_to=min(covered_to, head),
        turn_starts=tuple(starts_of(lengths)[-TAIL_TURNS:]),
        turn_finished=turn_finished,
        ended=ended,
        deleted=tuple(span.clip(SeqRange(0, head)) for span in deleted if span.start < head),
    )


def live(state: State, start: int, stop: int) -> list[int]:
    """The messages from `start` on and before `stop` that were not deleted."""
    return [seq for seq in range(start, stop) if not any(seq in span for span in state.deleted)]


def summary(start: int, stop: int, *cuts: int) -> Summary:
    """A version that speaks for the messages from `start` on and before `stop`, with a point between each two cuts."""
    edges = [start, *cuts, stop]
    points = tuple(Point(text=f"{a}-{b}", range=SeqRange(a, b)) for a, b in itertools.pairwise(edges))
    return Summary(
        id=UUID(int=1),
        base_id=None,
        version=1,
        strategy="any",
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
