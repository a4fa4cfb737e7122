"""The points of a summary tile its range, and no rule ever claims more than was cited (I1, I3)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange, subtract
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


@given(statements)
def test_placed_points_say_each_statement_once_and_know_their_cost(made: list[rule.Statement]) -> None:
    points = rule.place(made, SPAN, method=Method.EXTRACTIVE, count=count)
    assert {point.method for point in points} == {Method.EXTRACTIVE}
    assert [point.tokens for point in points] == [count(point.text) for point in points]
    assert sorted(" ".join(point.text for point in points).split()) == sorted(
        word for point in points for text in dict.fromkeys(said(made, point)) for word in text.split()
    )


def said(made: list[rule.Statement], point: Point) -> list[str]:
    return [text for text, spans in made if min(spans).start in point.range]


def test_statements_whose_citations_only_touch_stay_apart_and_those_that_interleave_become_one() -> None:
    made: list[rule.Statement] = [
        ("tea", (SeqRange(20, 25),)),
        ("milk", (SeqRange(10, 14), SeqRange(16, 18))),
        ("sugar", (SeqRange(15, 16),)),
        ("lemon", (SeqRange(25, 30),)),
    ]
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    assert [(point.text, point.range) for point in points] == [
        ("milk sugar", SeqRange(10, 20)),
        ("tea", SeqRange(20, 25)),
        ("lemon", SeqRange(25, 40)),
    ]
    assert [point.elided for point in points] == [
        (SeqRange(14, 15), SeqRange(18, 20)),
        (),
        (SeqRange(30, 40),),
    ]


@given(statements, st.integers(1, 30))
def test_fitting_stays_in_the_size_and_never_covers_more(made: list[rule.Statement], limit: int) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    fitted = rule.fit(points, limit, count=count, new_from=20)
    check_tiling(fitted, SPAN)
    assert covered(fitted) <= covered(points)
    assert sum(point.tokens for point in fitted) <= limit
    assert [point.tokens for point in fitted] == [count(point.text) for point in fitted]


def sized(*sizes: int, start: int = 0) -> tuple[Point, ...]:
    """Neighbours of so many tokens, ten messages each, that say their own number so many times."""
    return tuple(
        Point(
            text=" ".join([str(at)] * size),
            range=SeqRange(start + 10 * at, start + 10 * at + 10),
            tokens=size,
        )
        for at, size in enumerate(sizes)
    )


def left_of(points: tuple[Point, ...]) -> list[str]:
    return [point.text.split()[0] for point in points]


def test_what_fits_exactly_stays_as_it_is() -> None:
    points = sized(3, 4, 5)
    assert rule.fit(points, 12, count=count, new_from=10) == points
    assert rule.fit(points[:1], 3, count=count, new_from=0) == points[:1]


def test_of_the_new_points_those_that_speak_for_the_fewest_messages_go_first() -> None:
    old, one, two, three = sized(5, 5, 5, 5)
    one, three = replace(one, elided=(SeqRange(12, 16),)), replace(three, elided=(SeqRange(30, 38),))
    points = (old, one, two, three)
    assert left_of(rule.fit(points, 19, count=count, new_from=10)) == ["0", "1", "2"]
    assert left_of(rule.fit(points, 14, count=count, new_from=10)) == ["0", "2"]


def test_of_new_points_that_speak_for_as_many_messages_the_longest_goes_first() -> None:
    assert left_of(rule.fit(sized(9, 2, 5, 3), 15, count=count, new_from=10)) == ["0", "1", "3"]


def test_the_last_new_point_stays_and_the_oldest_go() -> None:
    assert left_of(rule.fit(sized(5, 5, 5, 5), 10, count=count, new_from=30)) == ["2", "3"]
    assert left_of(rule.fit(sized(5, 5, 5, 5), 5, count=count, new_from=20)) == ["3"]
    assert left_of(rule.fit(sized(5, 5, 5), 10, count=count, new_from=30)) == ["1", "2"]


def test_the_last_point_standing_is_cut_to_what_fits() -> None:
    (point,) = rule.fit(sized(9, 9), 4, count=count, new_from=10)
    assert point.text.startswith("1 1")
    assert point.text.endswith("…")
    assert point.tokens == count(point.text) <= 4
    assert (point.range, point.elided) == (SeqRange(0, 20), (SeqRange(0, 10),))


@given(statements, st.integers(0, 45))
def test_sliding_drops_whole_points_before_the_window_and_keeps_a_straddling_one(
    made: list[rule.Statement], start: int
) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    kept = rule.slide(points, start)
    assert kept == tuple(point for point in points if any(seq >= start for seq in point.range))


@pytest.mark.parametrize(("keep_from", "kept"), [(0, "012"), (9, "012"), (10, "12"), (11, "12"), (20, "2"), (30, "")])
def test_a_point_that_ends_where_the_window_begins_is_dropped(keep_from: int, kept: str) -> None:
    assert "".join(left_of(rule.slide(sized(1, 1, 1), keep_from))) == kept


@given(statements, st.data())
def test_merging_neighbours_keeps_the_union_and_what_was_elided(
    made: list[rule.Statement], data: st.DataObject
) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    size = data.draw(st.integers(1, len(points)))
    merged = rule.merge(points[:size], "together", method=Method.MODEL, count=count)
    check_tiling((merged, *points[size:]), SPAN)
    assert covered((merged,)) == covered(points[:size])
    assert (merged.text, merged.tokens, merged.method) == ("together", 1, Method.MODEL)


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


def with_holes(gaps: list[int]) -> tuple[Point, tuple[SeqRange, ...]]:
    """A point with single messages left out, so far from each other; and what was left out."""
    holes = [SeqRange(5, 6)]
    for gap in gaps:
        holes.append(SeqRange(holes[-1].stop + gap, holes[-1].stop + gap + 1))
    span = SeqRange(0, holes[-1].stop + 5)
    cited = subtract((span,), holes)
    (point,) = rule.place([("all the others", cited)], span, method=Method.MODEL, count=count)
    return point, tuple(holes)


def test_as_many_holes_as_a_point_keeps_apart_stay_exact() -> None:
    point, holes = with_holes([2] * (rule.MAX_ELIDED - 1))
    assert len(holes) == 32
    assert point.elided == holes


@pytest.mark.parametrize("nearest", [0, 1, 15, 30, 31])
def test_of_too_many_holes_the_two_nearest_to_each_other_become_one(nearest: int) -> None:
    gaps = [3] * rule.MAX_ELIDED
    gaps[nearest] = 2
    point, holes = with_holes(gaps)
    joined = SeqRange(holes[nearest].start, holes[nearest + 1].stop)
    assert point.elided == (*holes[:nearest], joined, *holes[nearest + 2 :])


def test_keeping_some_points_declares_the_others_elided() -> None:
    made = [(f"s{n}", (SeqRange(n, n + 1),)) for n in (10, 20, 30)]
    points = rule.place(made, SPAN, method=Method.EXTRACTIVE, count=count)
    kept = rule.keep_only(points, {2})
    check_tiling(kept, SPAN)
    assert [point.text for point in kept] == ["s30"]
    assert covered(kept) == {30}


@given(statements, st.data())
def test_keeping_some_points_keeps_what_they_say_and_cover_and_no_more(
    made: list[rule.Statement], data: st.DataObject
) -> None:
    points = rule.place(made, SPAN, method=Method.MODEL, count=count)
    keep = data.draw(st.sets(st.integers(0, len(points) - 1), min_size=1))
    kept = rule.keep_only(points, keep)
    chosen = tuple(points[at] for at in sorted(keep))
    check_tiling(kept, SPAN)
    assert [(point.text, point.covered) for point in kept] == [(point.text, point.covered) for point in chosen]


def test_the_next_point_answers_for_one_that_is_dropped_and_the_one_before_for_the_last() -> None:
    points = sized(1, 1, 1)
    first, last = rule.drop(points, 0), rule.drop(points, 2)
    assert [(point.range, point.elided) for point in first] == [
        (SeqRange(0, 20), (SeqRange(0, 10),)),
        (SeqRange(20, 30), ()),
    ]
    assert [(point.range, point.elided) for point in last] == [
        (SeqRange(0, 10), ()),
        (SeqRange(10, 30), (SeqRange(20, 30),)),
    ]


def shares_of(tokens: list[int], limit: int) -> tuple[rule.Shares, list[Point]]:
    points = [Point(text="x", range=SeqRange(at, at + 1), tokens=size) for at, size in enumerate(tokens)]
    return rule.shares(points, limit), points


@given(st.lists(st.integers(1, 60), max_size=12), st.integers(48, 400))
def test_as_few_of_the_oldest_as_must_become_one_so_that_everything_fits(tokens: list[int], limit: int) -> None:
    """A third is for what is new, and a third for what the oldest become."""
    share, points = shares_of(tokens, limit)
    third = limit // 3
    assert (share.new, share.merged) == (third, third)
    if sum(tokens) + third <= limit or len(points) < 2:
        assert share.merge == 0
        return
    enough = [size for size in range(2, len(points) + 1) if sum(tokens[size:]) + 2 * third <= limit]
    assert share.merge == min(enough)


@pytest.mark.parametrize(
    ("tokens", "merge"),
    [
        ([20, 20, 20], 0),
        ([50, 50], 0),  # exactly what is left beside the third for what is new
        ([50, 51], 2),
        ([300], 0),  # nothing to become one with
        ([80, 30, 20], 2),
        ([80, 30, 30, 20], 2),
        ([80, 30, 30, 21], 3),
        ([80, 30, 30, 51], 4),
    ],
)
def test_the_shares_of_a_summary_of_150_tokens(tokens: list[int], merge: int) -> None:
    share, _ = shares_of(tokens, 150)
    assert share == rule.Shares(new=50, merged=50, merge=merge)


@pytest.mark.parametrize(("limit", "third"), [(48, 16), (100, 33), (200, 66)])
def test_a_share_is_a_whole_number_of_tokens(limit: int, third: int) -> None:
    share, _ = shares_of([10], limit)
    assert (repr(share.new), repr(share.merged)) == (str(third), str(third))
