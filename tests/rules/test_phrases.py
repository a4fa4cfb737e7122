"""Hole 1.18: phrases are looked for as words, whatever their case and their accents, in any language."""

from __future__ import annotations

import pytest

from anaphora.errors import InvalidInput
from anaphora.rules.phrases import MAX_PHRASES, SEARCH_TRIGGERS, Phrases

MINE = Phrases(("wie besprochen", "la dernière fois", "前回の話", "don't forget", "ÜBRIGENS gesagt"))


@pytest.mark.parametrize(
    ("phrases", "text", "found"),
    [
        (Phrases(), "What did we discuss about authentication?", "what did we discuss"),
        (Phrases(), "REMIND   me,\nplease", "remind me"),
        (Phrases(), "As we mentioned: no.", "we mentioned"),
        (Phrases(), "At last, timeless music", None),
        (Phrases(), "Remind Melanie", None),
        (Phrases(), "the ewe mentioned it", None),
        (Phrases(), "the last-time offer", "last time"),
        (Phrases(), "", None),
        (Phrases(), "x" * 100_000 + " remind me", "remind me"),
        (MINE, "Also WIE BESPROCHEN?", "wie besprochen"),
        (MINE, "comme LA DERNIERE FOIS", "la dernière fois"),
        (MINE, "comme la dernie\u0300re fois", "la dernière fois"),
        (MINE, "では前回の話ですが", "前回の話"),
        (MINE, "Don\u2019t forget it", "don't forget"),
        (MINE, "u\u0308brigens gesagt", "ÜBRIGENS gesagt"),
        (Phrases(()), "remind me", None),
    ],
)
def test_a_phrase_is_found_where_its_words_stand(phrases: Phrases, text: str, found: str | None) -> None:
    assert phrases.found_in(text) == found


@pytest.mark.parametrize("phrase", ["", "   ", "?!", "x" * 201])
def test_a_phrase_that_says_nothing_is_refused(phrase: str) -> None:
    with pytest.raises(InvalidInput, match="phrase"):
        Phrases((phrase,))


def test_too_many_phrases_are_refused() -> None:
    with pytest.raises(InvalidInput, match=str(MAX_PHRASES)):
        Phrases(("remind me",) * (MAX_PHRASES + 1))


def test_the_phrases_are_the_seeds() -> None:
    assert SEARCH_TRIGGERS == (
        "what did we discuss",
        "previous conversation",
        "last time",
        "remind me",
        "we mentioned",
        "earlier you said",
    )
