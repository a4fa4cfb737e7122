"""The formats that can be imported, how each is told from the others, and the one way to read them all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from anaphora.domain.records import is_header
from anaphora.errors import UnknownName
from anaphora.services.importing import locomo, openai, sharegpt
from anaphora.services.importing.records import records
from anaphora.services.importing.values import BadFile, ImportedConversation, Record

__all__ = ["BadFile", "Format", "ImportedConversation", "choose", "detect", "read"]

#: characters in which the first line of an export ends
_HEADER_CHARS = 1000


class Format(StrEnum):
    """What a file may be."""

    #: look into the file
    AUTO = "auto"
    OPENAI = "openai"
    SHAREGPT = "sharegpt"
    LOCOMO = "locomo"
    #: an export: it is put back as a whole (`importing.restore`), not read as conversations
    ANAPHORA = "anaphora"


@dataclass(frozen=True, slots=True)
class _Parser:
    recognises: Callable[[object], bool]
    conversations: Callable[[Iterable[Record]], Iterator[ImportedConversation]]


_PARSERS: Mapping[Format, _Parser] = MappingProxyType(
    {
        Format.OPENAI: _Parser(openai.recognises, openai.conversations),
        Format.SHAREGPT: _Parser(sharegpt.recognises, sharegpt.conversations),
        Format.LOCOMO: _Parser(locomo.recognises, locomo.conversations),
    }
)


def choose(path: Path, name: Format | str) -> Format:
    """The format that is meant, if the name or the first line tells; AUTO if it takes a closer look.

    Raises:
        UnknownName: no such format.

    """
    try:
        chosen = Format(name)
    except ValueError:
        raise UnknownName("format", str(name), list(Format)) from None
    return Format.ANAPHORA if chosen is Format.AUTO and _is_export(path) else chosen


def detect(path: Path) -> Format:
    """The format of a file, by its first record: what it is must fit one format and no other.

    Raises:
        BadFile: the file cannot be read, or fits no format or several.

    """
    if _is_export(path):
        return Format.ANAPHORA
    return _detected(path, next(records(path), None))


def read(path: Path, name: Format | str = Format.AUTO) -> Iterator[ImportedConversation]:
    """The conversations of a file, lazily: JSON lines are never in memory at once, any other JSON is loaded whole.

    Raises:
        UnknownName: no such format.
        BadFile: at once if the file is missing, empty, of no known format, or an export of Anaphora; later, when the
            place is reached, for what does not belong in the format. Everything before that place has been yielded
            by then.

    """
    chosen = choose(path, name)
    if chosen is Format.ANAPHORA:
        raise BadFile(str(path), "", "expected conversations, but an export is put back as a whole: restore it")
    stream = records(path)
    if chosen is Format.AUTO:
        first = next(stream, None)
        chosen = _detected(path, first)
        stream = stream if first is None else chain((first,), stream)
    return _PARSERS[chosen].conversations(stream)


def _is_export(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open(encoding="utf-8-sig") as lines:
            return is_header(json.loads(lines.readline(_HEADER_CHARS)))
    except (OSError, ValueError, RecursionError):
        return False


def _detected(path: Path, first: Record | None) -> Format:
    fitting = [name for name, parser in _PARSERS.items() if first is not None and parser.recognises(first.value)]
    if len(fitting) == 1:
        return fitting[0]
    many = f"the file could be {' or '.join(fitting)}: say which" if fitting else "the format was not recognised"
    raise BadFile(str(path), "", f"{many}; expected one of {', '.join([*_PARSERS, Format.ANAPHORA])}")
