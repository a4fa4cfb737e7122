"""ShareGPT: `{"id": ..., "conversations": [{"from": "human", "value": "..."}, ...]}`, also with `items`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from anaphora.domain.messages import NewMessage, Role
from anaphora.services.importing.values import (
    Calls,
    ImportedConversation,
    Place,
    Record,
    array,
    choice,
    first_identifier,
    mapping,
    message,
    nameless,
    text,
    timestamp,
)

SOURCE = "import:sharegpt"

_ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "human": Role.USER,
        "user": Role.USER,
        "gpt": Role.ASSISTANT,
        "assistant": Role.ASSISTANT,
        "chatgpt": Role.ASSISTANT,
        "system": Role.SYSTEM,
        "tool": Role.TOOL,
        "function_call": Role.ASSISTANT,
        "observation": Role.TOOL,
    }
)


def recognises(value: object) -> bool:
    """True if the record has a list of `conversations` or `items`."""
    return isinstance(value, dict) and any(isinstance(value.get(name), list) for name in ("conversations", "items"))


def conversations(records: Iterable[Record]) -> Iterator[ImportedConversation]:
    """The conversations of a file, lazily; those without messages are left out.

    Raises:
        BadFile: at the first place that is no conversation, after everything before it was yielded.

    """
    for number, record in enumerate(records, start=1):
        conversation = _conversation(record, number)
        if conversation.messages:
            yield conversation


def _conversation(record: Record, number: int) -> ImportedConversation:
    place = record.place
    about = mapping(record.value, place, "a conversation")
    name = "conversations" if "conversations" in about or "items" not in about else "items"
    inner = place.child(name)
    entries = array(about.get(name), inner, "the messages of a conversation")
    started_at = timestamp(about.get("created_at"), place.child("created_at"))
    messages: list[NewMessage] = []
    if about.get("system"):
        words = text(about["system"], place.child("system"), "system")
        messages.append(message(place.child("system"), Role.SYSTEM, words, created_at=started_at))
    calls = Calls()
    messages += [_message(entry, inner.child(index), started_at, calls) for index, entry in enumerate(entries)]
    return ImportedConversation(
        user=first_identifier(about, place, "user"),
        session=first_identifier(about, place, "session", "id", "conversation_id") or nameless(place, number),
        started_at=started_at,
        messages=tuple(messages),
        turns="single",
        where=place.where,
        file=place.file,
        source=SOURCE,
    )


def _message(value: object, place: Place, time: datetime | None, calls: Calls) -> NewMessage:
    entry = mapping(value, place, "a message")
    speaker = entry.get("from")
    role = choice(speaker, place.child("from"), _ROLES)
    inner = place.child("value")
    content = text(entry.get("value"), inner, "value")
    call = _called(content) if speaker == "function_call" else None
    if call is not None:
        return message(inner, role, "", parts=({"type": "tool_call", "id": calls.call(), **call},), created_at=time)
    answered = calls.result() if role is Role.TOOL else None
    parts = () if answered is None else ({"type": "tool_result", "id": answered, "content": content},)
    if not content.strip() and not parts:
        raise inner.bad("expected some text")
    return message(inner, role, content, parts=parts, created_at=time)


def _called(content: str) -> Mapping[str, Any] | None:
    """Name and arguments, if the text is the JSON of one call; any other text stays text."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.keys() != {"name", "arguments"}:
        return None
    name, arguments = value["name"], value["arguments"]
    return value if isinstance(name, str) and name and isinstance(arguments, dict) else None
