"""The formats that can be imported, how each is told from the others, and the one way to read them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from anaphora.errors import UnknownName
from anaphora.services.importing import locomo, openai, sharegpt
from anaphora.services.importing.records import records
from anaphora.services.importing.values import BadFile, ImportedConversation, Record

__all__ = ["BadFile", "Format", "ImportedConversation", "detect", "read"]


class Format(StrEnum):
    """What a file may be."""

    #: look into the file
    AUTO = "auto"
    OPENAI = "openai"
    SHAREGPT = "sharegpt"
    LOCOMO = "locomo"


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


def detect(path: Path) -> Format:
    """The format of a file, by its first record: what it is must fit one format and no other.

    Raises:
        BadFile: the file cannot be read, or fits no format or several.

    """
    return _detected(path, next(records(path), None))


def read(path: Path, name: Format | str = Format.AUTO) -> Iterator[ImportedConversation]:
    """The conversations of a file, lazily: JSON lines are never in memory at once, any other JSON is loaded whole.

    Raises:
        UnknownName: no such format.
        BadFile: at once if the file is missing, empty or of no known format; later, when the place is reached, for
            what does not belong in the format. Everything before that place has been yielded by then.

    """
    try:
        chosen = Format(name)
    except ValueError:
        raise UnknownName("format", str(name), list(Format)) from None
    stream = records(path)
    if chosen is Format.AUTO:
        first = next(stream, None)
        chosen = _detected(path, first)
        stream = stream if first is None else chain((first,), stream)
    return _PARSERS[chosen].conversations(stream)


def _detected(path: Path, first: Record | None) -> Format:
    fitting = [name for name, parser in _PARSERS.items() if first is not None and parser.recognises(first.value)]
    if len(fitting) == 1:
        return fitting[0]
    many = f"the file could be {' or '.join(fitting)}: say which" if fitting else "the format was not recognised"
    raise BadFile(str(path), "", f"{many}; expected one of {', '.join(_PARSERS)}")
