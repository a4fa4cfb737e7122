"""An embedder that costs next to nothing: what is measured with it is everything else."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from anaphora.ports.models import EmbedderProfile

_MIDDLE = 127.5


class HashingEmbedder:
    """Vectors out of hashes: they mean nothing, and take as long to compare as any.

    Args:
        dimensions: of each vector.

    """

    def __init__(self, dimensions: int) -> None:
        self._profile = EmbedderProfile(
            id=f"hashing-{dimensions}",
            dimensions=dimensions,
            max_tokens=512,
            pooling="none",
            query_prefix="",
            relevance_threshold=0.5,
            same_topic_threshold=0.5,
            unrelated_cosine=0.0,
            cosine_spread=1 / math.sqrt(dimensions),
        )

    @property
    def profile(self) -> EmbedderProfile:
        """What is known of it."""
        return self._profile

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A unit vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        """The unit vector of a text."""
        digest = hashlib.shake_256(text.encode()).digest(self._profile.dimensions)
        raw = [byte - _MIDDLE for byte in digest]
        length = math.hypot(*raw)
        return [value / length for value in raw]
