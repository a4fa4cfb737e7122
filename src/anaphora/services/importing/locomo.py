"""LoCoMo (Maharana et al. 2024): long conversations of two people over months, one sample a pair.

A sample is a user, each of its sessions a session; both people speak in the role `user` under their names, and every
message is a turn of its own. The caption of a shared photo belongs to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from anaphora.domain.messages import NewMessage, Role
from anaphora.services.importing.values import (
    ImportedConversation,
    Place,
    Record,
    array,
    identifier,
    mapping,
    message,
    month_of,
    text,
)

SOURCE = "import:locomo"

_SESSION = re.compile(r"session_(\d{1,9})", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d\d) ([ap]m) on (\d{1,2}) ([A-Za-z]+), (\d{4})", re.ASCII)


def recognises(value: object) -> bool:
    """True if the record has a `conversation` object with two speakers or numbered sessions."""
    inner = value.get("conversation") if isinstance(value, dict) else None
    return isinstance(inner, dict) and ("speaker_a" in inner or any(map(_SESSION.fullmatch, inner)))


def conversations(records: Iterable[Record]) -> Iterator[ImportedConversation]:
    """The sessions of every sample, by number; a session that has a date but no messages is left out.

    Raises:
        BadFile: at the first place that is not LoCoMo, after everything before it was yielded.

    """
    for record in records:
        sample = mapping(record.value, record.place, "a sample")
        user = identifier(sample.get("sample_id"), record.place.child("sample_id"), "sample_id")
        place = record.place.child("conversation")
        inner = mapping(sample.get("conversation"), place, "a conversation")
        numbers = sorted(int(found[1]) for found in map(_SESSION.fullmatch, inner) if found)
        for number in numbers:
            session = _session(inner, f"session_{number}", user, place)
            if session.messages:
                yield session


def _session(conversation: Mapping[str, Any], name: str, user: str, place: Place) -> ImportedConversation:
    inner = place.child(name)
    entries = array(conversation[name], inner, "the messages of a session")
    when = f"{name}_date_time"
    started_at = _time(conversation[when], place.child(when)) if conversation.get(when) is not None else None
    return ImportedConversation(
        user=user,
        session=name,
        started_at=started_at,
        messages=tuple(_message(entry, inner.child(n), started_at, n) for n, entry in enumerate(entries)),
        turns="own",
        where=inner.where,
        file=inner.file,
        source=SOURCE,
        conversation=user,
    )


def _message(value: object, place: Place, started_at: datetime | None, number: int) -> NewMessage:
    entry = mapping(value, place, "a message")
    content = text(entry.get("text"), place.child("text"), "text")
    if entry.get("blip_caption"):
        caption = text(entry["blip_caption"], place.child("blip_caption"), "blip_caption")
        content = f"{content} [shares a photo: {caption}]".lstrip()
    if not content.strip():
        raise place.child("text").bad("expected some text, or a photo with a caption")
    return message(
        place,
        Role.USER,
        content,
        name=identifier(entry.get("speaker"), place.child("speaker"), "speaker"),
        metadata={name: entry[name] for name in ("dia_id", "img_url") if entry.get(name)},
        created_at=None if started_at is None else started_at + timedelta(seconds=number),
    )


def _time(value: object, place: Place) -> datetime:
    """`1:56 pm on 8 May, 2023`, taken as UTC."""
    found = _TIME.fullmatch(text(value, place, "the time of a session").strip())
    month = month_of(found[5]) if found else None
    if found and month and 1 <= int(found[1]) <= 12:
        hour = int(found[1]) % 12 + (12 if found[3] == "pm" else 0)
        try:
            return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
        except ValueError:
            pass
    raise place.bad("expected a time like '1:56 pm on 8 May, 2023'")
