"""What a new statement does to what is known."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.rules.facts.said import fact

from anaphora.domain.facts import Fact, FactState
from anaphora.domain.messages import Trust
from anaphora.rules.facts.merging import DOUBT, NAMED, UNLIKE, Merge, merge, said_again

ONE = UUID(int=1)
SAME, CLOSED, BESIDE = Merge(same=ONE), Merge(closes=(ONE,)), Merge()


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Likes coffee", "Loves coffee"),
        ("Allergic to peanuts", "The user is allergic to peanuts."),
        ("Plays the guitar", "plays guitar"),
        ("Lives in Lisbon, Portugal", "Lives in Lisbon"),
        ("Alice lives in Lisbon", "Lives in Lisbon"),
        ("Alice's dog is named Rex", "Dog is named Rex"),
    ],
)
def test_what_says_the_same_becomes_one(known: str, new: str) -> None:
    assert merge(new, "other", [fact(1, known)], speaker="Alice") == SAME


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Lives in Lisbon", "Lives in Berlin"),
        ("Lives in Lisbon", "Moved to Berlin"),
        ("Lives in Lisbon", "Lives in Lisbon, Portugal"),
        ("Works at Acme", "Works at Initech"),
        ("Is 34 years old", "Is 35 years old"),
        ("Favourite colour is blue", "Favorite color is green"),
        ("Sister's name is Ana", "Sister's name is Maria"),
        ("Is vegetarian", "Is vegan"),
        ("Is married", "Is divorced"),
        ("Likes coffee", "Hates coffee"),
        ("Allergic to peanuts", "Not allergic to peanuts"),
        ("Is vegetarian", "Is no longer vegetarian"),
        ("Smokes", "Quit smoking"),
        ("Prefers tea to coffee", "Prefers coffee to tea"),
        ("Has two dogs", "Has three dogs"),
    ],
)
def test_a_contradiction_closes_what_was_known(known: str, new: str) -> None:
    assert merge(new, "other", [fact(1, known)]) == CLOSED


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Lives in Lisbon", "Anna lives in Berlin"),
        ("Favourite colour is blue", "Favourite food is pizza"),
        ("Works as a nurse", "Works at City Hospital"),
        ("Runs 5 km on Mondays", "Runs 10 km on Saturdays"),
        ("Brother is 12 years old", "Sister is 14 years old"),
        ("Plays the piano", "Plays the violin"),
        ("Lives in Lisbon", "Lives in a small flat"),
    ],
)
def test_other_statements_stand_beside_it(known: str, new: str) -> None:
    assert merge(new, "other", [fact(1, known)]) == BESIDE


def test_what_the_owner_stands_for_is_not_closed_by_what_was_extracted() -> None:
    known = [fact(1, "Lives in Lisbon", trust=Trust.OWNER_CONFIRMED)]
    assert merge("Lives in Berlin", "other", known) == Merge(doubt=DOUBT)


def test_what_is_pinned_is_not_closed() -> None:
    assert merge("Lives in Berlin", "other", [fact(1, "Lives in Lisbon", pinned=True)]) == Merge(doubt=DOUBT)


def test_nothing_is_closed_if_one_of_several_cannot_be() -> None:
    known = [fact(1, "Lives in Lisbon"), fact(2, "Lives in Porto", trust=Trust.OWNER_CONFIRMED)]
    assert merge("Lives in Berlin", "other", known) == Merge(doubt=DOUBT)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Plays tennis on Mondays", "Plays tennis on Tuesdays"),
        ("Has a meeting with Anna at noon", "Has no more meetings with Anna"),
        ("Works at Acme", "Is employed by Initech"),
    ],
)
def test_what_it_replaces_is_closed_if_both_speak_of_the_same(known: str, new: str) -> None:
    assert merge(new, "other", [fact(1, known)], replaces=ONE) == CLOSED


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Likes figs", "Plays chess"),
        ("Wants a pet", "Got a cat"),
        ("Lives in Lisbon", "Works at Acme"),
        ("Plays the violin", "Plays chess"),
        ("Anna plays tennis on Mondays", "Plays tennis on Tuesdays"),
    ],
)
def test_what_would_replace_a_fact_that_speaks_of_something_else_waits(known: str, new: str) -> None:
    """Whatever a model was talked into, it closes nothing that the rules cannot tie to the new statement."""
    assert merge(new, "other", [fact(1, known)], replaces=ONE) == Merge(doubt=UNLIKE)


def test_it_replaces_only_what_is_known() -> None:
    assert merge("Got a cat", "other", [fact(1, "Wants a pet")], replaces=UUID(int=9)) == BESIDE


def test_what_waits_for_a_review_is_not_closed_and_gets_sources() -> None:
    waiting = fact(1, "Lives in Lisbon", state=FactState.REVIEW)
    assert merge("Lives in Berlin", "other", [waiting]) == BESIDE
    assert merge("Lives in Lisbon", "other", [waiting]) == SAME


@pytest.mark.parametrize(
    ("doubt", "known", "becomes"),
    [
        (DOUBT, fact(1, "Lives in Lisbon", trust=Trust.OWNER_CONFIRMED), Merge(doubt=DOUBT)),
        (DOUBT, fact(1, "Lives in Lisbon", pinned=True), Merge(doubt=DOUBT)),
        ("says more than was said", fact(1, "Lives in Lisbon", pinned=True), Merge(doubt=DOUBT)),
        (DOUBT, fact(1, "Lives in Lisbon"), CLOSED),
        (DOUBT, fact(1, "Lives in Lisbon", pinned=True, state=FactState.CLOSED), BESIDE),
        (DOUBT, fact(1, "Plays chess", pinned=True), BESIDE),
        (NAMED, fact(1, "Plays chess"), Merge(doubt=NAMED)),
        (UNLIKE, fact(1, "Plays chess"), Merge(doubt=UNLIKE)),
        (DOUBT, fact(1, "Lives in Faro"), SAME),
    ],
)
def test_what_waits_and_is_said_again_is_compared_with_what_is_believed(
    doubt: str, known: Fact, becomes: Merge
) -> None:
    waiting = replace(fact(2, "Lives in Faro", state=FactState.REVIEW), doubt=doubt)
    assert said_again(waiting, [waiting, known]) == becomes


def test_what_would_replace_the_owner_s_word_waits() -> None:
    known = [fact(1, "Wants a pet", trust=Trust.OWNER_CONFIRMED)]
    assert merge("Got a cat", "other", known, replaces=ONE) == Merge(doubt=NAMED)


def test_instructions_and_other_facts_do_not_meet() -> None:
    assert merge("Never use emojis", "instruction", [fact(1, "Never use emojis", category="habit")]) == BESIDE
