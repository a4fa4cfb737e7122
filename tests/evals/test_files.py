"""Files become questions with evidence, and what cannot be measured is told."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.evals.conversations import asked, locomo, neutral, written

from anaphora.domain.messages import Role
from anaphora.evals import locomo as locomo_file
from anaphora.evals import neutral as neutral_file
from anaphora.evals.cases import Place
from anaphora.services.importing.values import BadFile
from anaphora.services.importing.values import Place as Where

NOWHERE = Where("file.json")


def evidence_of(path: Path, *rows: str) -> list[frozenset[Place]]:
    """The evidence of one question with these rows, if it is asked at all."""
    file = written(path / "locomo.json", locomo(qa=[asked("?", 1, *rows), asked("Always asked?", 4, "D1:1")]))
    return [question.evidence for question in locomo_file.cases(Path(file))[0].questions][:-1]


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        (["D1:1"], [("session_1", 0)]),
        (["D1:01"], [("session_1", 0)]),
        (["D02:2"], [("session_2", 1)]),
        (["D:1:3"], [("session_1", 2)]),
        (["D1:2; D2:1"], [("session_1", 1), ("session_2", 0)]),
        (["D1:2 D2:1", "D1:3"], [("session_1", 1), ("session_2", 0), ("session_1", 2)]),
        (["D1:1", "D9:9", "D"], [("session_1", 0)]),
    ],
)
def test_every_id_in_a_row_of_evidence_counts(tmp_path: Path, rows: list[str], places: list[Place]) -> None:
    assert evidence_of(tmp_path, *rows) == [frozenset(places)]


@pytest.mark.parametrize("rows", [[], ["D"], ["D9:1"], ["D1:30"]])
def test_a_question_whose_evidence_names_no_message_is_left_out(tmp_path: Path, rows: list[str]) -> None:
    assert evidence_of(tmp_path, *rows) == []


def test_what_was_never_said_is_not_asked_for(tmp_path: Path) -> None:
    questions = [asked(f"Of category {number}?", number, "D1:1") for number in range(1, 7)]
    [case] = locomo_file.cases(Path(written(tmp_path / "locomo.json", locomo(qa=questions))))
    assert [question.category for question in case.questions] == ["1", "2", "3", "4"]


def test_sessions_of_the_neutral_format_may_take_turns(tmp_path: Path) -> None:
    [case] = neutral_file.cases(Path(written(tmp_path / "recall.json", neutral())))
    assert [place for place, _ in case.texts()] == [("spring", 0), ("spring", 1), ("autumn", 0), ("autumn", 1)]
    assert [question.evidence for question in case.questions] == [{("spring", 0)}, {("autumn", 1)}]
    assert [question.category for question in case.questions] == ["facts", "costs"]


def test_messages_keep_their_role_and_their_id(tmp_path: Path) -> None:
    [case] = neutral_file.cases(Path(written(tmp_path / "recall.json", neutral())))
    said = {message.metadata["eval_id"]: message.role for session in case.sessions for message in session.messages}
    assert said == {"m1": Role.USER, "m2": Role.USER, "m3": Role.ASSISTANT, "m4": Role.ASSISTANT}


def test_a_message_without_a_time_has_that_of_the_one_before_it_in_its_session(tmp_path: Path) -> None:
    [case] = neutral_file.cases(Path(written(tmp_path / "recall.json", neutral())))
    times = [message.created_at for session in case.sessions for message in session.messages]
    spring, autumn = datetime(2024, 3, 15, tzinfo=UTC), datetime(2024, 10, 1, 8, tzinfo=UTC)
    assert times == [spring, spring, autumn, autumn]


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("March-15-2024", datetime(2024, 3, 15, tzinfo=UTC)),
        ("may 5, 2024", datetime(2024, 5, 5, tzinfo=UTC)),
        ("2024-05-05T10:00:00+02:00", datetime(2024, 5, 5, 8, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        ("February-30-2024", None),
        ("Smarch-1-2024", None),
        ("yesterday", None),
        (None, None),
        ({}, None),
    ],
)
def test_an_unknown_time_is_no_error(value: object, time: datetime | None) -> None:
    assert neutral_file.time_of(value, NOWHERE) == time


def test_the_ids_of_messages_are_unique(tmp_path: Path) -> None:
    twice = neutral()
    twice["messages"][1]["id"] = "m1"
    with pytest.raises(BadFile, match=r"messages\[1\]\.id: 'm1' is the id of an earlier message too"):
        neutral_file.cases(Path(written(tmp_path / "recall.json", twice)))


def test_a_user_stands_in_a_file_once(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="'ann' stands in the file twice"):
        neutral_file.cases(Path(written(tmp_path / "recall.json", neutral(), neutral())))


def test_questions_are_asked_where_nothing_was_said(tmp_path: Path) -> None:
    said = neutral()
    for message in said["messages"]:
        message["session"] = "fresh-1"
    [case] = neutral_file.cases(Path(written(tmp_path / "recall.json", said)))
    assert case.unused_session() == "fresh-2"
