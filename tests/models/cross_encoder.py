"""A cross-encoder of a few hundred bytes, written byte by byte, since the package `onnx` is not needed otherwise.

Its logit is how many pairs of equal tokens question and passage have, less a bias.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import BertProcessing

#: what the tokenizer knows; everything else is [UNK], each time the same
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "which", "boat", "is", "blue", "sold", "the", "in", "may", "old", "fish")
BIAS = 4.0
#: numbers of types in the format
FLOAT, INT32, INT64 = 1, 6, 7

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def inner(field: int, *content: bytes | str) -> bytes:
    body = b"".join(part.encode() if isinstance(part, str) else part for part in content)
    return varint(field << 3 | 2) + varint(len(body)) + body


def node(kind: str, inputs: Sequence[str], output: str, **ints: int) -> bytes:
    attributes = (inner(5, inner(1, name), number(3, value), number(20, 2)) for name, value in ints.items())
    return inner(1, *(inner(1, name) for name in inputs), inner(2, output), inner(4, kind), *attributes)


def constant(name: str, kind: int, dims: Sequence[int], raw: bytes) -> bytes:
    return inner(5, *(number(1, size) for size in dims), number(2, kind), inner(8, name), inner(9, raw))


def value(field: int, name: str, kind: int, dims: Sequence[int | str]) -> bytes:
    shape = (inner(1, number(1, dim) if isinstance(dim, int) else inner(2, dim)) for dim in dims)
    return inner(field, inner(1, name), inner(2, inner(1, number(1, kind), inner(2, *shape))))


def whole(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def real(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def model(
    *,
    inputs: Sequence[str] = INPUTS,
    classes: int = 1,
    of: int = INT64,
    dims: int = 2,
    tokens: int | str = "tokens",
) -> bytes:
    """The graph: tokens are compared with tokens, and pairs of one of the question and one of the passage counted.

    Args:
        inputs: what it asks for, beside what it uses.
        classes: logits that it gives; of 2 the second says that the passage answers.
        of: the type of its inputs.
        dims: how its output is nested: 1, 2 or 3.
        tokens: how many tokens a pair must have.

    """
    nodes = [
        node("Unsqueeze", ["input_ids", "one"], "row"),
        node("Unsqueeze", ["input_ids", "two"], "column"),
        node("Equal", ["row", "column"], "same"),
        node("Cast", ["same"], "equal", to=FLOAT),
        node("Cast", ["token_type_ids"], "passage", to=FLOAT),
        node("Sub", ["unit", "passage"], "question"),
        node("Unsqueeze", ["passage", "one"], "at"),
        node("Unsqueeze", ["question", "two"], "by"),
        node("Mul", ["equal", "at"], "half"),
        node("Mul", ["half", "by"], "pairs"),
        node("ReduceSum", ["pairs", "both"], "count", keepdims=0),
        node("Unsqueeze", ["count", "one"], "sum"),
        node("Mul", ["sum", "weights"], "weighed"),
        node("Sub", ["weighed", "bias"], "row by row"),
        {
            1: node("ReduceSum", ["row by row", "one"], "logits", keepdims=0),
            2: node("Identity", ["row by row"], "logits"),
            3: node("Unsqueeze", ["row by row", "two"], "logits"),
        }[dims],
    ]
    shape: list[int | str] = ["batch", classes, 1]
    graph = inner(
        7,
        *nodes,
        inner(2, "pairs"),
        constant("one", INT64, [1], whole(1)),
        constant("two", INT64, [1], whole(2)),
        constant("both", INT64, [2], whole(1, 2)),
        constant("unit", FLOAT, [1], real(1.0)),
        constant("weights", FLOAT, [1, classes], real(*[0.0] * (classes - 1), 1.0)),
        constant("bias", FLOAT, [1, classes], real(*[0.0] * (classes - 1), BIAS)),
        *(value(11, name, of, ["batch", tokens]) for name in inputs),
        value(12, "logits", FLOAT, shape[:dims]),
    )
    return number(1, 8) + graph + inner(8, inner(1, ""), number(2, 13))


def write(folder: Path, content: bytes | None = None) -> Path:
    """The files of a cross-encoder in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model() if content is None else content)
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106 - no secret
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
