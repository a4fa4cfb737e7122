"""What is wrong with a configuration, in one line each."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """What is wrong with a configuration."""

    #: as it was named
    file: str
    #: the keys down to it, with dots; empty where the file as a whole is meant
    key: str
    #: what is wrong, and what to write instead
    text: str
    #: the nearest valid name, if a name is wrong
    nearest: str | None = None

    def __str__(self) -> str:
        return ": ".join(in_line(part) for part in (self.file, self.key, self.text) if part)


def in_line(text: str) -> str:
    """The text with what cannot be printed in a line written as Python would write it."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like it, if one does."""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


def shown(value: object) -> str:
    """A wrong value, short."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    except (ValueError, TypeError, RecursionError):  # such as a number with more digits than Python writes
        return f"this {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."
