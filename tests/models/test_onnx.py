from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from anaphora.errors import ConfigError
from anaphora.models.embedders.onnx import OnnxEmbedder
from anaphora.models.embedders.profiles import BGE_SMALL
from anaphora.models.files import Files

ODD = ["", " ", "\x00", "\ud800", "[SEP] [CLS]", "お誕生日おめでとう", "😀", "x" * 100_000, "word " * 5000]
PAIRS = [
    ("I'm allergic to peanuts.", "Peanuts make me ill, I can't eat them."),
    ("My daughter starts school in September.", "The kid's first day of class is this autumn."),
    ("We moved from Lisbon to Oslo last year.", "Last year our family left Portugal for Norway."),
    ("The invoice is due on Friday.", "Payment of the bill must be made by the end of the week."),
]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def test_vectors_are_of_the_profile_and_of_unit_length_whatever_the_text(bge: OnnxEmbedder) -> None:
    vectors = bge.embed([*ODD, "I'm allergic to peanuts."])
    assert [len(v) for v in vectors] == [BGE_SMALL.dimensions] * (len(ODD) + 1)
    assert [dot(v, v) for v in vectors] == pytest.approx([1.0] * len(vectors), abs=1e-5)


def test_no_texts_give_no_vectors(bge: OnnxEmbedder) -> None:
    assert bge.embed([]) == []


def test_components_survive_storage_as_float32(bge: OnnxEmbedder) -> None:
    (vector,) = bge.embed(["anything"])
    assert list(struct.unpack("<384f", struct.pack("<384f", *vector))) == vector


def test_a_vector_does_not_depend_on_its_company(bge: OnnxEmbedder) -> None:
    texts = [text for pair in PAIRS for text in pair] + ["short", "long " * 100]
    together = bge.embed(texts)
    assert together == [bge.embed([text])[0] for text in texts]
    assert together[::-1] == bge.embed(texts[::-1])


def test_threads_share_one_embedder(bge: OnnxEmbedder) -> None:
    texts = [text for pair in PAIRS for text in pair]
    with ThreadPoolExecutor(4) as pool:
        assert [v for (v,) in pool.map(lambda text: bge.embed([text]), texts)] == bge.embed(texts)


def test_only_a_question_gets_the_prefix(bge: OnnxEmbedder) -> None:
    text = "What can't I eat?"
    assert bge.embed_query(text) == bge.embed([BGE_SMALL.query_prefix + text])[0]
    assert dot(bge.embed_query(text), bge.embed([text])[0]) < 0.999


def test_what_means_the_same_is_nearer_than_what_does_not(bge: OnnxEmbedder) -> None:
    left, right = (bge.embed(side) for side in zip(*PAIRS, strict=True))
    for at, vector in enumerate(left):
        scores = [dot(vector, other) for other in right]
        assert scores.index(max(scores)) == at


def test_a_question_finds_its_passage_above_the_threshold_of_the_profile(bge: OnnxEmbedder) -> None:
    passages = [left for left, _ in PAIRS]
    scores = [dot(bge.embed_query("Which food must I avoid?"), v) for v in bge.embed(passages)]
    assert scores.index(max(scores)) == 0
    assert scores[0] >= BGE_SMALL.relevance_threshold


def test_a_text_is_read_up_to_the_limit_of_the_profile(bge: OnnxEmbedder) -> None:
    head = "river bank " * 260
    assert bge.embed([head + "first end"]) == bge.embed([head + "another ending altogether"])


def test_padding_and_truncation_of_the_tokenizer_file_are_not_obeyed(
    bge: OnnxEmbedder, bge_files: Files, tmp_path: Path
) -> None:
    described = json.loads(bge_files.tokenizer.read_text("utf-8"))
    described["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    described["padding"] = {
        "strategy": {"Fixed": 128},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(described), "utf-8")
    other = OnnxEmbedder(bge_files.model, tmp_path / "tokenizer.json", BGE_SMALL)
    text = "We moved from Lisbon to Oslo last year, because of the fish."
    assert other.embed([text]) == bge.embed([text])


def test_special_tokens_are_plain_text(bge: OnnxEmbedder) -> None:
    plain, cut = bge.embed(["I live in Oslo", "I live in Oslo [SEP]"])
    assert plain != cut
    marked, spelled = bge.embed(["[SEP]", "[ SEP ]"])
    assert marked == spelled


@pytest.mark.parametrize("content", [b"", b"hello" * 100, None])
def test_a_broken_model_names_its_file_and_the_command(bge_files: Files, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(bge_files.model.read_bytes()[: 1 << 20] if content is None else content)
    with pytest.raises(ConfigError, match=r"model\.onnx.*run `anaphora models pull`") as caught:
        OnnxEmbedder(path, bge_files.tokenizer, BGE_SMALL)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "{}", "[1", "[1]", "\x00", '{"model": 1}', '{"model": {"type": "BERT"}}'])
def test_a_broken_tokenizer_names_its_file_and_the_command(bge_files: Files, tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=r"tokenizer\.json.*run `anaphora models pull`"):
        OnnxEmbedder(bge_files.model, path, BGE_SMALL)


def test_a_missing_file_is_named(bge_files: Files, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json"):
        OnnxEmbedder(bge_files.model, tmp_path / "nowhere.json", BGE_SMALL)
    with pytest.raises(ConfigError, match=r"nowhere\.onnx"):
        OnnxEmbedder(tmp_path / "nowhere.onnx", bge_files.tokenizer, BGE_SMALL)


def test_a_profile_of_another_model_is_refused(bge_files: Files) -> None:
    with pytest.raises(ConfigError, match="vectors of 384, not 768"):
        OnnxEmbedder(bge_files.model, bge_files.tokenizer, replace(BGE_SMALL, dimensions=768))
    with pytest.raises(ConfigError, match="pooling 'mean'"):
        OnnxEmbedder(bge_files.model, bge_files.tokenizer, replace(BGE_SMALL, pooling="mean"))
