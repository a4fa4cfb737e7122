"""The points of a summary tile its range, and no rule ever claims more than was cited (I1, I3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Method, Point, check_tiling
from anaphora.rules import points as rule

SPAN = SeqRange(10, 40)


def count(text: str) -> int:
    return len(text.split())


cites = st.tuples(st.integers(10, 39), st.integers(1, 8)).map(lambda p: SeqRange(p[0], min(40, p[0] + p[1])))
statements = st.lists(
    st.tuples(st.text("abc ", min_size=1).filter(str.strip), st.lists(cites, min_size=1, max_size=3).map(tuple)),
    min_size=1,
    max_size=10,
)


def covered(points: tuple[Point, ...]) -> set[int]:
    return {n for point in points for span in point.covered for n in span}


@given(statements)
def test_placed_points_tile_the_span_and_cover_exactly_what_was_cited(made: list[rule.Statement]) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    check_tiling(points, SPAN)
    assert covered(points) == {n for _, spans in made for span in spans for n in span}


@given(statements, st.integers(1, 30))
def test_fitting_stays_in_the_size_and_never_covers_more(made: list[rule.Statement], limit: int) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    fitted = rule.fit(points, limit, count=count, new_from=20)
    check_tiling(fitted, SPAN)
    assert covered(fitted) <= covered(points)
    assert sum(point.tokens for point in fitted) <= limit


@given(statements, st.integers(0, 45))
def test_sliding_drops_whole_points_before_the_window_and_keeps_a_straddling_one(
    made: list[rule.Statement], start: int
) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    kept = rule.slide(points, start)
    assert kept == tuple(point for point in points if any(seq >= start for seq in point.range))


@given(statements, st.data())
def test_merging_neighbours_keeps_the_union_and_what_was_elided(
    made: list[rule.Statement], data: st.DataObject
) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    size = data.draw(st.integers(1, len(points)))
    merged = rule.merge(points[:size], "together", method=Method.MODEL, count=count)
    check_tiling((merged, *points[size:]), SPAN)
    assert covered((merged,)) == covered(points[:size])


def test_merging_with_a_point_made_without_a_model_keeps_that_known() -> None:
    points = (
        Point(text="a", range=SeqRange(0, 2), method=Method.DIGEST, tokens=1),
        Point(text="b", range=SeqRange(2, 4), method=Method.MODEL, tokens=1),
    )
    assert rule.merge(points, "c", method=Method.MODEL, count=count).method is Method.DIGEST


def test_many_holes_are_joined_towards_declaring_more_left_out() -> None:
    span = SeqRange(0, 200)
    made = [("odd ones", tuple(SeqRange(n, n + 1) for n in range(1, 200, 2)))]
    (point,) = rule.place(made, span, method=Method.MODEL, count=count)
    assert len(point.elided) <= rule.MAX_ELIDED
    assert covered((point,)) <= set(range(1, 200, 2))
    assert covered((point,))


def test_keeping_some_points_declares_the_others_elided() -> None:
    made = [(f"s{n}", (SeqRange(n, n + 1),)) for n in (10, 20, 30)]
    points = rule.place(made, SPAN, method=Method.EXTRACTIVE, count=count)
    kept = rule.keep_only(points, {2})
    check_tiling(kept, SPAN)
    assert [point.text for point in kept] == ["s30"]
    assert covered(kept) == {30}


def shares_of(tokens: list[int], limit: int) -> tuple[rule.Shares, list[Point]]:
    points = [Point(text="x", range=SeqRange(at, at + 1), tokens=size) for at, size in enumerate(tokens)]
    return rule.shares(points, limit), points


@given(st.lists(st.integers(1, 60), max_size=12), st.integers(48, 400))
def test_the_shares_leave_room_for_what_is_new(tokens: list[int], limit: int) -> None:
    share, points = shares_of(tokens, limit)
    assert share.merge == 0 or 2 <= share.merge <= len(points)
    rest = sum(point.tokens for point in points[share.merge :])
    if share.merge > 2:
        assert rest + share.merged + share.new <= limit


def test_nothing_is_merged_while_everything_fits() -> None:
    share, _ = shares_of([20, 20, 20], 150)
    assert share.merge == 0
