"""What may enter the log: checked in full before anything is written, kept exactly as given."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from anaphora.domain.keys import checked_text
from anaphora.domain.messages import NewMessage, Part, Role, Trust
from anaphora.errors import InvalidInput, UnknownName

MAX_DEPTH = 20
MAX_NAME_CHARS = 200
#: larger whole numbers are data in disguise, and Python refuses to write them
MAX_INT_BITS = 1024

_TRUST = {
    Role.USER: Trust.OWNER_SAID,
    Role.ASSISTANT: Trust.ASSISTANT,
    Role.TOOL: Trust.TOOL,
    Role.SYSTEM: Trust.TOOL,
}


def new_message(
    role: object,
    content: str | None,
    *,
    name: str | None = None,
    parts: Sequence[Part] | None = None,
    metadata: Mapping[str, Any] | None = None,
    created_at: object = None,
) -> NewMessage:
    """A message as a caller wrote it, checked for everything but its size.

    Raises:
        InvalidInput: a value of the wrong type, unknown role, NUL, lone surrogates, nothing to say, naive time.

    """
    if not isinstance(role, str) or role not in set(Role):
        raise UnknownName("role", str(role), [known.value for known in Role])
    text = checked_text("" if content is None else content, "content")
    checked_parts = _parts(parts)
    if not text.strip() and not checked_parts:
        raise InvalidInput("a message needs content or parts")
    if name is not None:
        checked_text(name, "name")
        if not name.strip() or len(name) > MAX_NAME_CHARS:
            raise InvalidInput(f"name must have 1 to {MAX_NAME_CHARS} characters")
    return NewMessage(
        role=Role(role),
        content=text,
        name=name,
        parts=checked_parts,
        metadata=_json({} if metadata is None else metadata, "metadata"),
        created_at=_time(created_at),
    )


def check_size(message: NewMessage, max_bytes: int) -> None:
    """The message is no larger than the log takes.

    Raises:
        InvalidInput: it is; the message names both sizes.

    """
    size = len(message.content) if message.content.isascii() else len(message.content.encode())
    if message.parts or message.metadata:
        size += len(json.dumps([*map(dict, message.parts), dict(message.metadata)], ensure_ascii=False).encode())
    if size > max_bytes:
        raise InvalidInput(
            f"a message of {size:,} bytes is over the limit of {max_bytes:,}: split it, or raise max_message_bytes"
        )


def trust_of(message: NewMessage) -> Trust:
    """How far the source of a message can be believed: by its role alone."""
    return _TRUST[message.role]


def _time(value: object) -> datetime | None:
    """The time as given, if it is one that can be written in UTC."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidInput("created_at must be a datetime with a time zone")
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("created_at lies before year 1 or after year 9999 in UTC") from None
    return value


def _parts(parts: object) -> tuple[Part, ...]:
    if parts is None:
        return ()
    if not isinstance(parts, Sequence) or isinstance(parts, str | bytes):
        raise InvalidInput(f"parts must be a list of mappings, not {type(parts).__name__}")
    return tuple(_part(part) for part in parts)


def _part(part: object) -> Part:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise InvalidInput('a part must be a mapping with a "type"')
    needed = {"tool_call": ("id", "name"), "tool_result": ("id",)}.get(part["type"], ())
    for key in needed:
        if not isinstance(part.get(key), str) or not part[key]:
            raise InvalidInput(f'a {part["type"]} part needs a text "{key}"')
    return _json(part, "parts")


def _json(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {type(value).__name__}")
    checked: dict[str, Any] = _json_value(value, what, MAX_DEPTH)
    return checked


def _json_value(value: Any, what: str, depth: int) -> Any:  # noqa: ANN401 - any JSON value
    if depth == 0:
        raise InvalidInput(f"{what} is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return checked_text(value, what)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > MAX_INT_BITS:
            raise InvalidInput(f"{what} holds a whole number of more than {MAX_INT_BITS} bits: store it as text")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{what} holds a number that JSON cannot write: {value}")
        return value
    if isinstance(value, Mapping):
        return {
            checked_text(key, f"a key of {what}"): _json_value(item, what, depth - 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_json_value(item, what, depth - 1) for item in value]
    raise InvalidInput(f"{what} holds a {type(value).__name__}, which is not JSON")
