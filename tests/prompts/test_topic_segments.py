"""One answer about the topics of a stretch: what is asked, and how much of an answer is believed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from anaphora.domain.messages import Message, Role, Trust
from anaphora.errors import ModelOutputInvalid
from anaphora.ports.topics import SegmentsRequest
from anaphora.prompts.topic_segments import build, parse


def message(seq: int, text: str = "something was said") -> Message:
    return Message(
        id=UUID(int=seq),
        seq=seq,
        turn=seq,
        role=Role.USER,
        content=text,
        tokens=4,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        trust=Trust.OWNER_SAID,
    )


def request(*, ends: bool = False) -> SegmentsRequest:
    messages = tuple(message(seq) for seq in range(3, 20))
    return SegmentsRequest(messages=messages, certain=(9,), doubtful=(5, 12), least=2, ends=ends, max_tokens=60)


def answer(*topics: tuple[int, str]) -> str:
    return json.dumps({"topics": [{"first": first, "name": "N", "summary": said} for first, said in topics]})


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (answer((3, "a"), (5, "b"), (9, "c"), (12, "d")), [(3, "A"), (5, "B"), (9, "C"), (12, "D")]),
        (answer((9, "c"), (3, "a")), [(3, "A"), (9, "C")]),
        (answer((3, "a")), [(3, "A"), (9, "")]),
        (answer((3, "a"), (7, "nobody may begin there"), (9, "c")), [(3, "A"), (9, "C")]),
        (answer((-4, "x"), (99, "y")), [(3, ""), (9, "")]),
        (answer((3, "The user discussed pears."), (9, "c")), [(3, "Pears."), (9, "C")]),
    ],
    ids=["all", "not in order", "a certain one is missing", "where none may begin", "out of range", "with a preamble"],
)
def test_topics_begin_only_where_they_may_and_everywhere_where_they_must(
    said: str, found: list[tuple[int, str]]
) -> None:
    assert [(first, summary) for first, _, summary in parse(said, request())] == found


@pytest.mark.parametrize("said", ["", "{}", '{"topics": []}', '{"topics": [{"first": "3"}]}', "the topics are"])
def test_what_is_no_such_answer_is_refused(said: str) -> None:
    with pytest.raises(ModelOutputInvalid):
        parse(said, request())


def test_the_prompt_names_where_topics_begin_and_may_begin_and_says_nothing_of_the_messages_as_system() -> None:
    system, user = build(request(), input_tokens=2000, count=len)
    assert user.content.splitlines()[:2] == ["A TOPIC BEGINS AT: 9", "A TOPIC MAY BEGIN AT: 5, 12"]
    assert "something was said" not in system.content
    assert "The last topic goes on" in system.content
    assert "The last topic goes on" not in build(request(ends=True), input_tokens=2000, count=len)[0].content


def test_what_was_said_of_a_topic_that_begins_too_early_is_said_of_the_one_before_it() -> None:
    early = replace(request(), doubtful=(4, 5, 12))
    said = answer((3, "a"), (4, "b"), (5, "c"), (9, "d"), (12, "e"))
    found = [(first, summary) for first, _, summary in parse(said, early)]
    assert found == [(3, "A B"), (5, "C"), (9, "D"), (12, "E")]
