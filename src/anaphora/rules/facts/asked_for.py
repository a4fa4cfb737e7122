"""How much of what makes a message answer a question is in a fact that was learned from it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anaphora.domain.search import Hit
from anaphora.rules.language.words import terms

#: what a fact keeps of the relevance of its message if it has none of the words that the message was found by
_LEAST: Final = 0.5


def inherited(hit: Hit, texts: Sequence[str]) -> float:
    """The part of the message's relevance that is the fact's, 0.5 to 1: a message says more than one thing.

    Args:
        hit: the message, found for a question.
        texts: what the fact says, and what it quotes of the message.

    """
    wanted = set(terms(" ".join(hit.words))) if hit.words else set()
    if not wanted:  # found by what it means: what the fact quotes means no more than another part of it
        return 1.0
    return _LEAST + (1 - _LEAST) * len(wanted.intersection(terms(" ".join(texts)))) / len(wanted)


def shared(words: Sequence[str], text: str) -> tuple[str, ...]:
    """The words of a question that a text has, in any of their forms."""
    has = set(terms(text))
    return tuple(word for word in words if has.intersection(terms(word)))
