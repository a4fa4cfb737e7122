"""An embedder that runs here: an ONNX encoder and its tokenizer, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anaphora.errors import ConfigError, ModelUnavailable
from anaphora.models.files import HOW_TO_PULL
from anaphora.models.onnx_files import RUNTIME_ERRORS, open_session, read_tokenizer, readable, run
from anaphora.ports.models import EmbedderProfile
from anaphora.rules.text import one_line

Vector = npt.NDArray[np.float32]


class OnnxEmbedder:
    """Text to unit vectors with a BERT-like encoder in ONNX format.

    A vector depends on its text alone: equal texts get equal vectors in whatever company and order they come. To
    that end each text is a run of its own, since a quantised model scales its activations by all that is in a run (in
    batches vectors moved by up to .03 a component, cosine .992, for at most a third less time).

    Texts longer than `profile.max_tokens` are read up to there. An empty text has a vector too. Threads may share one
    embedder. Components are float32 values.

    Args:
        model: the encoder; its first output is (batch, tokens, dimensions).
        tokenizer: its `tokenizer.json`; truncation and padding that it asks for are not obeyed.
        profile: what is known of the model.
        threads: how many threads one run may use; more than one paid only on idle machines.

    Raises:
        ConfigError: a file is missing, broken, or not of this profile.

    """

    def __init__(self, model: Path, tokenizer: Path, profile: EmbedderProfile, *, threads: int = 1) -> None:
        if profile.pooling != "cls":
            raise ConfigError(f"embedder {profile.id}: pooling {profile.pooling!r} is not known: use 'cls'")
        self._profile = profile
        self._tokenizer, _ = read_tokenizer(tokenizer, max_tokens=profile.max_tokens, advice=HOW_TO_PULL)
        self._session = open_session(model, threads, advice=HOW_TO_PULL)
        dimensions = self._session.get_outputs()[0].shape[-1]
        if dimensions != profile.dimensions:
            raise ConfigError(f"{model} makes vectors of {dimensions}, not {profile.dimensions}: {HOW_TO_PULL}")

    @property
    def profile(self) -> EmbedderProfile:
        """What is known of this embedder."""
        return self._profile

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of passages, one each, `profile.dimensions` long.

        Raises:
            ModelUnavailable: the runtime failed, as for want of memory.

        """
        return [self._vector(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of a question: the profile's prefix goes before it.

        Raises:
            ModelUnavailable: the runtime failed, as for want of memory.

        """
        vector: list[float] = self._vector(self._profile.query_prefix + text).tolist()
        return vector

    def token_vectors(self, text: str) -> Vector:
        """The unit vectors of the text's tokens in its context, a row each; none for the marks around them.

        Raises:
            ModelUnavailable: the runtime failed, as for want of memory.

        """
        rows = self._hidden(text)[1:-1]
        unit: Vector = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def _vector(self, text: str) -> Vector:
        first: Vector = self._hidden(text)[0]
        return first / np.linalg.norm(first)

    def _hidden(self, text: str) -> Vector:
        """What the encoder makes of each token: first the mark of the beginning, last that of the end."""
        try:
            hidden: Vector = run(self._session, self._tokenizer.encode(readable(text, self._profile.max_tokens)))[0]
        except RUNTIME_ERRORS as error:
            raise ModelUnavailable(f"embedder {self._profile.id} failed: {one_line(str(error))}") from error
        return hidden
