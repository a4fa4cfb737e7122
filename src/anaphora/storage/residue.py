"""Looking for a text where it should not be any more: in rows, in indexes, in the bytes of files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anaphora.errors import InvalidInput

#: anything shorter is found by chance
_SHORTEST: Final = 4
#: bytes that are read at once
_READ: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """A place where a text was found."""

    #: which of the texts, by its number from 1: the text itself is not repeated
    canary: int
    #: a table and its column, an index, or a file
    place: str
    #: as what: "text", "UTF-16", "JSON", "words"
    form: str
    #: how often, or in how many rows
    count: int
    #: the first places: rows, or bytes from the beginning
    at: tuple[int, ...] = ()


def checked_canaries(canaries: Iterable[str]) -> tuple[str, ...]:
    """The texts, each once.

    Raises:
        InvalidInput: there is none, or one is too short to tell anything.

    """
    found = tuple(dict.fromkeys(text for canary in canaries if (text := canary.strip())))
    if not found:
        raise InvalidInput("give a text to look for")
    if any(len(text) < _SHORTEST for text in found):
        raise InvalidInput(f"a text of fewer than {_SHORTEST} characters is found everywhere: give a longer one")
    return found


def forms_of(canary: str) -> Mapping[bytes, str]:
    """As which bytes a text may stand in a file, and what that is called."""
    forms: dict[bytes, str] = {}
    for text in (canary, canary.lower(), canary.casefold()):
        named = (
            ("text", text.encode("utf-8", "surrogatepass")),
            ("JSON", json.dumps(text)[1:-1].encode()),
            ("JSON", json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")),
            ("UTF-16", text.encode("utf-16-le", "surrogatepass")),
            ("UTF-16", text.encode("utf-16-be", "surrogatepass")),
        )
        for form, data in named:
            forms.setdefault(data, form)
    return forms


def in_file(path: Path, canaries: Sequence[str], *, shown: int = 3) -> list[Residue]:
    """Where the texts stand in a file, byte for byte; it is read piece by piece."""
    wanted = {number: forms_of(canary) for number, canary in enumerate(canaries, start=1)}
    longest = max(len(data) for forms in wanted.values() for data in forms)
    found: dict[tuple[int, str], set[int]] = {}
    with path.open("rb") as file:
        kept, start = b"", 0
        while piece := file.read(_READ):
            window = kept + piece
            for number, forms in wanted.items():
                for data, form in forms.items():
                    found.setdefault((number, form), set()).update(start + at for at in _places(window, data))
            kept = window[-(longest - 1) :]
            start += len(window) - len(kept)
    return [
        Residue(canary=number, place=path.name, form=form, count=len(at), at=tuple(sorted(at)[:shown]))
        for (number, form), at in found.items()
        if at
    ]


def holds(value: object, canary: str) -> str | None:
    """As what a value of a row has the text in it, or None."""
    if isinstance(value, bytes):
        return next((form for data, form in forms_of(canary).items() if data in value), None)
    if not isinstance(value, str):
        return None
    folded, text = canary.casefold(), value.casefold()
    if folded in text:
        return "text"
    escaped = json.dumps(canary)[1:-1].casefold()
    return "JSON" if escaped in text or json.dumps(canary, ensure_ascii=False)[1:-1].casefold() in text else None


def _places(window: bytes, data: bytes) -> Iterable[int]:
    at = window.find(data)
    while at >= 0:
        yield at
        at = window.find(data, at + 1)
