"""What was deleted, so that it is not learned again: keyed hashes of its words, which tell nobody what it said."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import Final

from anaphora.rules.language.words import core, is_negative, numbers

#: of two statements with so many words in common the second says what the first said
_ALIKE: Final = 0.7
_HASH_BYTES: Final = 12
_NUMBER, _POLARITY, _TERM = "n", "p", "t"


def tombstone(secret: bytes, content: str) -> tuple[str, ...]:
    """A hash for every telling word, for every number and for yes or no, sorted; without the secret they tell nothing.

    Args:
        secret: the key; whoever has it can try words.
        content: the statement that was deleted.

    """
    counted = numbers(content)
    found = {_hashed(secret, _TERM, word) for word in core(content) - counted}
    found |= {_hashed(secret, _NUMBER, number) for number in counted}
    found.add(_hashed(secret, _POLARITY, "no" if is_negative(content) else "yes"))
    return tuple(sorted(found))


def is_buried(secret: bytes, content: str, tombstones: Iterable[Sequence[str]]) -> bool:
    """Whether one of the tombstones is of the same statement or nearly the same: a number or a "no" makes another."""
    mine = frozenset(tombstone(secret, content))
    exact, mine_words = _split(mine)
    for stone in tombstones:
        other_exact, other_words = _split(frozenset(stone))
        if exact != other_exact:
            continue
        together = mine_words | other_words
        if not together or len(mine_words & other_words) >= _ALIKE * len(together):
            return True
    return False


def _split(stone: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    said = frozenset(entry for entry in stone if entry.startswith(_TERM))
    return stone - said, said


def _hashed(secret: bytes, kind: str, word: str) -> str:
    digest = hmac.new(secret, f"{kind}\0{word}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return kind + digest[:_HASH_BYTES].hex()
