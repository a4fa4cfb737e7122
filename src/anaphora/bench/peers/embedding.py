"""The one embedder that all systems are given."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from pathlib import Path

from anaphora.bench.setup import plain_settings
from anaphora.bootstrap.providers import embedder_from
from anaphora.ports.models import Embedder, EmbedderProfile

_DIMENSIONS = 384


class HashedEmbedder:
    """Vectors from the hashes of words: no meaning and hardly any time, for where the local embedder is not here."""

    @property
    def profile(self) -> EmbedderProfile:
        """What is known of it."""
        return EmbedderProfile(
            id="hashed-words",
            dimensions=_DIMENSIONS,
            max_tokens=1 << 20,
            pooling="sum",
            query_prefix="",
            relevance_threshold=0.0,
            same_topic_threshold=0.0,
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors, one each: equal texts get equal vectors, texts that share words get near ones."""
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """As of any text."""
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * _DIMENSIONS
        for word in text.casefold().split() or [""]:
            place = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
            vector[place % _DIMENSIONS] += 1.0
        length = math.hypot(*vector)
        return [value / length for value in vector]


class TimedEmbedder:
    """An embedder that counts the time it takes.

    Attributes:
        seconds: so far.

    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.seconds = 0.0

    @property
    def profile(self) -> EmbedderProfile:
        """What is known of the embedder inside."""
        return self._inner.profile

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """As the embedder inside."""
        started = time.perf_counter()
        vectors = [list(vector) for vector in self._inner.embed(texts)]
        self.seconds += time.perf_counter() - started
        return vectors


def shared_embedder(models: Path) -> TimedEmbedder:
    """The local embedder if its files and packages are here, else `HashedEmbedder`."""
    local = embedder_from(plain_settings(Path("unused.db"), embedder="local", models=str(models)))
    return TimedEmbedder(local or HashedEmbedder())
