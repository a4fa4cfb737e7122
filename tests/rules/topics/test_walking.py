"""Walks: where topics end does not depend on how messages are dealt out, and doubts are found before they are asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.messages import Role
from anaphora.domain.topics import Utterance
from anaphora.rules.topics.detector import Limits, Track
from anaphora.rules.topics.walking import doubts, settled, unsettled, walk

LIMITS = Limits(least_messages=2, most_characters=400)
SAID = st.lists(
    st.tuples(
        st.sampled_from([Role.USER, Role.ASSISTANT]),
        st.sampled_from(
            [
                "I want to learn about neural networks",
                "How do neural networks learn?",
                "By the way, I need a new bicycle",
                "Which bicycle is good in winter?",
                "Going back to neural networks, how do they learn?",
                "ok",
            ]
        ),
    ),
    max_size=24,
)


def numbered(said: list[tuple[Role, str]]) -> list[tuple[int, Utterance]]:
    return [(seq, Utterance(role=role, text=text)) for seq, (role, text) in enumerate(said)]


@given(said=SAID, at=st.integers(0, 24))
def test_two_walks_end_topics_where_one_does(said: list[tuple[Role, str]], at: int) -> None:
    whole = walk(Track(), numbered(said), settle=None, limits=LIMITS)
    first = walk(Track(), numbered(said)[:at], settle=None, limits=LIMITS)
    second = walk(first.track, numbered(said)[at:], settle=None, limits=LIMITS)
    assert (*first.cuts, *second.cuts) == whole.cuts
    assert second.track == whole.track


@given(said=SAID)
def test_nobody_is_asked_about_what_is_certain(said: list[tuple[Role, str]]) -> None:
    clear = walk(Track(), numbered(said), settle=unsettled, limits=LIMITS)
    found = doubts(Track(), numbered(said), scale=None, limits=LIMITS)
    first = min([clear.waits_at] if clear.waits_at is not None else [], default=None)
    certain = [cut.seq for cut in clear.cuts]
    assert found == () or found[0] == min([*certain, *([] if first is None else [first])])
    assert (not found) == (first is None and not certain)


@given(said=SAID, opens=st.sets(st.integers(0, 24)))
def test_topics_begin_where_the_answer_says_and_where_rules_are_certain(
    said: list[tuple[Role, str]], opens: set[int]
) -> None:
    found = doubts(Track(), numbered(said), scale=None, limits=LIMITS)
    answers = {seq: seq in opens for seq in found}
    walked = walk(Track(), numbered(said), settle=settled(answers, LIMITS), limits=LIMITS)
    assert walked.waits_at is None
    cut = {each.seq for each in walked.cuts if each.why == "shift"}
    assert {seq for seq in cut if seq in answers} <= opens


@given(said=SAID)
def test_without_answers_rules_decide_as_if_nobody_could_be_asked(said: list[tuple[Role, str]]) -> None:
    alone = walk(Track(), numbered(said), settle=None, limits=LIMITS)
    assert walk(Track(), numbered(said), settle=settled({}, LIMITS), limits=LIMITS) == alone
