"""LoCoMo with its questions: `qa` names the turns that answer each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from anaphora.evals.cases import Case, Place, Question, checked
from anaphora.services.importing import locomo
from anaphora.services.importing.records import records
from anaphora.services.importing.values import Place as Where
from anaphora.services.importing.values import Record, array, mapping, text

#: multi-hop, temporal, open-domain, single-hop; 5 asks for what was never said, and nothing can be found for it
CATEGORIES: Final = (1, 2, 3, 4)

#: session and turn; some rows have zeros in front, another colon, or several ids in one text
_TURN = re.compile(r"D:?\s*(\d{1,9})\s*:\s*(\d{1,9})", re.ASCII)

Turn = tuple[int, int]


def cases(path: Path) -> list[Case]:
    """The samples of a file. Questions of category 5 are left out, and those whose evidence names no turn.

    Raises:
        BadFile: the file cannot be read, is not LoCoMo, or has no question to ask.

    """
    return checked(path, map(_case, records(path)))


def turns(text: str) -> list[Turn]:
    """Session and turn of every id in a text: `D8:6; D9:17` is two of them, `D1:01` is `D1:1`."""
    return [(int(session), int(turn)) for session, turn in _TURN.findall(text)]


def _case(record: Record) -> Case:
    if not locomo.recognises(record.value):
        raise record.place.bad("expected a sample of LoCoMo: an object with `conversation` and `qa`")
    sample = mapping(record.value, record.place, "a sample")
    sessions = tuple(locomo.conversations([record]))
    places: dict[Turn, Place] = {}
    for session in sessions:
        for seq, message in enumerate(session.messages):
            for turn in turns(str(message.metadata.get("dia_id", ""))):
                places.setdefault(turn, (session.session, seq))
    where = record.place.child("qa")
    asked = array(sample.get("qa", []), where, "questions")
    return Case(
        user=str(sample["sample_id"]),
        sessions=sessions,
        questions=tuple(_questions(asked, where, places)),
        where=record.place.where,
    )


def _questions(asked: list[object], place: Where, places: Mapping[Turn, Place]) -> Iterator[Question]:
    for number, value in enumerate(asked):
        where = place.child(number)
        entry = mapping(value, where, "a question")
        if entry.get("category") not in CATEGORIES:
            continue
        rows = entry.get("evidence") or []
        given = [rows] if isinstance(rows, str) else array(rows, where.child("evidence"), "evidence")
        named = [turn for row in given for turn in turns(text(row, where.child("evidence"), "evidence"))]
        evidence = frozenset(places[turn] for turn in named if turn in places)
        if evidence:
            asks = text(entry.get("question"), where.child("question"), "question")
            yield Question(text=asks, category=str(entry["category"]), evidence=evidence)
