from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anaphora import Memory
from anaphora.demo.script import Script, load, parse
from anaphora.errors import InvalidInput


@pytest.fixture(scope="module")
def script() -> Script:
    return load()


def raw(script: Script) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(script.model_dump_json())
    return data


def test_the_shipped_conversation_has_three_sessions_of_these_lengths(script: Script) -> None:
    lengths = {session.session: len(session.messages) for session in script.sessions}
    assert lengths == {"spring": 412, "summer": 42, "autumn": 32}
    assert (script.message_count, script.turn_count) == (486, 243)


def test_the_sessions_follow_one_another_in_time(script: Script) -> None:
    times = [message.created_at for session in script.sessions for message in session.messages]
    assert times == sorted(times)


def test_sixteen_questions_of_four_kinds_ask_for_the_past(script: Script) -> None:
    assert len(script.questions) == 16
    assert set(script.kinds()) == {"fact", "correction", "far_past", "return"}


@pytest.mark.anyio
async def test_the_words_of_every_question_lead_to_its_message_first(script: Script, tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "m.db", worker=False, durability="normal") as memory:
        for session in script.sessions:
            chat = memory.session(user="mara", session=session.session)
            for turn in session.turns:
                await chat.add_turn([{"role": m.role, "content": m.content} for m in (turn.user, turn.assistant)])
        missed = []
        for question in script.questions:
            [hit] = await memory.search(question.search, user="mara", limit=1)
            if not any((hit.key.session, hit.message.seq) == (e.session, e.seq) for e in question.evidence):
                missed.append(question.search)
    assert missed == []


@pytest.mark.parametrize("turns", [1, 30, 206, 207, 243, 999])
def test_a_cut_keeps_that_many_turns_and_only_questions_that_it_can_answer(script: Script, turns: int) -> None:
    cut = script.cut(turns)
    assert cut.turn_count == min(turns, 243)
    assert parse(cut.model_dump_json()) == cut


def test_a_cut_of_nothing_is_refused(script: Script) -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        script.cut(0)


def swap_speakers(data: dict[str, Any]) -> None:
    data["sessions"][0]["messages"][4]["role"] = "assistant"


def lose_an_answer(data: dict[str, Any]) -> None:
    data["sessions"][1]["messages"].pop()


def go_back_in_time(data: dict[str, Any]) -> None:
    data["sessions"][2]["messages"][3]["created_at"] = "2020-01-01T00:00:00Z"


def point_at_nothing(data: dict[str, Any]) -> None:
    data["questions"][0]["evidence"][0]["seq"] = 412


def name_twice(data: dict[str, Any]) -> None:
    data["sessions"][1]["session"] = "spring"


def say_nothing(data: dict[str, Any]) -> None:
    data["sessions"][0]["messages"][0]["content"] = ""


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (swap_speakers, "message 4 of spring is not by the user"),
        (lose_an_answer, "the last question of summer has no answer"),
        (go_back_in_time, "the times of autumn go back"),
        (point_at_nothing, "points at a message that is not there"),
        (name_twice, "two sessions have one name"),
        (say_nothing, r"sessions\.0\.messages\.0\.content"),
    ],
)
def test_a_broken_script_is_refused_in_one_line(
    script: Script, spoil: Callable[[dict[str, Any]], None], complaint: str
) -> None:
    data = raw(script)
    spoil(data)
    with pytest.raises(InvalidInput, match=complaint) as caught:
        parse(json.dumps(data))
    assert "\n" not in str(caught.value)
