"""Where a denial, a wish, a question and a person end, and another statement begins."""

from __future__ import annotations

import pytest
from tests.rules.facts.said import judged

from anaphora.rules.facts.gate import Outcome


@pytest.mark.parametrize(
    ("content", "quote", "said"),
    [
        ("Half of Alice's in-laws are from Aarhus.", "half my in-laws are from Aarhus", "I wish I spoke Danish, {}"),
        ("Alice's longest ride was 217 km.", "longest ride was 217 km", "I want to do 300 in April, {}"),
        ("Alice gets heartburn from tomatoes.", "tomatoes give me heartburn", "skip the shakshuka, {}"),
    ],
)
def test_a_statement_with_a_verb_of_its_own_is_not_wished_or_denied_by_the_one_before(
    content: str, quote: str, said: str
) -> None:
    result = judged(content, quote, said.format(quote))
    assert result.outcome is Outcome.ACCEPT, result.reason


def test_what_was_wished_reaches_over_the_items_of_a_list() -> None:
    assert judged("Alice has a boat.", "I wish I had a car, a boat and a plane").outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said", "outcome"),
    [
        ("Alice flies to Fukuoka.", "I fly to a city in Japan. Not Osaka, Fukuoka.", Outcome.ACCEPT),
        ("Alice flies to Osaka.", "I fly to a city in Japan. Not Osaka, Fukuoka.", Outcome.REJECT),
        ("Alice chose Lund.", "I'm going with Groningen, not Lund, cheaper and closer", Outcome.REJECT),
    ],
)
def test_what_is_put_in_the_place_of_something_denied_is_meant(content: str, said: str, outcome: Outcome) -> None:
    assert judged(content, said).outcome is outcome


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice is able to read music.", "I'm unable to read music"),
        ("Alice has decided to have children.", "We decided against having children"),
        ("Alice hates the job.", "It isn't that I hate the job, I can't live on it"),
        ("Alice eats a lot of meat.", "I abstain from meat"),
        ("Alice ist Kaffeetrinkerin und trinkt Kaffee.", "Kaffee trink ich übrigens keinen mehr, nur noch Tee"),
    ],
)
def test_a_denial_in_other_words_denies(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice is afraid of horses.", "As a girl I was afraid of horses"),
        ("Alice talks to her brother over FaceTime.", "I miss FaceTime with my brother"),
        ("Alice has been to Japan.", "I'm dying to go to Japan"),
        ("Alice is 50.", "I feel like I'm 50"),
        ("Alice works at the bank.", "I left the bank last spring"),
    ],
)
def test_what_was_once_or_is_longed_for_is_not_so(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice prefers trains to planes.", "I'd take trains over planes any day"),
        ("Alice would rather write than call.", "I'd much rather write than call"),
        ("Alice has been learning the lute for 8 months.", "been learning the lute for like 8 months??"),
        ("Alice was a cook for nine years before she drove a bus.", "I was a cook for nine years, now I drive a bus"),
    ],
)
def test_a_preference_an_aside_and_what_is_told_as_past_are_facts(content: str, said: str) -> None:
    result = judged(content, said)
    assert result.outcome is Outcome.ACCEPT, result.reason


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice sings alto and drives a van.", "I sing alto, drive a van"),
        ("Alice now takes 50 mg of metoprolol.", "they upped the metoprolol to 50 mg"),
        ("Alice's thesis is about how fast bogs recover.", "my thesis is on bogs and how fast they recover"),
        (
            "Alice is travelling to Porto with her wife and twins in May.",
            "flying to Porto with my wife and twins, in May",
        ),
    ],
)
def test_a_verb_things_and_offices_are_nobody_else(content: str, said: str) -> None:
    result = judged(content, said)
    assert result.outcome is Outcome.ACCEPT, result.reason


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice hates their neighbours.", "my neighbours hate me"),
        ("Alice's mother is a dentist.", "my mother-in-law is a dentist"),
        ("Alice has a cat named Luna.", "my roommate's cat Luna is cute"),
        ("Alice is the manager.", "I work under a manager"),
        ("L'utilisatrice a trouvé un médecin.", "mon mari en a trouvé un, moi je cherche un médecin"),
        ("L'utente comincia il liceo.", "mia figlia Ginevra comincia il liceo"),
    ],
)
def test_what_others_are_and_do_is_not_told_of_the_owner(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT
