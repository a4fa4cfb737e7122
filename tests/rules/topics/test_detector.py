"""When a topic ends: what must hold whatever is said."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rules.topics.saying import BREAD, HAMBURG, SCALE, TRAIN, assistant, followed, topic, towards, user

from anaphora.domain.messages import Role
from anaphora.domain.topics import ClosedTopic, OpenTopic, Stage, Utterance
from anaphora.rules.language.stems import split
from anaphora.rules.topics.cues import telling
from anaphora.rules.topics.detector import MAX_CLOSED, Limits, Track, close, follow, judge

WORDS = split(
    "sourdough flour oven train Hamburg ticket guitar chords yes no thanks it that what do you like I need anything "
    "else by the way going back to earlier ? . ! übrigens 那么 面包"
)
TEXTS = st.one_of(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), st.text(max_size=40))
VECTORS = st.one_of(st.none(), st.sampled_from([towards(subject) for subject in range(4)]))
SAID = st.builds(Utterance, role=st.sampled_from(Role), text=TEXTS, vector=VECTORS)


@given(said=st.lists(SAID, max_size=30), cut=st.integers(0, 30))
def test_what_is_said_later_changes_no_verdict(said: list[Utterance], cut: int) -> None:
    assert followed(*said[:cut])[1] == followed(*said)[1][:cut]


@given(said=st.lists(SAID, max_size=30))
def test_a_topic_has_at_least_three_messages_before_the_next(said: list[Utterance]) -> None:
    _, verdicts = followed(*said)
    starts = [0, *(place for place, verdict in enumerate(verdicts) if verdict.shifts)]
    assert all(later - earlier >= 3 for earlier, later in pairwise(starts))


@given(said=st.lists(SAID, max_size=30))
def test_only_what_a_user_says_opens_a_topic_and_nobody_is_asked(said: list[Utterance]) -> None:
    _, verdicts = followed(*said)
    assert {message.role for message, verdict in zip(said, verdicts, strict=True) if verdict.shifts} <= {Role.USER}
    assert Stage.DOUBT not in {verdict.stage for verdict in verdicts}
    assert all(0 <= verdict.sameness <= 1 for verdict in verdicts)


@given(said=st.lists(SAID, min_size=1, max_size=30))
def test_a_topic_can_be_followed_from_its_first_message_on(said: list[Utterance]) -> None:
    track, verdicts = followed(*said)
    start = max((place for place, verdict in enumerate(verdicts) if verdict.shifts), default=0)
    assert track.open == topic(*said[start:])


@given(rounds=st.integers(1, 40))
def test_what_is_kept_does_not_grow_with_the_session(rounds: int) -> None:
    track, verdicts = followed(*(BREAD + HAMBURG) * rounds)
    assert sum(verdict.shifts for verdict in verdicts) >= rounds
    assert len(track.closed) <= MAX_CLOSED
    assert len(track.open.recent) <= 4
    assert track.open.messages <= 8


def test_the_message_that_shifts_opens_the_next_topic() -> None:
    track, verdicts = followed(*BREAD, TRAIN)
    assert verdicts[-1].stage is Stage.SHIFT
    assert track.open == topic(TRAIN)
    assert [closed.id for closed in track.closed] == ["0"]


def test_a_question_that_stays_with_the_matter_opens_nothing() -> None:
    _, verdicts = followed(*BREAD, user("Can I keep the sourdough in the fridge?"))
    assert not any(verdict.shifts for verdict in verdicts)


def test_quick_questions_are_one_topic() -> None:
    said = (user("What is the best ice cream?", towards(0)), assistant("Pistachio.", towards(0)))
    verdict = judge(
        topic(*said), user("By the way, another question: I need a train to Hamburg.", towards(1)), scale=SCALE
    )
    assert verdict.stage is Stage.SAME
    assert verdict.sameness <= Limits().alone


def test_a_vector_from_elsewhere_speaks_for_a_shift_and_one_from_here_against_it() -> None:
    bread = topic(*(replace(message, vector=towards(0)) for message in BREAD))
    text = "What about the other kind of thing in the kitchen?"
    here, elsewhere, unknown = (
        judge(bread, user(text, vector), scale=SCALE) for vector in (towards(0), towards(1), None)
    )
    assert elsewhere.sameness < unknown.sameness < here.sameness


def test_vectors_of_another_length_are_never_compared() -> None:
    bread = topic(*(replace(message, vector=towards(0)) for message in BREAD))
    assert judge(bread, user("And then?", (1.0, 0.0)), scale=SCALE) == judge(bread, user("And then?"))


def test_a_model_is_asked_where_there_is_doubt_and_only_there() -> None:
    bread = topic(*BREAD)
    assert judge(bread, TRAIN, model=True).stage is Stage.DOUBT
    assert judge(bread, TRAIN).stage is Stage.SHIFT
    unclear = judge(bread, user("What is the best way to learn the guitar?"))
    assert Limits().alone < unclear.sameness <= Limits().doubt
    assert unclear.stage is Stage.SAME
    assert judge(bread, user("What is the best way to learn the guitar?"), model=True).stage is Stage.DOUBT
    assert judge(bread, user("How long does the sourdough need in the oven?"), model=True).stage is Stage.SAME


def test_a_topic_ends_when_it_has_as_many_characters_as_one_may() -> None:
    long = topic(user("dough " * 2_000), assistant("flour " * 2_166), user("1234"))
    assert long.characters == 25_000
    assert judge(long, user("And the flour?"), model=True).stage is Stage.FULL
    assert judge(replace(long, characters=24_999), user("And the flour?")).stage is Stage.SAME


def test_a_single_endless_message_is_a_topic_of_its_own() -> None:
    assert judge(topic(user("dough " * 5_000)), user("And the flour?")).shifts


@pytest.mark.parametrize(
    "text",
    [
        "Going back to the sourdough, how long does it keep?",
        "Back to the sourdough: how long does it keep?",
        "What did you say about the flour earlier?",
        "Noch mal zum Sourdough: how long does it keep?",
    ],
)
def test_going_back_to_something_names_the_topic_that_it_continues(text: str) -> None:
    track, verdicts = followed(*BREAD, *HAMBURG, user(text))
    assert (verdicts[-1].stage, verdicts[-1].continues) == (Stage.RETURN, "0")
    assert track.open == topic(user(text))


def test_going_back_to_what_is_talked_about_anyway_is_no_return() -> None:
    _, verdicts = followed(*BREAD, *HAMBURG, user("Back to the train: which day was the ticket for?"))
    assert verdicts[-1].stage is Stage.SAME


def test_without_shared_words_the_closest_topic_is_gone_back_to() -> None:
    hamburg = topic(*(replace(message, vector=towards(1)) for message in HAMBURG))
    closed = [
        ClosedTopic(id="bread", words=frozenset({"sourdough"}), vector=towards(0)),
        ClosedTopic(id="music", words=frozenset({"guitar"}), vector=towards(2)),
    ]
    text = "Going back to my loaf, how long does it last?"
    assert judge(hamburg, user(text, towards(0)), closed=closed, scale=SCALE).continues == "bread"
    assert judge(hamburg, user(text, towards(1)), closed=closed, scale=SCALE).continues is None
    assert judge(hamburg, user(text), closed=closed, scale=SCALE).continues is None


def test_of_two_that_fit_as_well_the_later_is_gone_back_to() -> None:
    closed = [ClosedTopic(id=name, words=telling("sourdough flour")) for name in ("spring", "autumn")]
    assert judge(topic(*HAMBURG), user("Back to the sourdough."), closed=closed).continues == "autumn"


def test_what_tools_say_counts_as_a_message_and_tells_nothing() -> None:
    told = Utterance(role=Role.TOOL, text="trains: ICE 571 Hamburg 09:01 Friday", vector=towards(1))
    bread = topic(*BREAD)
    after = topic(*BREAD, told)
    assert (after.messages, after.characters) == (bread.messages + 1, bread.characters + len(told.text))
    assert replace(after, messages=bread.messages, characters=bread.characters) == bread


def test_a_closed_topic_keeps_its_words_and_where_its_vectors_pointed() -> None:
    ended = close(topic(*(replace(message, vector=towards(3)) for message in BREAD)), "bread")
    assert ended.vector == pytest.approx(towards(3))
    assert telling("sourdough") < ended.words
    assert close(OpenTopic(), "nothing").vector == ()


def test_the_reasons_add_up_to_the_sameness_of_a_verdict() -> None:
    one = judge(topic(*BREAD), TRAIN)
    other = judge(topic(*BREAD), user("How long does the sourdough need?"))
    assert one.reasons[0][0] == "turns"
    added = [sum(weight for _, weight in verdict.reasons) for verdict in (one, other)]
    odds = [math.log(1 / verdict.sameness - 1) for verdict in (one, other)]
    assert added[0] - added[1] == pytest.approx(odds[0] - odds[1], abs=0.05)


def test_a_session_starts_with_no_verdict_to_make() -> None:
    track, verdict = follow(Track(), TRAIN)
    assert (verdict.stage, verdict.sameness) == (Stage.SAME, 1.0)
    assert track.open == topic(TRAIN)
