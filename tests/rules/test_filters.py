"""Filters as people write them."""

from __future__ import annotations

import pytest

from anaphora.domain.filters import And, Contains, Equals, Exists, Field, Filter, Not, Or
from anaphora.errors import InvalidInput
from anaphora.rules.filters import matches, parse_filter

A, B, START = Field.of("a"), Field.of("b"), Field.of("date_range.start")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('a = "x"', Equals(A, "x")),
        ('a="say \\"hi\\" é"', Equals(A, 'say "hi" é')),
        ("a != 1", Not(Equals(A, 1))),
        ("a = -1.5e3", Equals(A, -1500.0)),
        ("a = TRUE or b = null", Or((Equals(A, value=True), Equals(B, None)))),
        ("a contains false", Contains(A, value=False)),
        ("exists date_range.start", Exists(START)),
        ("not exists a and b = 1 or a = 2", Or((And((Not(Exists(A)), Equals(B, 1))), Equals(A, 2)))),
        ("not (a = 1 or b = 2) and exists b", And((Not(Or((Equals(A, 1), Equals(B, 2)))), Exists(B)))),
        ("AND-x = 1", Equals(Field.of("AND-x"), 1)),
    ],
)
def test_a_filter_means_what_is_written(text: str, meant: Filter) -> None:
    assert parse_filter(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lacks the name of a value at its end"),
        ("a", "lacks =, != or contains at its end"),
        ("a = ", "lacks a text in double quotes"),
        ("a = x", "lacks a text in double quotes"),
        ("a = 'x'", "cannot be read from"),
        ('a = "x', "cannot be read from"),
        ("a = 1; drop table documents", "cannot be read from"),
        ("a = 1 b = 2", "ends before 'b'"),
        ("(a = 1", "lacks a closing bracket"),
        ("a.b.c = 1", "name or name.name"),
        ('"a" = 1', "lacks the name"),
        ("and = 1", "lacks the name"),
        ("a = 1)", "ends before"),
        ('a = "\\x"', "no JSON string"),
        ('a = "\\u0000"', "NUL"),
        ('a = "\\ud800"', "surrogate"),
        ("a = 99999999999999999999", "2\\^53"),
        ("a = 1e999", "not a finite number"),
        ("(" * 40 + "a = 1" + ")" * 40, "too deep"),
        (" or ".join(["a = 1"] * 70), "more than 64"),
        ("a = 1 or " * 1000, "longer than"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as error:
        parse_filter(text)
    assert "\n" not in str(error.value)


def test_something_else_than_a_filter_is_refused() -> None:
    deep: Filter = Exists(A)
    for _ in range(20):
        deep = Not(deep)
    with pytest.raises(InvalidInput, match="levels deep"):
        parse_filter("not " * 20 + "exists a")
    for wrong in ("a'b", "", "1a", "a b", "a.b.c"):
        with pytest.raises(InvalidInput):
            Field.of(wrong)


def test_values_are_told_apart_by_their_kind() -> None:
    said = {"a": True, "b": [1, "1", None], "date_range": {"start": "x"}}
    assert matches(Equals(A, value=True), said)
    assert not matches(Equals(A, 1), said)
    assert matches(Contains(B, "1"), said)
    assert not matches(Contains(B, value=True), said)
    assert matches(And((Contains(B, None), Equals(START, "x"))), said)
    assert not matches(Or(()), said)
