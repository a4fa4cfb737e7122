"""A reranker that runs here: a cross-encoder in ONNX format, which reads a question and a passage together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import numpy as np

from anaphora.errors import ConfigError, ModelOutputInvalid, ModelUnavailable
from anaphora.models.onnx_files import RUNTIME_ERRORS, open_session, read_tokenizer, readable, run
from anaphora.rules.text import one_line

MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
ADVICE: Final = f"name the folder of a cross-encoder ({MODEL} and {TOKENIZER}), or its .onnx file beside a {TOKENIZER}"
#: what a passage is worth that surely answers: as much as a language model's best grade
MOST: Final = 10.0


class CrossEncoder:
    """Fulfils `Reranker`: a passage is worth how likely it answers the question, times 10.

    The likelihood is the logistic function of a single logit, or the share of the second of two. Each pair is a run of
    its own: the same passage is worth the same in whatever company. Pairs are read up to 512 tokens, or as many as
    the tokenizer says, the longer text being cut.

    Args:
        path: the folder of `model.onnx` and `tokenizer.json`, or the model's file beside a `tokenizer.json`.
        threads: how many threads one run may use.

    Raises:
        ConfigError: a file is missing, broken, or no cross-encoder; one line that names it.

    """

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        model = path if path.suffix == ".onnx" and not path.is_dir() else path / MODEL
        self._name = f"onnx ({path.name or path})"
        self._session = open_session(model, threads, advice=ADVICE)
        self._tokenizer, self._tokens = read_tokenizer(model.parent / TOKENIZER, max_tokens=None, advice=ADVICE)
        if "input_ids" not in {node.name for node in self._session.get_inputs()}:
            raise ConfigError(f"{model} is no cross-encoder: it reads no input_ids: {ADVICE}")
        _check_output(model, self._session.get_outputs()[0].shape)

    @property
    def name(self) -> str:
        """The name of its folder or file."""
        return self._name

    async def rerank(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        """How likely each passage answers, 0 to 10.

        It can be cancelled between two passages.

        Raises:
            ModelError: the runtime failed, as for want of memory, or the model says something else than one or two
                numbers.

        """
        return [
            await anyio.to_thread.run_sync(self._worth, question, passage, abandon_on_cancel=True)
            for passage in passages
        ]

    def _worth(self, question: str, passage: str) -> float:
        pair = self._tokenizer.encode(readable(question, self._tokens), readable(passage, self._tokens))
        try:
            logits = np.ravel(run(self._session, pair)).astype(np.float64)
        except RUNTIME_ERRORS as error:
            raise ModelUnavailable(f"{self._name} failed: {one_line(str(error))}") from error
        if not 1 <= len(logits) <= _CLASSES or not np.isfinite(logits).all():
            raise ModelOutputInvalid("out_of_range", f"{self._name} gave no logit, nor two")
        margin = logits[-1] - (logits[0] if len(logits) == _CLASSES else 0.0)
        # beyond that nothing changes
        return float(MOST / (1.0 + np.exp(-np.clip(margin, -500.0, 500.0))))


#: yes and no
_CLASSES: Final = 2


def _check_output(model: Path, shape: Sequence[Any]) -> None:
    """Whether it gives one or two numbers for a pair, as far as the file says."""
    if not 1 <= len(shape) <= _CLASSES:
        raise ConfigError(f"{model} is no cross-encoder: it gives {len(shape)} dimensions, not 1 or 2: {ADVICE}")
    classes = shape[-1]
    if len(shape) == _CLASSES and isinstance(classes, int) and classes > _CLASSES:
        raise ConfigError(f"{model} is no cross-encoder: it gives {classes} classes, not 1 or 2: {ADVICE}")
