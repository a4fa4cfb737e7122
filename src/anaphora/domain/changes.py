"""What changed of a user's memory: which part, and where; never what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ChangeKind(StrEnum):
    """A part of a user's memory that can change."""

    #: something was said, corrected or deleted
    MESSAGES = "messages"
    #: a version of a summary was made, or is not as it was
    SUMMARY = "summary"
    FACTS = "facts"
    TOPICS = "topics"
    NOTEPAD = "notepad"
    #: something was erased for good
    ERASED = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The newest change of one part."""

    #: another one after every change; which of two is greater means nothing
    number: int
    #: of the session in which it was, where it was in one
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of a user's memory is not as it was. Several changes of one part may be told as one, the newest."""

    kind: ChangeKind
    #: in which conversation; None: in none, or in one that is not there any more
    agent: str | None = None
    session: str | None = None
    #: from here on can be told what changes later
    mark: str


#: digits of a number in a mark
_DIGITS: Final = 19


def mark_of(numbers: Mapping[ChangeKind, int]) -> str:
    """The numbers as one text; empty if nothing ever changed."""
    return ",".join(f"{kind.value}:{numbers[kind]}" for kind in ChangeKind if kind in numbers)


def numbers_of(mark: str) -> dict[ChangeKind, int]:
    """The numbers of a mark; of one that was never given, none: then all that ever changed is news."""
    found: dict[ChangeKind, int] = {}
    for part in mark.split(",")[: len(ChangeKind)]:
        name, _, number = part.partition(":")
        if name in set(ChangeKind) and number.isascii() and number.isdigit() and len(number) <= _DIGITS:
            found[ChangeKind(name)] = int(number)
    return found
