"""Late interaction: token by token, with the encoder that is here anyway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import anyio.to_thread
import numpy as np
import numpy.typing as npt

from anaphora.domain.vectors import Scale

#: a row a token, of length 1 each
Rows = npt.NDArray[np.float32]


class TokenEncoder(Protocol):
    """Text to one unit vector for each token."""

    def token_vectors(self, text: str) -> Rows:
        """A row each; none for an empty text. Blocks. Raises `ModelError`."""
        ...


#: of bge-small: how close a question is to passages that have nothing to do with it, measured on the questions of
#: LoCoMo and messages of other users
BGE_SMALL_TOKENS: Final = Scale(mean=0.41, spread=0.06)
#: how much it counts beside the other evidence: no weight helped, more than this hurt (docs/explanation/retrieval.md)
WEIGHT: Final = 0.2


def closeness(question: Rows, passage: Rows) -> float:
    """The mean over the question's tokens of the best cosine with a token of the passage; 0 where either has none."""
    if not len(question) or not len(passage):
        return 0.0
    return float((question @ passage.T).max(axis=1).mean(dtype=np.float64))


class MaxSim:
    """Fulfils `Reranker`: a passage is worth more the closer each token of the question finds its like in it.

    Each text is a run of its own, as everywhere (see `OnnxEmbedder`): the same passage is worth the same in whatever
    company. Together in one run they took as long if they were short, and twice as long if not. Nothing is kept.

    Args:
        encoder: makes the vectors of tokens.
        name: what to call it in logs.
        scale: how its closeness is to be read.
        weight: how much it counts that a passage is one spread closer than chance.

    """

    def __init__(
        self, encoder: TokenEncoder, *, name: str, scale: Scale = BGE_SMALL_TOKENS, weight: float = WEIGHT
    ) -> None:
        self._encoder = encoder
        self._name = name
        self._scale = scale
        self._weight = weight

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    async def rerank(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        """How far above chance each passage is, weighed; 0 for one that is not.

        It can be cancelled between two passages.

        Raises:
            ModelUnavailable: the runtime failed, as for want of memory.

        """
        asked = await anyio.to_thread.run_sync(self._encoder.token_vectors, question, abandon_on_cancel=True)
        return [
            await anyio.to_thread.run_sync(self._worth, asked, passage, abandon_on_cancel=True) for passage in passages
        ]

    def _worth(self, asked: Rows, passage: str) -> float:
        close = closeness(asked, self._encoder.token_vectors(passage))
        return max(0.0, self._weight * self._scale.of(close))
