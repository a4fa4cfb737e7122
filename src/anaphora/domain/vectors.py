"""Vectors, and which of them may be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anaphora.errors import InvalidInput

#: pgvector's indexes take half-precision vectors up to this length; embedders stay well below
MAX_DIMENSIONS: Final = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The vectors of one embedder: those of another are never compared with them (I19).

    Raises:
        InvalidInput: no name, or no sensible length.

    """

    #: `EmbedderProfile.id`
    profile: str
    dimensions: int

    def __post_init__(self) -> None:
        if not self.profile or "\0" in self.profile:
            raise InvalidInput("an embedder's profile needs a name")
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise InvalidInput(f"vectors have 1 to {MAX_DIMENSIONS} dimensions, not {self.dimensions}")

    @property
    def name(self) -> str:
        """Both in one text: the same embedder with vectors of another length is another space."""
        return f"{self.profile}/{self.dimensions}"

    def unit(self, vector: Sequence[float]) -> tuple[float, ...]:
        """The vector, brought to length 1.

        Raises:
            InvalidInput: it has another number of dimensions, a value that is no number, or no direction.

        """
        if len(vector) != self.dimensions:
            raise InvalidInput(f"a vector of {self.name} has {self.dimensions} dimensions, not {len(vector)}")
        length = math.hypot(*vector)
        if not math.isfinite(length):
            raise InvalidInput("a vector has a value that is not a finite number: check the embedder")
        if length == 0:
            raise InvalidInput("a vector of zeros has no direction: check the embedder")
        return tuple(value / length for value in vector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How an embedder's cosines are to be read: those of texts that have nothing to do with each other."""

    mean: float
    spread: float

    def of(self, cosine: float) -> float:
        """How far above chance a cosine is, in spreads."""
        return (cosine - self.mean) / self.spread
