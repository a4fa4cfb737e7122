"""Stems, numbers and names of a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.rules.language.stems import stem
from anaphora.rules.language.words import MAX_TERMS, content_key, core, is_negative, names, numbers, terms


@pytest.mark.parametrize(
    "forms",
    [
        "run runs running runner ran",
        "love loves loved loving",
        "allergy allergies allergic",
        "city cities",
        "movie movies",
        "happy happily",
        "study studies studied studying",
        "nurse nurses nursing",
        "family families",
        "stop stopped stopping",
        "travel travelled traveler",
        "engineer engineering",
        "box boxes",
        "marry married marriage",
        "child children kids",
        "mother mum mom",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("brother", "mother"), ("viola", "violin"), ("paris", "pairs"), ("son", "sun")]
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_terms_are_the_telling_words_in_order_once() -> None:
    assert terms("The user likes dogs, and dogs like the user") == (stem("likes"), stem("dogs"))


def test_scripts_without_blanks_are_taken_two_letters_at_a_time() -> None:
    assert terms("花生过敏") == ("花生", "生过", "过敏")


def test_a_statement_of_small_words_still_has_terms() -> None:
    assert terms("is not him") != ()


def test_there_are_at_most_sixty_four_terms() -> None:
    assert len(terms(" ".join(f"word{number}" for number in range(200)))) == MAX_TERMS


def test_core_leaves_out_what_only_joins_a_person_and_a_thing() -> None:
    assert core("The user loves coffee") == core("Likes coffee") == frozenset({stem("coffee")})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Lisbon.", "lives  in\nlisbon"),
        ("Loves “The Wire”", 'loves "the wire"'),
        ("Alice’s dog", "Alice's dog"),
    ],
)
def test_one_key_for_the_same_letters(one: str, other: str) -> None:
    assert content_key(one) == content_key(other)


def test_another_key_for_another_number() -> None:
    assert content_key("Is 34") != content_key("Is 35")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two dogs", {"2"}),
        ("twenty-five", {"25"}),
        ("two hundred and five", {"205"}),
        ("1,200", {"1200"}),
        ("1.2k", {"1200"}),
        ("$5k", {"5000"}),
        ("5 million", {"5000000"}),
        ("3.4%", {"3.4"}),
        ("March 3rd", {"3 march"}),
        ("3 March", {"3 march"}),
        ("the third of March", {"3 march"}),
        ("2021-03-03", {"3 march", "2021"}),
        ("half past six", {"6:30"}),
        ("quarter to 7", {"6:45"}),
        ("18:30", {"6:30", "pm"}),
        ("6 am", {"6", "am"}),
        ("on Mondays", {"monday"}),
        ("in May", {"may"}),
        ("may I", set()),
        ("one of my dogs", set()),
        ("'98", {"1998"}),
        ("the 1990s", {"1990"}),
        ("32-year-old", {"32"}),
        ("half a dozen", {"6"}),
        ("2 hours 5 min", {"2:05"}),
        ("drei Jahre", {"3"}),
        ("三年", {"3"}),
        ("٣", {"3"}),
        ("+49 30 1234567", {"49301234567"}),
    ],
)
def test_numbers_have_one_form(text: str, expected: set[str]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize("text", ["hundred " * 5000, "9" * 5000, "billion billion " * 1000])
def test_no_number_is_too_large_to_read(text: str) -> None:
    assert numbers(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She met Anna in New York", {"anna", "new", "york"}),
        ("Works well. Lives here", set()),
        ("My iPhone and NASA", {"iphone", "nasa"}),
        ('Loves "The Wire"', {"wire"}),
        ("On Monday in May", set()),
        ("I LIVE IN LISBON AND SHOUT", set()),
        ("他住在里斯本", set()),
    ],
)
def test_names_are_capitals_where_no_sentence_begins(text: str, expected: set[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text", ["Dislikes tea", "Doesn't eat pork", "No longer vegan", "Never smokes", "Quit smoking"]
)
def test_denials_are_negative(text: str) -> None:
    assert is_negative(text)


@pytest.mark.parametrize("text", ["Likes tea", "Not only a cook", "Knows Nora"])
def test_statements_are_not(text: str) -> None:
    assert not is_negative(text)


@given(st.text(max_size=300))
def test_any_text_can_be_taken_apart(text: str) -> None:
    assert len(terms(text)) <= MAX_TERMS
    assert all(isinstance(number, str) for number in numbers(text))
    assert all(name == name.casefold() for name in names(text))
    assert content_key(content_key(text)) == content_key(text)
