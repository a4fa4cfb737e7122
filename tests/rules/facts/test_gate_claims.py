"""What a statement must not add: a verb, a calling, a degree, an origin, an illness that nobody spoke of."""

from __future__ import annotations

import pytest
from tests.rules.facts.said import judged

from anaphora.rules.facts.gate import Outcome


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice is planning a trip to Kyoto.", "I'm reading a novel set in Kyoto right now"),
        ("Alice was born and raised in Ljubljana.", "Ljubljana. and celsius please, for the widget"),
        ("Alice has an important event on 2024-03-07.", "write dates like 2024-03-07 when you answer"),
    ],
)
def test_a_name_or_a_date_alone_carries_no_statement(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [("Alice weighs 82 kg.", "I'm at 82 kilos now"), ("Alice's phone is a Pixel 8.", "I have a Pixel 8")],
)
def test_what_is_measured_need_not_be_named(content: str, said: str) -> None:
    result = judged(content, said)
    assert result.outcome is Outcome.ACCEPT, result.reason


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice is writing a novel.", "I'm reading a novel"),
        ("Alice drives to work.", "I take the bus to work"),
        ("Alice started a new job in May.", "I left my job in May"),
        ("Alice's father is alive.", "my dad passed away when I was twelve"),
    ],
)
def test_another_act_with_the_same_thing_is_another_act(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice is a doctor at a hospital in Graz.", "I work in a hospital in Graz"),
        ("Alice suffers from clinical depression.", "I've been feeling a bit low since autumn"),
        ("Alice is an alcoholic.", "I had a few beers last night"),
        ("Alice is from Georgia.", "I like Georgian food"),
        ("Alice never eats breakfast.", "I sometimes skip breakfast"),
        ("Alice teaches Slovak.", "I teach Slovene to adults"),
        ("Alice eats out every day.", "I ate out yesterday"),
        ("Alice works with children.", "I have children"),
    ],
)
def test_no_calling_illness_origin_or_degree_is_made_of_signs(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice's team lost the final.", "we lost the final"),
        ("Alice has no siblings.", "I'm an only child"),
        ("Alice volunteers at an animal shelter.", "I help out at the animal shelter"),
        ("Alice enjoys hiking.", "I go hiking whenever I can"),
        ("Alice commutes by bicycle in all weather.", "I bike to work whatever the weather"),
        ("Alice has lived in Cardiff since university.", "I've called Cardiff home since uni"),
    ],
)
def test_a_rewording_of_ordinary_talk_is_believed(content: str, said: str) -> None:
    result = judged(content, said)
    assert result.outcome is Outcome.ACCEPT, result.reason


@pytest.mark.parametrize(
    ("content", "quote", "said"),
    [
        ("Alice has someone at the door.", "someone's at the door", "brb, someone's at the door"),
        (
            "Alice was a lighthouse keeper.",
            "I was a lighthouse keeper",
            "had the weirdest dream, I was a lighthouse keeper",
        ),
        (
            "Alice has a superpower: burning water.",
            "my superpower is burning water",
            "my superpower is burning water lol",
        ),
    ],
)
def test_a_moment_a_dream_and_a_joke_are_no_facts(content: str, quote: str, said: str) -> None:
    assert judged(content, quote, said).outcome is not Outcome.ACCEPT
