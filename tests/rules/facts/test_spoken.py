"""Facts that are stated in plain words, without a model."""

from __future__ import annotations

import pytest
from tests.rules.facts.said import message, talk

from anaphora.domain.messages import Role
from anaphora.rules.facts.spoken import facts_said
from anaphora.rules.facts.spoken_of import facts_said_of


def contents(*turns: str) -> list[str]:
    return [found.content for found in facts_said(talk(*turns))]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I'm allergic to peanuts and shellfish, so please be careful.", ["Allergic to peanuts and shellfish"]),
        ("I have a peanut allergy", ["Has a peanut allergy"]),
        ("I'm vegan.", ["Vegan"]),
        ("I don't eat pork.", ["Doesn't eat pork"]),
        ("My name is Alice Smith and I live in Lisbon.", ["Name is Alice Smith", "Lives in Lisbon"]),
        ("call me Al", ["Call the user Al"]),
        ("I'm 34 years old", ["Is 34 years old"]),
        ("My birthday is March 3rd.", ["Birthday is March 3rd"]),
        ("I moved to Berlin last year.", ["Moved to Berlin last year"]),
        ("I used to live in Rome. I live in Oslo.", ["Lives in Oslo"]),
        ("I work as a nurse at City Hospital.", ["Works as a nurse at City Hospital"]),
        ("I work with steam engines at Acme", ["Works with steam engines at Acme"]),
        ("I work with people all day.", []),
        ("I'm a software engineer at Acme", ["Is a software engineer at Acme"]),
        ("I start at Acme on Monday.", ["Starts at Acme on Monday"]),
        ("My sister Anna loves jazz. My dog is called Rex.", ["Sister's name is Anna", "Dog's name is Rex"]),
        ("I have two cats named Milo and Luna.", ["Has two cats named Milo and Luna"]),
        ("My favourite colour is blue.", ["Favourite colour is blue"]),
        ("I love hiking in the Alps but I hate running.", ["Loves hiking in the Alps", "Hates running"]),
        ("I can't stand cilantro", ["Can't stand cilantro"]),
        ("I prefer tea to coffee.", ["Prefers tea to coffee"]),
        ("I run 5 km every morning before work.", ["Runs 5 km every morning"]),
        ("Every morning I drink two cups of coffee.", ["Drinks two cups of coffee every morning"]),
        ("I'm studying physics at ETH.", ["Studying physics at ETH"]),
        ("Always answer in French.", ["Always answer in French"]),
        ("Please never use emojis.", ["Never use emojis"]),
        ("From now on, keep answers short.", ["From now on, keep answers short"]),
    ],
)
def test_plain_statements_become_facts(said: str, expected: list[str]) -> None:
    assert contents(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Do you think I'm allergic to peanuts?",
        "If I live in Berlin, what taxes do I pay?",
        'My friend said: "I am allergic to nuts and I live in Rome"',
        "Translate: I live in Paris.",
        "I love it!",
        "I like your answer",
        "I'd love a dog",
        "I wish I live in Rome",
        "I'm 5 minutes late",
        "never gonna give you up",
        "> I live in Paris",
        "can you call me a cab",
        "My brother says I work as a clown in his novel",
    ],
)
def test_questions_wishes_quotations_and_talk_do_not(said: str) -> None:
    assert contents(said) == []


def test_what_is_said_twice_is_one_fact_of_the_first_message() -> None:
    found = facts_said(talk("I'm vegan.", "assistant: Noted.", "I'm vegan."))
    assert [(fact.content, fact.seq) for fact in found] == [("Vegan", 0)]


def test_only_the_user_is_listened_to() -> None:
    assert facts_said([message(0, "I live in Lisbon", Role.ASSISTANT), message(1, "I'm vegan", Role.TOOL)]) == ()


def test_a_quote_is_the_part_that_says_it() -> None:
    (found,) = facts_said(talk("so, I live in Lisbon because of the light"))
    assert (found.content, found.quote, found.category) == ("Lives in Lisbon", "I live in Lisbon", "other")


def test_an_allergy_matters_more_than_a_taste() -> None:
    allergy, taste = facts_said(talk("I'm allergic to nuts. I love tea."))
    assert allergy.importance > taste.importance


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Rex is allergic to chicken. He likes beef.", ["Rex is allergic to chicken"]),
        ("My dog Rex loves long walks, and I hate rain.", ["Rex loves long walks"]),
        ("Rex doesn't eat rice but I do.", ["Rex doesn't eat rice"]),
        ("Is Rex allergic to chicken?", []),
        ("If Rex likes beef he may have some.", []),
        ("T-Rex likes meat. Anna likes beef. I like figs.", []),
        ("Rex's vet likes beef.", []),
    ],
)
def test_of_a_subject_is_found_what_is_said_of_it_by_its_name(text: str, found: list[str]) -> None:
    assert [each.content for each in facts_said_of(talk(text), "Rex the dog")] == found
