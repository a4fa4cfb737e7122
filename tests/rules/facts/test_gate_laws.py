"""Laws of the gate for any text at all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.facts.said import candidate, message, talk

from anaphora.rules.facts.gate import Outcome, judge
from anaphora.rules.facts.spoken import facts_said
from anaphora.rules.language.stems import plain

PIECES = (
    "I my not never if used to live in Lisbon , . ? ! \" ' > : said brother who and but Anna 12 love 我 不 é ``` <a> "
    "[x] 3rd"
)
WORDS = st.sampled_from([*PIECES.split(), "\n"])
TEXT = st.one_of(st.text(max_size=120), st.lists(WORDS, max_size=40).map(" ".join))


@settings(max_examples=150, deadline=None)
@given(content=TEXT.filter(str.strip), quote=TEXT, said=TEXT, before=TEXT, speaker=st.none() | TEXT)
def test_every_text_gets_one_answer(content: str, quote: str, said: str, before: str, speaker: str | None) -> None:
    messages = talk(f"assistant: {before}", f"user: {said}")
    fact = candidate(content[:500], quote, 1)
    first = judge(fact, messages, speaker=speaker)
    assert judge(fact, messages, speaker=speaker) == first
    if first.outcome is Outcome.ACCEPT:
        assert first.quote in said
        assert 1 in first.span


@settings(max_examples=100, deadline=None)
@given(content=TEXT.filter(str.strip), quote=TEXT.filter(str.strip), said=TEXT)
def test_a_quote_that_is_not_there_is_never_accepted(content: str, quote: str, said: str) -> None:
    present = " ".join(plain(quote).casefold().split()) in " ".join(plain(said).casefold().split())
    outcome = judge(candidate(content[:500], quote), [message(0, said)], speaker=None).outcome
    assert present or outcome is not Outcome.ACCEPT


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT, max_size=4))
def test_what_is_found_without_a_model_passes_the_gate(texts: list[str]) -> None:
    messages = [message(seq, text) for seq, text in enumerate(texts)]
    for found in facts_said(messages):
        assert judge(found, messages, speaker=None).outcome is Outcome.ACCEPT


@pytest.mark.parametrize(
    "unit", ["a", "I like tea, ", "'a ", "to ", "<a ", "a\n", "9", "1 ", "不喜欢", "if I am not ", "my ", "e\u0301"]
)
def test_a_long_message_takes_no_longer_than_its_length(unit: str) -> None:
    def seconds(size: int) -> float:
        said = [message(0, unit * (size // len(unit)) + " I live in Lisbon.")]
        began = time.process_time()
        judge(candidate("Lives in Lisbon", "I live in Lisbon"), said, speaker=None)
        facts_said(said)
        return time.process_time() - began

    # four times the text: with a square it would be sixteen times the time
    assert seconds(100_000) < 8 * seconds(25_000) + 0.5
