"""I1: every message of a session is in exactly one part of the account."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.context import Coverage
from anaphora.domain.keys import SeqRange, subtract, union
from anaphora.domain.summaries import Point
from anaphora.rules.coverage import account

SUMMARY = UUID(int=7)


def numbers(spans: tuple[SeqRange, ...]) -> set[int]:
    return {n for span in spans for n in span}


@dataclass(frozen=True)
class Told:
    """What an account is made of."""

    head: int
    points: tuple[Point, ...]
    verbatim: tuple[SeqRange, ...]
    deleted: tuple[SeqRange, ...]


@st.composite
def told(draw: st.DrawFn) -> Told:
    head = draw(st.integers(0, 24))

    def spans() -> tuple[SeqRange, ...]:
        edges = st.tuples(st.integers(0, head), st.integers(0, head))
        return tuple(SeqRange(min(pair), max(pair)) for pair in draw(st.lists(edges, max_size=3)))

    points = []
    for span in spans():
        elided = tuple(span.clip(hole) for hole in spans())
        if subtract((span,), elided):
            points.append(Point(text="said", range=span, elided=union(elided)))
    return Told(head=head, points=tuple(points), verbatim=spans(), deleted=spans())


def of(story: Told) -> Coverage:
    return account(story.head, summary_id=SUMMARY, points=story.points, verbatim=story.verbatim, deleted=story.deleted)


@given(told())
def test_deleted_goes_before_verbatim_before_summarised_and_the_rest_is_declared_elided(story: Told) -> None:
    found = of(story)
    deleted = numbers(story.deleted)
    verbatim = numbers(story.verbatim) - deleted
    summarised = {n for point in story.points for n in numbers(point.covered)} - verbatim - deleted
    assert numbers(found.deleted) == deleted
    assert numbers(found.verbatim) == verbatim
    assert numbers(found.summarised) == summarised
    assert numbers(found.elided) == set(range(story.head)) - summarised - verbatim - deleted
    assert (found.head, found.summary_id) == (story.head, SUMMARY)


@given(told())
def test_every_part_is_told_in_as_few_stretches_as_it_has(story: Told) -> None:
    found = of(story)
    for part in (found.summarised, found.verbatim, found.elided, found.deleted):
        assert union(part) == part


def test_where_nothing_was_said_there_is_nothing_to_account_for() -> None:
    found = account(0, summary_id=None, points=(), verbatim=())
    assert found == Coverage(head=0, summary_id=None, summarised=(), verbatim=(), elided=())


def test_the_only_message_of_a_session_is_accounted_for_too() -> None:
    assert account(1, summary_id=None, points=(), verbatim=()).elided == (SeqRange(0, 1),)
