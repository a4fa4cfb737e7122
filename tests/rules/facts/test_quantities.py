"""Equal amounts are equal however they are written, and unequal ones never are."""

from __future__ import annotations

import pytest
from tests.rules.facts.said import judged

from anaphora.rules.facts.gate import Outcome
from anaphora.rules.language.numerals import numbers, readings
from anaphora.rules.language.quantities import (
    currencies,
    hours,
    lengths_of_lists,
    measured,
    periods,
    relative_dates,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a year and a half", "18 months"),
        ("two and a half years", "30 months"),
        ("an hour and a half", "90 minutes"),
        ("1.5 hours", "1h30"),
        ("half an hour", "30 min"),
        ("three quarters of an hour", "45 minutes"),
        ("one decade", "ten years"),
        ("a fortnight", "two weeks"),
        ("1.80 m", "180 cm"),
        ("half a kilo", "500 g"),
    ],
)
def test_one_amount_has_one_measure(one: str, other: str) -> None:
    assert set(measured(one)) == set(measured(other)) != set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a year and a half", "12 months"),
        ("an hour and a half", "60 minutes"),
        ("three weeks", "three months"),
        ("10 miles", "10 km"),
        ("1.80 m", "1.80 km"),
    ],
)
def test_another_amount_has_another_measure(one: str, other: str) -> None:
    assert not set(measured(one)) & set(measured(other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in one fifty-two", "1:52"),
        ("nineteen eighty-four", "1984"),
        ("twenty oh four", "2004"),
        ("year nines", "9"),
        ("in my forties", "40s"),
        ("18 500 rand", "18500"),
        ("three and a half thousand", "3500"),
        ("a hundred and twenty", "120"),
        ("am 17. Februar", "17 february"),
        ("at half six", "6:30"),
        ("12.9., we married", "12 september"),
        ("a 5k", "5"),
    ],
)
def test_a_notation_may_be_read_so(text: str, expected: str) -> None:
    assert any(expected in atom for atom in readings(text))


def test_the_likeliest_reading_is_the_number() -> None:
    assert numbers("a 5k") == {"5000"}


@pytest.mark.parametrize(
    ("one", "other"),
    [("900 a fortnight", "every other week"), ("daily", "every evening"), ("on Mondays", "once a week")],
)
def test_one_rhythm_has_one_period(one: str, other: str) -> None:
    assert periods(one) == periods(other) != frozenset()


def test_another_rhythm_has_another_period() -> None:
    assert not periods("900 a fortnight") & periods("900 a week")


def test_the_hours_of_the_evening_are_not_those_of_the_morning() -> None:
    assert hours("8 in the evening") == hours("20:00") == {"8": {"pm"}}
    assert hours("08:00") == hours("8 am") == {"8": {"am"}}


def test_a_list_is_as_long_as_it_has_things() -> None:
    assert 4 in lengths_of_lists(["Amharic, Tigrinya, Italian and English"])


def test_this_year_is_not_next_year() -> None:
    assert not relative_dates("until the end of next year") & relative_dates("at the end of this year")


def test_pounds_are_no_dollars() -> None:
    assert not currencies("£900") & currencies("900 dollars")


@pytest.mark.parametrize(
    ("written", "also"),
    [
        ("9-16 May", "May 9 to 16"),
        ("half a million rand", "R500,000"),
        ("expires 08/2026", "expires August 2026"),
        ("under-tens rugby", "under-10s rugby"),
        ("one hour thirty-eight", "1:38"),
        ("de 18 a 20 h", "de 18:00 a 20:00"),
        ("смены по двенадцать часов", "12"),
        ("a second-hand tent for four", "a used tent for 4"),
        ("a couple since August", "August"),
    ],
)
def test_a_span_a_sum_and_a_day_are_read_alike_however_they_are_written(written: str, also: str) -> None:
    assert readings(written) == readings(also)


@pytest.mark.parametrize(
    ("content", "said", "outcome"),
    [
        ("Alice swims 1,500 metres.", "I swim 1.5 km", Outcome.ACCEPT),
        ("Alice takes 50 mg of levothyroxine.", "I take fifty micrograms of levothyroxine", Outcome.REJECT),
        ("Alice takes 50 ml a day.", "I take 50 mg a day", Outcome.REJECT),
        (
            "Alice gets up at 4:45 am.",
            "I get up at quarter to five, so no calls after eight in the evening",
            Outcome.ACCEPT,
        ),
        (
            "Alice has been there for twelve years.",
            "I've been there for eleven years. Sorry, twelve, time flies",
            Outcome.ACCEPT,
        ),
        ("Alice coaches on Tuesdays and Thursdays.", "I coach them tues+thurs", Outcome.ACCEPT),
        ("Alice ran 10 km in 52 minutes.", "did my 10k in 52 min today", Outcome.ACCEPT),
        ("Alice has two brothers.", "I have a brother and a sister", Outcome.REJECT),
    ],
)
def test_an_amount_keeps_its_worth_and_its_unit(content: str, said: str, outcome: Outcome) -> None:
    result = judged(content, said)
    assert (result.outcome is Outcome.ACCEPT) is (outcome is Outcome.ACCEPT), result.reason
