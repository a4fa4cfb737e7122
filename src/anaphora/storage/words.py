"""What of a message can be found by its words, and how well a message answers a question.

The score is BM25 over the caller's own scope: how often a word occurs elsewhere, in other people's messages, never
changes an answer (I11).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, NewMessage, Part
from anaphora.ports.search import WordIndex

#: scripts that are written without spaces between words: Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_TEXT_KEYS = ("text", "content", "caption", "alt", "title")
#: more words than this in one question are not looked at
MAX_TERMS = 32
#: the usual constants of BM25: how soon repetition stops to matter, how much length matters
_K1 = 1.2
_B = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A message on its way into the index."""

    key: SessionKey
    session_id: UUID
    seq: int
    body: str


class Words(WordIndex, Protocol):
    """The full-text index of a database, as the repositories see it."""

    def add(self, entries: Sequence[Indexed]) -> None:
        """Index messages that were appended in this transaction."""
        ...

    def replace(self, old: Indexed, body: str | None) -> None:
        """Another text in the place of that of a message; None takes it out of the index."""
        ...

    def forget(self, tenant: str, session_id: UUID) -> None:
        """Take every message of a session out of the index. Call it before they leave the log."""
        ...


def searchable(message: NewMessage | Message) -> str:
    """Name, content, and the texts of the parts that the content does not have already, in NFC."""
    pieces = [message.name] if message.name else []
    pieces.append(message.content)
    pieces.extend(text for text in _part_texts(message.parts) if text not in message.content)
    return unicodedata.normalize("NFC", "\n".join(pieces))


def _part_texts(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        for key in _TEXT_KEYS:
            value = part.get(key)
            if isinstance(value, str) and value:
                yield value


def has_unspaced_script(text: str) -> bool:
    """True if the text has letters of a script that is written without spaces between words."""
    return _UNSPACED.search(text) is not None


def rarity(documents: int, having: int) -> float:
    """BM25's weight of a word that `having` of so many documents have: positive, higher for rarer words."""
    return math.log1p((max(documents, having) - having + 0.5) / (having + 0.5))


def weight(count: int, length: int, average: float) -> float:
    """BM25's weight of a word that occurs `count` times in a document of this length."""
    norm = 1 - _B + _B * (length / average if average > 0 else 1.0)
    return count * (_K1 + 1) / (count + _K1 * norm)


def usable(texts: Sequence[str]) -> list[str]:
    """Distinct texts that have something to look for, in order."""
    seen = dict.fromkeys(text.replace("\x00", " ").strip() for text in texts)
    return [text for text in seen if any(char.isalnum() for char in text)][:MAX_TERMS]
