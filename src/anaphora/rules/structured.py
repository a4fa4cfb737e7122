"""What of a model's lists may be kept beside a summary, and how they are carried from version to version. Pure.

What can be checked without a model is checked: an entry names a message that was read, a name stands in the messages,
and so do the numbers and enough of the words of a decision or a question (I15).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.structures import Noted, Structure
from anaphora.errors import ModelOutputInvalid
from anaphora.rules.language.stems import pieces, stem, words
from anaphora.rules.language.words import content_key, core
from anaphora.rules.validity import checked_text

#: an entry as a model gave it: its text, and the number of a message
Raw = tuple[str, int]

#: entries that a list keeps; beyond that the oldest go
MOST: Final[Mapping[str, int]] = MappingProxyType({"topics": 24, "entities": 48, "decisions": 32, "open_questions": 16})
#: characters of an entry
_MOST_CHARACTERS: Final[Mapping[str, int]] = MappingProxyType(
    {"topics": 80, "entities": 80, "decisions": 300, "open_questions": 300}
)
#: the share of the telling words of a decision or a question that the messages must have, as one of so many
_SUPPORT: Final = 3
#: characters of the beginning and of the end of a message that are looked at; a prompt shows no more of a long one
_LOOKED_AT: Final = 20_000
_DIGITS: Final = re.compile(r"\d+")


def checked_structure(
    raw: Mapping[str, Sequence[Raw]], messages: Sequence[Message], *, echoes: Sequence[str] = ()
) -> Structure:
    """The entries that have support in the messages; the others are left out.

    Args:
        raw: the lists by their names, see `Structure`.
        messages: those that the model was shown to take them from.
        echoes: sentences of our own prompt, which no entry may repeat.

    """
    said = [(message.seq, _Said(message)) for message in messages]
    return Structure(
        **{
            name: tuple(
                Noted(text=text, range=SeqRange(seq, seq + 1))
                for given, number in raw.get(name, ())
                if (text := _clean(name, given, echoes)) and (seq := _source(name, text, number, said)) is not None
            )
            for name in MOST
        }
    )


def carried(base: Structure, new: Structure, *, answered: Collection[int] = ()) -> Structure:
    """The lists of the next version: what the last one had, less the questions that were answered, and what is new.

    What is said twice stays where it was said first. Beyond `MOST` the oldest entries go.
    """
    kept = {**base.lists(), "open_questions": [e for at, e in enumerate(base.open_questions) if at not in answered]}
    return Structure(**{name: _capped((*kept[name], *entries), MOST[name]) for name, entries in new.lists().items()})


class _Said:
    """The words of a message, in forms that can be compared."""

    def __init__(self, message: Message) -> None:
        said = message.content
        if len(said) > 2 * _LOOKED_AT:
            said = f"{said[:_LOOKED_AT]}\n{said[-_LOOKED_AT:]}"
        text = f"{message.name or ''} {said}"
        self.words = {word.casefold() for word in words(text)} | set(pieces(text))
        self.stems = {stem(word) for word in self.words}
        self.numbers = set(_DIGITS.findall(text))


def _clean(name: str, text: str, echoes: Sequence[str]) -> str:
    """One line that may be stored, or nothing."""
    try:
        clean = checked_text(text, echoes=echoes)
    except ModelOutputInvalid:
        return ""
    return clean if len(clean) <= _MOST_CHARACTERS[name] else ""


def _source(name: str, text: str, number: int, said: Sequence[tuple[int, _Said]]) -> int | None:
    """The message that supports the entry: the one that it names, else the first that does; None if none does."""
    if not any(seq == number for seq, _ in said):
        return None
    in_order = sorted(said, key=lambda entry: entry[0] != number)
    return next((seq for seq, message in in_order if _supports(name, text, message)), None)


def _supports(name: str, text: str, message: _Said) -> bool:
    match name:
        case "topics":
            return True  # a label is nobody's word
        case "entities":
            named = {word.casefold() for word in words(text)} | set(pieces(text))
            return bool(named) and named <= message.words
        case _:
            told = core(text)
            same_numbers = set(_DIGITS.findall(text)) <= message.numbers
            return bool(told) and same_numbers and len(told & message.stems) * _SUPPORT >= len(told)


def _capped(entries: Iterable[Noted], most: int) -> tuple[Noted, ...]:
    first: dict[str, Noted] = {}
    for entry in entries:
        first.setdefault(content_key(entry.text), entry)
    return tuple(first.values())[-most:]
