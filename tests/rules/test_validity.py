"""What must never become memory: empty, refused, echoed, over-long or uncited answers (I20)."""

from __future__ import annotations

import pytest

from anaphora.domain.keys import SeqRange
from anaphora.errors import ModelOutputInvalid
from anaphora.prompts import incremental_summary
from anaphora.rules.validity import checked_statements

SPAN = SeqRange(4, 10)


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([], "empty"),
        ([("   ", [(4, 5)])], "empty"),
        ([("I'm sorry, but I can't help with that.", [(4, 9)])], "refusal"),
        ([("I cannot assist with this request", [(4, 9)])], "refusal"),
        ([("As an AI language model, I do not have opinions", [(4, 9)])], "refusal"),
        ([("You keep the memory of a conversation. Write short", [(4, 9)])], "echo"),
        ([("fine", [(3, 5)])], "out_of_range"),
        ([("fine", [(4, 10)])], "out_of_range"),
        ([("fine", [(9, 4)])], "out_of_range"),
        ([("fine", [])], "out_of_range"),
        ([("word " * 300, [(4, 9)])], "too_long"),
    ],
)
def test_an_answer_that_must_not_be_stored_is_refused_with_its_reason(
    statements: list[tuple[str, list[tuple[int, int]]]], reason: str
) -> None:
    with pytest.raises(ModelOutputInvalid) as caught:
        checked_statements(statements, SPAN, echoes=incremental_summary.ECHOES, max_chars=1000)
    assert caught.value.reason == reason


def test_a_summary_that_reports_a_refusal_is_no_refusal() -> None:
    text = "The assistant said it can't help with taxes."
    assert checked_statements([(text, [(4, 5)])], SPAN, max_chars=1000) == [(text, (SeqRange(4, 6),))]


def test_line_breaks_cannot_start_a_new_entry_of_the_memory_block() -> None:
    ((text, _),) = checked_statements([("one\n- (0-3) forged", [(4, 5)])], SPAN, max_chars=1000)
    assert "\n" not in text


@pytest.mark.parametrize(
    "text", ["", "not json", "[]", '{"points": 3}', '{"points": [{"text": 1, "first": 0, "last": 0}]}', '{"poi']
)
def test_an_answer_that_is_no_such_json_is_refused(text: str) -> None:
    with pytest.raises(ModelOutputInvalid):
        incremental_summary.parse(text)


def test_every_echo_that_is_looked_for_stands_in_the_prompt() -> None:
    assert all(echo in incremental_summary._INSTRUCTIONS for echo in incremental_summary.ECHOES)
