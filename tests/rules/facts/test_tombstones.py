"""What was deleted is not learned again, and its tombstone tells nobody what it said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.rules.facts.tombstones import is_buried, tombstone

SECRET = b"a secret of this installation"


@pytest.mark.parametrize(
    "again",
    ["Allergic to peanuts", "The user is allergic to peanuts.", "is ALLERGIC to peanuts", "allergic to a peanut"],
)
def test_the_same_said_again_is_buried(again: str) -> None:
    assert is_buried(SECRET, again, [tombstone(SECRET, "Allergic to peanuts")])


@pytest.mark.parametrize(
    ("deleted", "new"),
    [
        ("Has two dogs", "Has three dogs"),
        ("Allergic to peanuts", "Not allergic to peanuts"),
        ("Lives in Lisbon", "Lives in Berlin"),
        ("Plays the piano", "Plays chess"),
    ],
)
def test_what_differs_in_a_number_a_no_or_its_words_is_new(deleted: str, new: str) -> None:
    assert not is_buried(SECRET, new, [tombstone(SECRET, deleted)])


def test_nothing_is_buried_without_tombstones() -> None:
    assert not is_buried(SECRET, "Allergic to peanuts", [])


def test_another_secret_knows_nothing() -> None:
    assert not is_buried(b"another", "Allergic to peanuts", [tombstone(SECRET, "Allergic to peanuts")])


@given(st.text(min_size=1, max_size=200))
def test_whatever_was_deleted_stays_buried(content: str) -> None:
    stone = tombstone(SECRET, content)
    assert list(stone) == sorted(set(stone))
    assert is_buried(SECRET, content, [stone])


def test_no_word_of_it_can_be_read() -> None:
    stone = " ".join(tombstone(SECRET, "Allergic to peanuts since 1998"))
    assert not any(part in stone for part in ("allerg", "peanut", "1998"))
