"""What the wording of a message tells."""

from __future__ import annotations

import time

import pytest
from tests.rules.topics.saying import SCALE

from anaphora.domain.topics import OpenTopic, Traits
from anaphora.rules.topics import score
from anaphora.rules.topics.cues import goes_back, telling, traits
from anaphora.rules.topics.views import closeness, cohesion, spreads


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Where is the nearest station?", {"asks"}),
        ("how hot is it going to be", {"asks", "points_back"}),
        ("Do you have any pets?", {"asks", "about_you"}),
        ("Hast du Haustiere?", {"asks", "about_you"}),
        ("I need a taxi", {"requests", "about_me"}),
        ("Ich brauche ein Taxi", {"requests", "about_me"}),
        ("Yes, that one", {"replies", "points_back"}),
        ("Ja, genau", {"replies"}),
        ("Thank you, bye", {"closes"}),
        ("Vielen Dank", {"closes"}),
        ("Is there anything else I can help you with?", {"asks", "offers", "points_back", "about_you"}),
        ("Kann ich sonst noch helfen?", {"asks", "offers"}),
        ("By the way, trains run late", {"turns"}),
        ("Übrigens fahren Züge spät", {"turns"}),
        ("Trains run late", set()),
        ("列车晚点了吗？", {"asks"}),
        ("", set()),
    ],
)
def test_cues_are_seen_in_english_and_german(text: str, told: set[str]) -> None:
    seen = traits(text)
    flags = {name for name in Traits.__dataclass_fields__ if getattr(seen, name) is True}
    assert flags - {"about_you"} == told - {"about_you"}
    assert ("about_you" in told) <= seen.asks


@pytest.mark.parametrize(
    ("text", "back"),
    [
        ("Going back to neural networks, what did I ask?", True),
        ("let's return to the contract", True),
        ("Zurück zum Vertrag", True),
        ("I go back home", False),
        ("Neural networks, please", False),
    ],
)
def test_a_return_says_so(text: str, back: bool) -> None:
    assert goes_back(text) is back


def test_telling_words_leave_out_what_every_conversation_has() -> None:
    assert telling("Thanks! Do you like trains?") == telling("the train")
    assert telling("ok, thanks, that is great") == frozenset()
    assert telling("面包店") == {"面包", "包店"}


@pytest.mark.parametrize("piece", ["a", "word ", "going back to ", "?", "包", "̈", "that's "])
def test_a_text_of_a_megabyte_is_read_in_no_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    traits(text)
    goes_back(text)
    assert time.process_time() - started < 1


def test_every_piece_of_evidence_has_a_weight() -> None:
    vector = (1.0, 0.0)
    opened = OpenTopic(messages=1, recent=(vector,))
    words = cohesion(opened, traits("Do you?"))
    both = words | closeness(opened, vector, SCALE)
    assert len(score.weighed(words)) == len(words)
    assert len(score.weighed(both)) == len(words) + 2


def test_a_cosine_that_is_no_number_tells_nothing() -> None:
    one = (1.0, 0.0)
    assert spreads(one, (float("nan"), 0.0), SCALE) == 0
    assert spreads(one, (SCALE.mean, 0.0), SCALE) == 0
    assert [spreads(one, (cosine, 0.0), SCALE) for cosine in (40.0, -40.0)] == [5, -5]


def test_a_cue_in_many_words_weighs_less() -> None:
    few, many = traits("By the way, trains"), traits("By the way, trains " + "run late today " * 20)
    assert few.turns
    assert many.turns
    assert 0 < cohesion(OpenTopic(), many)["turns"] < cohesion(OpenTopic(), few)["turns"]
