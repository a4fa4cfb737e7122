"""An embedder that runs here: an ONNX encoder and its tokenizer, without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]  # the package ships neither stubs nor py.typed
from onnxruntime.capi import onnxruntime_pybind11_state as ort  # type: ignore[import-untyped]  # likewise
from tokenizers import Tokenizer

from anaphora.errors import ConfigError, ModelUnavailable
from anaphora.models.files import HOW_TO_PULL
from anaphora.ports.models import EmbedderProfile
from anaphora.rules.text import one_line

#: characters of a text that are looked at, for each token that the model can read; prose needs about 5
CHARS_PER_TOKEN = 16

#: what a BERT-like encoder may ask for
KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})

#: what the runtime raises; they share no base class but Exception
_RUNTIME_ERRORS = (
    ort.EPFail,
    ort.Fail,
    ort.InvalidArgument,
    ort.InvalidGraph,
    ort.InvalidProtobuf,
    ort.NoModel,
    ort.NoSuchFile,
    ort.NotImplemented,
    ort.RuntimeException,
)

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
        self._tokenizer = _tokenizer(tokenizer, profile)
        self._session = _session(model, threads)
        self._inputs = frozenset(node.name for node in self._session.get_inputs())
        if not self._inputs <= KNOWN_INPUTS:
            unknown = ", ".join(sorted(self._inputs - KNOWN_INPUTS))
            raise ConfigError(f"{model} wants inputs that no tokenizer gives ({unknown}): {HOW_TO_PULL}")
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
        shown = text[: self._profile.max_tokens * CHARS_PER_TOKEN]
        ids = self._tokenizer.encode(shown.encode("utf-8", "replace").decode("utf-8")).ids
        tokens = np.asarray([ids], dtype=np.int64)
        feed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        try:
            hidden: Vector = self._session.run(None, {name: feed[name] for name in self._inputs})[0][0]
        except _RUNTIME_ERRORS as error:
            raise ModelUnavailable(f"embedder {self._profile.id} failed: {one_line(str(error))}") from error
        return hidden


def _tokenizer(path: Path, profile: EmbedderProfile) -> Tokenizer:
    try:
        described = path.read_text("utf-8")
        model = json.loads(described)["model"]
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}: {HOW_TO_PULL}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path} is not a tokenizer: {one_line(str(error))}: {HOW_TO_PULL}") from error
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict):
        raise ConfigError(f"{path} is a tokenizer without a vocabulary: {HOW_TO_PULL}")
    tokenizer = Tokenizer.from_str(described)
    tokenizer.enable_truncation(profile.max_tokens)
    tokenizer.no_padding()
    # "[SEP]" in a text is what somebody wrote, not a mark of ours
    tokenizer.encode_special_tokens = True
    return tokenizer


#: what is open in this process, by file and as it was then: memories beside each other share what weighs 100 MB
_OPEN: WeakValueDictionary[tuple[str, int, int, int], onnxruntime.InferenceSession] = WeakValueDictionary()
_OPENING = Lock()


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}: {HOW_TO_PULL}") from error
    key = (str(path.absolute()), found.st_mtime_ns, found.st_size, threads)
    with _OPENING:
        session = _OPEN.get(key)
        if session is None:
            session = _OPEN[key] = _new_session(path, threads)
    return session


def _new_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _RUNTIME_ERRORS as error:
        raise ConfigError(f"{path} is not a model that can be run: {one_line(str(error))}: {HOW_TO_PULL}") from error
