"""OpenAI chat messages: a list of messages, `{"messages": [...]}`, or many of these (the fine-tuning format).

A conversation may carry `user`, `session` (or `id`, `conversation_id`) and `created_at`; a message on a line of its
own may carry `user`, `session` (or `conversation_id`). Of pictures, sound and files no data is kept: a part says
that they were there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Any

from anaphora.domain.messages import NewMessage, Part, Role
from anaphora.services.importing.values import (
    BadFile,
    Calls,
    ImportedConversation,
    Place,
    Record,
    array,
    choice,
    first_identifier,
    identifier,
    kind,
    mapping,
    message,
    nameless,
    text,
    timestamp,
)

SOURCE = "import:openai"

#: of a conversation with one message a line, so many are held at once
PIECE = 1000

_ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "system": Role.SYSTEM,
        "developer": Role.SYSTEM,
        "user": Role.USER,
        "assistant": Role.ASSISTANT,
        "tool": Role.TOOL,
        "function": Role.TOOL,
    }
)
_TEXTS: Mapping[str, str] = MappingProxyType(
    {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
)
_MEDIA: Mapping[str, str] = MappingProxyType(
    {
        "image_url": "image",
        "input_image": "image",
        "image": "image",
        "input_audio": "audio",
        "audio": "audio",
        "file": "file",
        "input_file": "file",
    }
)


@dataclass(slots=True)
class _Thread:
    """What is remembered from message to message of one conversation."""

    #: when the last message with a known time was said
    time: datetime | None = None
    calls: Calls = field(default_factory=Calls)


def recognises(value: object) -> bool:
    """True if the record looks like a message, a list of messages, or a conversation with `messages`."""
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict) and "role" in value[0]
    return isinstance(value, dict) and ("role" in value or "messages" in value)


def conversations(records: Iterable[Record]) -> Iterator[ImportedConversation]:
    """The conversations of a file, lazily; the first record decides whether records are messages or conversations.

    Raises:
        BadFile: at the first place that is no message or no conversation, after everything before it was yielded.

    """
    stream = iter(records)
    first = next(stream, None)
    if first is None:
        return
    everything = chain((first,), stream)
    if isinstance(first.value, dict) and "messages" not in first.value:
        yield from _from_messages(everything)
        return
    for number, record in enumerate(everything, start=1):
        conversation = _conversation(record, number)
        if conversation.messages:
            yield conversation


def _conversation(record: Record, number: int) -> ImportedConversation:
    place = record.place
    bare = isinstance(record.value, list)
    about = {} if bare else mapping(record.value, place, "a conversation")
    inner = place if bare else place.child("messages")
    entries = array(record.value if bare else about.get("messages"), inner, "the messages of a conversation")
    thread = _Thread(timestamp(about.get("created_at"), place.child("created_at")))
    started_at = thread.time
    messages = tuple(_message(entry, inner.child(index), thread) for index, entry in enumerate(entries))
    return ImportedConversation(
        user=first_identifier(about, place, "user"),
        session=first_identifier(about, place, "session", "id", "conversation_id") or nameless(place, number),
        started_at=started_at or (messages[0].created_at if messages else None),
        messages=messages,
        turns="single",
        where=place.where,
        file=place.file,
        source=SOURCE,
    )


def _from_messages(records: Iterable[Record]) -> Iterator[ImportedConversation]:
    """Records that are messages: one conversation, or as many as they name; in pieces, so that any length will do."""
    threads: dict[tuple[str | None, str], _Thread] = {}
    piece: list[NewMessage] = []
    here: tuple[str | None, str] | None = None
    start: Place | None = None
    failure: BadFile | None = None
    try:
        for record in records:
            value = mapping(record.value, record.place, "a message")
            session = first_identifier(value, record.place, "session", "conversation_id")
            key = (first_identifier(value, record.place, "user"), session or nameless(record.place, 1))
            said = _message(value, record.place, threads.setdefault(key, _Thread()))
            if here is not None and start is not None and (key != here or len(piece) == PIECE):
                yield _piece(here, piece, start)
                piece, start = [], None
            here, start = key, start or record.place
            piece.append(said)
    except BadFile as error:
        failure = error
    if here is not None and start is not None:
        yield _piece(here, piece, start)
    if failure is not None:
        raise failure


def _piece(key: tuple[str | None, str], messages: list[NewMessage], start: Place) -> ImportedConversation:
    user, session = key
    return ImportedConversation(
        user=user,
        session=session,
        started_at=messages[0].created_at,
        messages=tuple(messages),
        turns="single",
        where=start.where,
        file=start.file,
        source=SOURCE,
    )


def _message(value: object, place: Place, thread: _Thread) -> NewMessage:
    entry = mapping(value, place, "a message")
    role = choice(entry.get("role"), place.child("role"), _ROLES)
    content, media = _content(entry, place)
    parts = [*media, *_tool_calls(entry, place, thread.calls), *_tool_result(entry, content, place, thread.calls)]
    if not content.strip() and not parts:
        raise place.child("content").bad("expected some text, or tool calls")
    when = "timestamp" if entry.get("created_at") is None else "created_at"
    thread.time = timestamp(entry.get(when), place.child(when)) or thread.time
    return message(
        place,
        role,
        content,
        name=None if entry.get("name") in (None, "") else text(entry["name"], place.child("name"), "name"),
        parts=parts,
        metadata=mapping(entry.get("metadata") or {}, place.child("metadata"), "metadata"),
        created_at=thread.time,
    )


def _content(entry: Mapping[str, Any], place: Place) -> tuple[str, list[Part]]:
    """The text, and a part for everything in the content that is no text."""
    name = "refusal" if entry.get("content") is None and entry.get("refusal") is not None else "content"
    value, inner = entry.get(name), place.child(name)
    if value is None:
        return "", []
    if not isinstance(value, list):
        if not isinstance(value, str):
            raise inner.bad(f"expected a string, null or a list of parts, not {kind(value)}")
        return text(value, inner, name), []
    texts: list[str] = []
    media: list[Part] = []
    for index, item in enumerate(value):
        spot = inner.child(index)
        part = mapping(item, spot, "a content part")
        label = part.get("type")
        if isinstance(label, str) and label in _TEXTS:
            texts.append(text(part.get(_TEXTS[label]), spot.child(_TEXTS[label]), "the text of a part"))
        elif isinstance(label, str) and label in _MEDIA:
            media.append(_medium(_MEDIA[label], part.get(label), spot))
        else:
            raise spot.child("type").bad(f"expected one of {', '.join([*_TEXTS, *_MEDIA])}")
    return "\n".join(texts), media


def _medium(label: str, value: object, place: Place) -> Part:
    """That there was a picture or the like; of its data nothing, of its address only a link into the web."""
    link = value.get("url") if isinstance(value, dict) else value
    if isinstance(link, str) and link.startswith(("https://", "http://")):
        return {"type": label, "url": text(link, place, "a link")}
    return {"type": label}


def _tool_calls(entry: Mapping[str, Any], place: Place, calls: Calls) -> Iterator[Part]:
    if entry.get("tool_calls") is not None:
        inner = place.child("tool_calls")
        for index, item in enumerate(array(entry["tool_calls"], inner, "tool calls")):
            spot = inner.child(index)
            call = mapping(item, spot, "a tool call")
            yield _call(
                identifier(call.get("id"), spot.child("id"), "id"), call.get("function"), spot.child("function")
            )
    if entry.get("function_call") is not None:
        yield _call(calls.call(), entry["function_call"], place.child("function_call"))


def _call(call_id: str, value: object, place: Place) -> Part:
    function = mapping(value, place, "a called function")
    inner = place.child("arguments")
    return {
        "type": "tool_call",
        "id": call_id,
        "name": identifier(function.get("name"), place.child("name"), "name"),
        "arguments": _arguments(function.get("arguments"), inner),
    }


def _arguments(value: object, place: Place) -> Mapping[str, Any]:
    """The arguments as an object; text that is none is kept under `text`: models do write such calls."""
    if value is None or value == "":
        return {}
    if not isinstance(value, str):
        return mapping(value, place, "arguments")
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {"text": value}


def _tool_result(entry: Mapping[str, Any], content: str, place: Place, calls: Calls) -> Iterator[Part]:
    if entry["role"] == "function":
        answered = calls.result()
    elif entry.get("tool_call_id") is not None:
        answered = identifier(entry["tool_call_id"], place.child("tool_call_id"), "tool_call_id")
    else:
        answered = None
    if answered is not None:
        yield {"type": "tool_result", "id": answered, "content": content}
