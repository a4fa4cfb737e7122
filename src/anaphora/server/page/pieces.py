"""Parts of messages as people read them: what is text word by word, all else described in few words, never loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from anaphora.domain.messages import Part

#: characters of a kind or a name, and of one value in a description; values in it
_KIND: Final = 60
_VALUE: Final = 200
_VALUES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part as it is shown."""

    kind: str
    #: of a tool that is called
    name: str = ""
    text: str = ""


def pieces(content: str, parts: Iterable[Part], most: int | None = None) -> list[Piece]:
    """The parts of a message, in their order.

    Args:
        content: the words of the message: what they say already is not said twice.
        parts: its parts.
        most: characters of each; None: all of what is text.

    """
    found = []
    for part in parts:
        kind, name = part["type"], ""
        if kind == "tool_call":
            name, text = part["name"], _written(part.get("arguments", ""))
        elif kind == "tool_result":
            text = _written(part.get("content", part["id"]))
        elif kind == "text" and isinstance(part.get("text"), str):
            text = part["text"]
        else:
            text = described(part)
        text = "" if text and text in content else text if most is None else _cut(text, most)
        found.append(Piece(kind=_cut(kind.replace("_", " "), _KIND) or "part", name=_cut(name, _KIND), text=text))
    return found


def described(part: Part) -> str:
    """What stands in a part, value by value; of what is long, how long it is."""
    values = _values({name: value for name, value in part.items() if name != "type"})
    few = [f"{_cut(name, _KIND)}: {_brief(value)}" for name, value in islice(values, _VALUES)]
    return " · ".join([*few, "…"] if next(values, None) is not None else few)


def _values(value: object, name: str = "") -> Iterator[tuple[str, Any]]:
    """The values in it that hold no others, each by the nearest name."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _values(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(item, name)
    elif value is not None:
        yield name, value


def _brief(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if text.startswith("data:"):
        return f"{_cut(text.partition(',')[0].partition(';')[0], _KIND)}, {len(text):,} characters"
    if len(text) <= _VALUE:
        return text
    # what has no space in it is no text
    return f"{text[: _VALUE if ' ' in text[:_VALUE] else _KIND]}… ({len(text):,} characters)"


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
