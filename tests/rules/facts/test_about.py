"""Of whom a statement speaks that was made in a session about somebody else."""

from __future__ import annotations

import pytest

from anaphora.rules.facts.about import is_of_speaker


def of_speaker(content: str, message: str, quote: str | None = None, subject: str = "Rex the dog") -> bool:
    return is_of_speaker(content, quote or message, message, subject=subject, speaker="Alice")


@pytest.mark.parametrize(
    ("content", "message", "quote"),
    [
        ("Allergic to peanuts", "I'm allergic to peanuts and I live in Lisbon.", "I'm allergic to peanuts"),
        ("Lives in Lisbon", "I'm allergic to peanuts and I live in Lisbon.", "I live in Lisbon"),
        ("Allergic to peanuts", "I'm allergic to peanuts.", "allergic to peanuts"),
        ("The user is allergic to peanuts", "I am allergic to peanuts.", None),
        ("Alice is allergic to peanuts", "I am allergic to peanuts.", None),
        ("Favourite food is beef", "My favourite food is beef.", None),
        ("Lives in Porto", "We live in Porto.", None),
        ("Loves walking Rex", "I love walking Rex.", None),
        ("Call the user Ana", "Call me Ana.", None),
        ("Name is Ana", "My name is Ana.", None),
        ("Brother is vegan", "My brother is vegan.", None),
        ("The user's brother is vegan", "My brother is vegan.", None),
        ("Is 40 years old", "She is 8 years old and I am 40 years old.", None),
        ("Lives in Berlin", "Ich wohne in Berlin.", None),
    ],
)
def test_what_somebody_says_of_themself_is_about_them(content: str, message: str, quote: str | None) -> None:
    assert of_speaker(content, message, quote)


@pytest.mark.parametrize(
    ("content", "message", "quote"),
    [
        ("Rex is allergic to chicken", "Rex is allergic to chicken.", None),
        ("Allergic to chicken", "Rex is allergic to chicken.", None),
        ("Allergic to chicken", "I know that Rex is allergic to chicken.", "Rex is allergic to chicken"),
        ("Allergic to chicken", "My dog Rex is allergic to chicken.", None),
        ("Allergic to chicken", "My dog is allergic to chicken.", None),
        ("The dog is allergic to chicken", "My dog is allergic to chicken.", None),
        ("Rex went to the vet", "I took Rex to the vet.", None),
        ("Rex's favourite food is beef", "His favourite food is beef.", None),
        ("Favourite food is beef", "His favourite food is beef.", None),
        ("Loves bones", "He loves bones.", None),
        ("Is 8 years old", "She is 8 years old and I am 40 years old.", None),
        ("Barks at night", "Barks at night.", None),
    ],
)
def test_what_somebody_says_of_the_subject_is_about_the_subject(content: str, message: str, quote: str | None) -> None:
    assert not of_speaker(content, message, quote)


def test_a_subject_of_several_words_is_named_by_one_of_them() -> None:
    assert not of_speaker("Loved jazz", "My grandpa loved jazz.", subject="Grandpa Joe")
    assert not of_speaker("Joe loved jazz", "I was told that he loved jazz.", subject="Grandpa Joe")
    assert of_speaker("Loves jazz", "I love jazz.", subject="Grandpa Joe")
