"""What a version of a summary says beside its points: topics, names, decisions and open questions, each with its place.

They are lists from a model's JSON, never headings in a text, which a message could forge (hole 1.11).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from anaphora.domain.keys import SeqRange
from anaphora.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One entry, and the messages that it was taken from."""

    text: str
    range: SeqRange

    def __post_init__(self) -> None:
        if not self.text.strip() or not self.range:
            raise InvalidInput("an entry of a summary needs a text and a range")


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The lists, each in the order in which its entries came up."""

    topics: tuple[Noted, ...] = ()
    #: people, projects, places, products
    entities: tuple[Noted, ...] = ()
    decisions: tuple[Noted, ...] = ()
    open_questions: tuple[Noted, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any entry."""
        return any(self.lists().values())

    def lists(self) -> dict[str, tuple[Noted, ...]]:
        """The lists by their names."""
        return {name: getattr(self, name) for name in STRUCTURE_LISTS}

    def texts(self, name: str) -> list[str]:
        """What the entries of a list say."""
        return [entry.text for entry in self.lists()[name]]

    def names(self, lists: str, text: str) -> bool:
        """Whether an entry of the list has the text in it, whatever the case of its letters."""
        return any(text.casefold() in entry.text.casefold() for entry in self.lists()[lists])

    def to_dict(self) -> dict[str, Any]:
        """As JSON types; empty lists are left out."""
        return {
            name: [{"text": entry.text, "range": [entry.range.start, entry.range.stop]} for entry in entries]
            for name, entries in self.lists().items()
            if entries
        }


STRUCTURE_LISTS = tuple(each.name for each in fields(Structure))


def structure_of(value: Mapping[str, Any]) -> Structure:
    """What `Structure.to_dict` wrote."""
    return Structure(
        **{
            name: tuple(Noted(text=entry["text"], range=SeqRange(*entry["range"])) for entry in value.get(name, ()))
            for name in STRUCTURE_LISTS
        }
    )
