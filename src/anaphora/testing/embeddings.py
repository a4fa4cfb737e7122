"""Vectors whose meaning a test can say: what a scripted server answers to `/v1/embeddings`."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence

#: a text to its vector
Embed = Callable[[str], Sequence[float]]

_WORD = re.compile(r"\w+")


def by_words(dimensions: int = 32) -> Embed:
    """Vectors of the words alone: texts are as close as they share words. Equal texts get equal vectors, anywhere."""

    def embed(text: str) -> Sequence[float]:
        return _unit([math.fsum(values) for values in zip(*_directions(text, dimensions), strict=True)])

    return embed


def by_topics(topics: Mapping[str, Sequence[str]], *, dimensions: int = 32) -> Embed:
    """Vectors in which words of one topic mean nearly the same: a question finds an answer without a shared word.

    Args:
        topics: the words of each; up to `dimensions` topics. The order of the topics decides their direction.
        dimensions: of a vector.

    """
    of_word = {word.casefold(): place for place, words in enumerate(topics.values()) for word in words}

    def embed(text: str) -> Sequence[float]:
        rest = [0.2 * math.fsum(values) for values in zip(*_directions(text, dimensions), strict=True)]
        for word in _words(text):
            if word in of_word:
                rest[of_word[word]] += 4.0
        return _unit(rest)

    return embed


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _directions(text: str, dimensions: int) -> list[list[float]]:
    """A direction for each word, made of its hash."""
    return [
        [byte / 127.5 - 1 for byte in hashlib.shake_128(word.encode("utf-8", "replace")).digest(dimensions)]
        for word in _words(text) or [""]
    ]


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector)
    return [value / length for value in vector]
