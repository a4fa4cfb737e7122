"""Files of models in ONNX format and of their tokenizers: opened, or refused in one line that names the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]  # the package ships neither stubs nor py.typed
from onnxruntime.capi import onnxruntime_pybind11_state as ort  # type: ignore[import-untyped]  # likewise
from tokenizers import Encoding, Tokenizer

from anaphora.errors import ConfigError
from anaphora.rules.text import one_line

#: characters of a text that are looked at, for each token that the model can read; prose needs about 5
CHARS_PER_TOKEN: Final = 16

#: what a BERT-like encoder may ask for
KNOWN_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

#: what the runtime raises; they share no base class but Exception
RUNTIME_ERRORS: Final = (
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


def read_tokenizer(path: Path, *, max_tokens: int | None, advice: str) -> tuple[Tokenizer, int]:
    """The tokenizer of a `tokenizer.json`, and where it cuts; padding that it asks for is not obeyed.

    Args:
        path: the file.
        max_tokens: where texts are cut; None: where the file says, and at 512 at the latest.
        advice: what to do if it is no tokenizer.

    Raises:
        ConfigError: it cannot be read, or is none.

    """
    try:
        text = path.read_text("utf-8")
        described = json.loads(text)
        model = described["model"]
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}: {advice}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{path} is not a tokenizer: {one_line(str(error))}: {advice}") from error
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise ConfigError(f"{path} is a tokenizer without a vocabulary: {advice}")
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the package raises nothing narrower
        raise ConfigError(f"{path} is not a tokenizer: {one_line(str(error))}: {advice}") from error
    most = max_tokens or _max_tokens(described)
    tokenizer.enable_truncation(most)
    tokenizer.no_padding()
    # "[SEP]" in a text is what somebody wrote, not a mark of ours
    tokenizer.encode_special_tokens = True
    return tokenizer, most


def _max_tokens(described: dict[str, Any]) -> int:
    """Where the file says that texts are cut, if it says so."""
    told = described.get("truncation")
    length = told.get("max_length") if isinstance(told, dict) else None
    return length if isinstance(length, int) and 16 <= length <= _MAX_TOKENS else _MAX_TOKENS


#: as many tokens as BERT-like encoders read; those that can read more find little in it
_MAX_TOKENS: Final = 512

#: what is open in this process, by file and as it was then: memories beside each other share what weighs 100 MB
_OPEN: WeakValueDictionary[tuple[str, int, int, int], onnxruntime.InferenceSession] = WeakValueDictionary()
_OPENING = Lock()


def open_session(path: Path, threads: int, *, advice: str) -> onnxruntime.InferenceSession:
    """The model of a file, once for all who want it.

    Raises:
        ConfigError: it cannot be read or run, or asks for what no tokenizer gives; one line, with the advice.

    """
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}: {advice}") from error
    key = (str(path.absolute()), found.st_mtime_ns, found.st_size, threads)
    with _OPENING:
        session = _OPEN.get(key)
        if session is None:
            session = _OPEN[key] = _new_session(path, threads, advice)
    unknown = {node.name for node in session.get_inputs()} - KNOWN_INPUTS
    if unknown:
        named = one_line(", ".join(sorted(unknown)))
        raise ConfigError(f"{path} wants inputs that no tokenizer gives ({named}): {advice}")
    return session


def _new_session(path: Path, threads: int, advice: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except RUNTIME_ERRORS as error:
        raise ConfigError(f"{path} is not a model that can be run: {one_line(str(error))}: {advice}") from error


def readable(text: str, max_tokens: int) -> str:
    """As much of a text as a model could read, as text that a tokenizer takes."""
    return text[: max_tokens * CHARS_PER_TOKEN].encode("utf-8", "replace").decode("utf-8")


def run(session: onnxruntime.InferenceSession, encoding: Encoding) -> npt.NDArray[np.float32]:
    """The first output for one text, or one pair of texts.

    Raises:
        Exception: one of `RUNTIME_ERRORS`.

    """
    rows: dict[str, Sequence[int]] = {
        "input_ids": encoding.ids,
        "attention_mask": encoding.attention_mask,
        "token_type_ids": encoding.type_ids,
    }
    feed = {
        node.name: np.asarray([rows[node.name]], dtype=np.int32 if node.type == "tensor(int32)" else np.int64)
        for node in session.get_inputs()
    }
    first: npt.NDArray[np.float32] = session.run(None, feed)[0]
    return first
