"""The neutral format of recall: conversations, and questions that name the messages that answer them.

`[{"id", "messages": [{"id", "session", "role", "content", "time"}], "questions": [{"type", "question", "evidence":
[message ids]}]}]`. `name`, `time` and `type` may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from anaphora.domain.messages import NewMessage, Role
from anaphora.errors import InvalidInput
from anaphora.evals.cases import Case, Place, Question, checked
from anaphora.services.importing.records import records
from anaphora.services.importing.values import (
    ImportedConversation,
    Record,
    array,
    choice,
    identifier,
    mapping,
    month_of,
    text,
)
from anaphora.services.importing.values import Place as Where
from anaphora.services.importing.values import message as made
from anaphora.services.importing.values import timestamp as iso_time

SOURCE: Final = "import:recall"
#: the name in a message's metadata of its id in the file
EVAL_ID: Final = "eval_id"
#: of questions that have no type
UNTYPED: Final = "untyped"

_ROLES: Final = {role.value: role for role in Role}
_DATE = re.compile(r"([A-Za-z]+)[-. ]+(\d{1,2})[-., ]+(\d{4})", re.ASCII)


def cases(path: Path) -> list[Case]:
    """The conversations of a file. Questions whose evidence names no message are left out.

    Raises:
        BadFile: the file cannot be read, has another format, or no question to ask.

    """
    return checked(path, map(_case, records(path)))


def time_of(value: object, place: Where) -> datetime | None:
    """ISO 8601, seconds since 1970 or `March-15-2024`, in UTC; None for anything else: a time is not needed."""
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    month = month_of(found[1]) if found else None
    try:
        if found and month:
            return datetime(int(found[3]), month, int(found[2]), tzinfo=UTC)
        return iso_time(value, place)
    except (InvalidInput, ValueError):
        return None


def _case(record: Record) -> Case:
    value = record.value
    if not (isinstance(value, dict) and "messages" in value and "questions" in value):
        raise record.place.bad("expected a conversation: an object with `id`, `messages` and `questions`")
    user = identifier(value.get("id"), record.place.child("id"), "id")
    sessions, places = _sessions(value, user, record.place)
    return Case(
        user=user,
        sessions=sessions,
        questions=tuple(_questions(value, record.place, places)),
        where=record.place.where,
    )


def _sessions(
    value: Mapping[str, Any], user: str, place: Where
) -> tuple[tuple[ImportedConversation, ...], Mapping[str, Place]]:
    """The messages by their sessions, and where each stands."""
    said: dict[str, list[NewMessage]] = {}
    times: dict[str, datetime | None] = {}
    places: dict[str, Place] = {}
    for number, item in enumerate(array(value["messages"], place.child("messages"), "messages")):
        where = place.child("messages").child(number)
        entry = mapping(item, where, "a message")
        name = identifier(entry.get("id"), where.child("id"), "id")
        if name in places:
            raise where.child("id").bad(f"{name!r} is the id of an earlier message too")
        session = identifier(entry.get("session"), where.child("session"), "session")
        # of some data only the first message of a day has a time
        times[session] = time_of(entry.get("time"), where.child("time")) or times.get(session)
        here = said.setdefault(session, [])
        places[name] = (session, len(here))
        here.append(_message(entry, where, name, times[session]))
    sessions = tuple(
        ImportedConversation(
            user=user,
            session=session,
            started_at=messages[0].created_at,
            messages=tuple(messages),
            turns="single",
            where=place.where,
            file=place.file,
            source=SOURCE,
            conversation=user,
        )
        for session, messages in said.items()
    )
    return sessions, places


def _message(entry: Mapping[str, Any], where: Where, name: str, time: datetime | None) -> NewMessage:
    speaker = entry.get("name")
    return made(
        where,
        choice(entry.get("role"), where.child("role"), _ROLES),
        text(entry.get("content"), where.child("content"), "content"),
        name=None if speaker is None else identifier(speaker, where.child("name"), "name"),
        metadata={EVAL_ID: name},
        created_at=time,
    )


def _questions(value: Mapping[str, Any], place: Where, places: Mapping[str, Place]) -> Iterator[Question]:
    for number, item in enumerate(array(value["questions"], place.child("questions"), "questions")):
        where = place.child("questions").child(number)
        entry = mapping(item, where, "a question")
        given = array(entry.get("evidence") or [], where.child("evidence"), "evidence")
        named = [identifier(name, where.child("evidence"), "evidence") for name in given]
        evidence = frozenset(places[name] for name in named if name in places)
        if evidence:
            kind = entry.get("type")
            yield Question(
                text=text(entry.get("question"), where.child("question"), "question"),
                category=UNTYPED if kind is None else identifier(kind, where.child("type"), "type"),
                evidence=evidence,
            )
