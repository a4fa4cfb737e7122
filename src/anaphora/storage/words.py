"""The full-text index of a database, as the repositories see it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from anaphora.domain.keys import SessionKey
from anaphora.ports.search import WordIndex

#: scripts that are written without spaces between words: Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
#: more words than this in one question are not looked at
MAX_TERMS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A message on its way into the index."""

    key: SessionKey
    session_id: UUID
    seq: int
    #: what can be found of it, see `rules.passages`
    passages: tuple[str, ...]


class Words(WordIndex, Protocol):
    """The full-text index of a database, as the repositories see it."""

    def add(self, entries: Sequence[Indexed]) -> None:
        """Index messages that were appended in this transaction."""
        ...

    def replace(self, old: Indexed, passages: tuple[str, ...]) -> None:
        """Other passages in the place of those of a message; none take it out of the index."""
        ...

    def forget(self, tenant: str, session_id: UUID) -> None:
        """Take every message of a session out of the index. Call it before they leave the log."""
        ...


def has_unspaced_script(text: str) -> bool:
    """True if the text has letters of a script that is written without spaces between words."""
    return _UNSPACED.search(text) is not None


def usable(texts: Sequence[str]) -> dict[str, int]:
    """Distinct texts that have something to look for, in order, each with its place."""
    cleaned: dict[str, int] = {}
    for at, text in enumerate(texts):
        cleaned.setdefault(text.replace("\x00", " ").strip(), at)
    found = [(text, at) for text, at in cleaned.items() if any(char.isalnum() for char in text)]
    return dict(found[:MAX_TERMS])
