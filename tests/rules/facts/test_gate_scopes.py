"""What holds of one statement in a message does not hold of the others beside it."""

from __future__ import annotations

import pytest
from tests.rules.facts.said import judged

from anaphora.rules.facts.gate import Outcome


@pytest.mark.parametrize(
    ("content", "quote", "said"),
    [
        (
            "Alice eats at least 110 grams of protein.",
            "at least 110 g of protein",
            "I eat 2,100 kcal instead of 1,800 and at least 110 g of protein",
        ),
        ("Alice's charts must not rely on red.", "never use red in my charts", "never use red in my charts"),
        ("Alice has not signed anything yet.", "I haven't signed anything yet", "I haven't signed anything yet"),
        ("Alice's goal is 75 points.", "I'm aiming for 75 points", "I'm aiming for 75 points"),
        ("Alice must not drive for six weeks.", "No driving for six weeks", "No driving for six weeks for me"),
        ("Alice rejected the bid of 2,350.", "I told them no", "The bid is 2,350, I told them no"),
    ],
)
def test_a_denial_or_a_wish_reaches_no_further_than_its_own_words(content: str, quote: str, said: str) -> None:
    result = judged(content, quote, said)
    assert result.outcome is Outcome.ACCEPT, result.reason


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Alice is quitting the bank.", "If I ever win the lottery I'm buying a lighthouse, quitting the bank"),
        ("Alice has no coverage gate.", "Our coverage gate is new, before that we had none"),
        ("Alice has applied to the fire service.", "Thinking about applying to the fire service next spring"),
        ("Alice takes Rex on long walks.", "Rex is worse, so we're stopping the long walks"),
        ("Alice passed the exam.", "Last year I failed the exam"),
    ],
)
def test_what_would_be_was_or_is_planned_is_not_so(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "quote", "said"),
    [
        (
            "Alice's hearing is on 4 June.",
            "moved from 4 June to 27 June",
            "My hearing got moved from 4 June to 27 June",
        ),
        ("Alice's budget is 18,500.", "budget was 18,500 at first", "Our budget was 18,500 at first, now it's 22,000"),
        ("Alice's rent is 1,500.", "rent is 1,350 instead of 1,500", "My rent is 1,350 instead of 1,500"),
        ("Alice spent two nights there.", "four nights instead of two", "I spent four nights instead of two there"),
    ],
)
def test_a_value_in_whose_place_another_was_put_holds_no_more(content: str, quote: str, said: str) -> None:
    assert judged(content, quote, said).outcome is not Outcome.ACCEPT


def test_a_change_may_be_told_with_both_values() -> None:
    said = "My hearing got moved from 4 June to 27 June"
    assert judged("Alice's hearing was moved from 4 June to 27 June.", said).outcome is Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "Alice's venue takes 7,200.",
            "Catering takes 7,200 of it and the venue, Fernhill Barn, 4,900. That's my wedding",
        ),
        ("Alice's cholesterol is 5.", "My cholesterol was 6.2 and the doc wants it under 5"),
        ("Alice stayed five nights in Naples.", "We had two nights in Naples, then took the ferry to Ischia for five"),
    ],
)
def test_a_value_stays_with_what_it_was_said_of(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Ms. Reed is Alice's landlady.", "our lawyer, Ms. Reed, wants the receipts that the landlord has"),
        ("Alice has moved to Leeds.", "our drummer moved to Leeds"),
        ("Alice works at the marine institute.", "We moved for Simone's job at the marine institute"),
        ("Alice thinks yoga is a waste of money.", "My sister Carys thinks it's a waste of money, my yoga"),
        ("Freya is dyslexic.", "my daughter Freya is 12. Her brother Angus, 9, is dyslexic"),
        ("Alice has a garage.", "I'm getting my bikes out of my sister's garage"),
        ("Dr Osei swims on Saturdays.", "my GP is Dr Osei. What helps is the cold swim on Saturdays"),
    ],
)
def test_what_is_said_of_one_person_is_not_told_of_another(content: str, said: str) -> None:
    assert judged(content, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Dr Osei is Alice's doctor.", "my GP, Dr Osei, put me on pills"),
        ("Prof. Lind supervises Alice's thesis.", "My thesis is nearly done, supervisor is Prof. Lind"),
        ("Alice's budget is 120 euros a week.", "Budget is 120 euros a week for me"),
    ],
)
def test_a_person_is_known_by_name_and_by_role(content: str, said: str) -> None:
    result = judged(content, said)
    assert result.outcome is Outcome.ACCEPT, result.reason


def test_a_reason_must_have_been_said() -> None:
    said = "I pay the maximum into my pension at work"
    assert judged("Alice pays the maximum into her pension.", said).outcome is Outcome.ACCEPT
    invented = "Alice pays the maximum into her pension in order to travel sooner."
    assert judged(invented, said).outcome is not Outcome.ACCEPT


def test_no_to_one_question_denies_nothing_that_was_said_beside_it() -> None:
    turns = ("assistant: Rent would be half of your pay. Do you own a car?", "No car. I pay 60 for therapy")
    assert judged("Alice pays 60 for therapy.", "I pay 60 for therapy", *turns, seq=1).outcome is Outcome.ACCEPT
    assert judged("Alice owns a car.", "No car", *turns, seq=1).outcome is not Outcome.ACCEPT
