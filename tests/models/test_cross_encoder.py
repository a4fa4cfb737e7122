"""The user's own cross-encoder: what it says of a pair, and what is said of files that are wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.models.cross_encoder import BIAS, INPUTS, INT32, model, write

from anaphora import Memory
from anaphora.errors import ConfigError, ModelUnavailable
from anaphora.models.cross_encoder import CrossEncoder
from anaphora.rules.rerank import is_usable
from anaphora.settings import Settings

pytestmark = pytest.mark.anyio

QUESTION = "which boat is blue"
PASSAGES = ("the blue boat", "sold in may", "the old fish", "boat boat blue blue")


def worth(common: int) -> float:
    """Of a passage with so many pairs of equal tokens; the mark of the end is one."""
    return 10 / (1 + math.exp(BIAS - common))


@pytest.mark.parametrize("content", [model(), model(classes=2), model(of=INT32), model(dims=1)])
async def test_a_passage_is_worth_how_likely_it_answers_the_question_in_whatever_company(
    tmp_path: Path, content: bytes
) -> None:
    reranker = CrossEncoder(write(tmp_path, content))
    alone = [(await reranker.rerank(QUESTION, [passage]))[0] for passage in PASSAGES]
    # the mark of the end stands in both parts of a pair, but once in the first
    assert alone == pytest.approx([worth(3), worth(1), worth(1), worth(5)], abs=1e-3)
    assert list(await reranker.rerank(QUESTION, PASSAGES)) == alone
    assert is_usable(alone, len(PASSAGES))


async def test_a_folder_and_the_file_in_it_are_the_same_model(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "model.onnx").rename(tmp_path / "mine.onnx")
    assert (await CrossEncoder(tmp_path / "mine.onnx").rerank(QUESTION, PASSAGES))[0] == pytest.approx(
        worth(3), abs=1e-3
    )
    with pytest.raises(ConfigError, match=r"model\.onnx"):
        CrossEncoder(tmp_path)


async def test_whatever_the_texts_are_they_have_a_worth(tmp_path: Path) -> None:
    reranker = CrossEncoder(write(tmp_path))
    odd = ["", " ", "\x00", "\ud800", "[SEP] [CLS]", "お誕生日", "boat " * 20_000, "x" * 100_000]
    for question in odd:
        assert is_usable(await reranker.rerank(question, odd), len(odd))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "not a model that can be run"),
        (b"hello" * 100, "not a model that can be run"),
        (model()[:200], "not a model that can be run"),
        (model(inputs=(*INPUTS, "pixels")), "pixels"),
        (model(classes=3), "3 classes"),
        (model(dims=3), "is no cross-encoder"),
    ],
)
def test_a_file_that_is_no_cross_encoder_is_one_line_that_names_it(tmp_path: Path, content: bytes, line: str) -> None:
    write(tmp_path, content)
    with pytest.raises(ConfigError, match=line) as caught:
        CrossEncoder(tmp_path)
    assert str(tmp_path / "model.onnx") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", "\x00", '{"model": 1}', '{"model": {"type": "BERT", "vocab": {}}}']
)
def test_a_broken_tokenizer_is_one_line_that_names_it(tmp_path: Path, content: str) -> None:
    write(tmp_path)
    (tmp_path / "tokenizer.json").write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=r"tokenizer\.json") as caught:
        CrossEncoder(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gone", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path: Path, gone: str) -> None:
    (write(tmp_path) / gone).unlink()
    with pytest.raises(ConfigError, match=gone.replace(".", r"\.")):
        CrossEncoder(tmp_path)


async def test_a_model_that_fails_while_it_runs_is_unavailable(tmp_path: Path) -> None:
    reranker = CrossEncoder(write(tmp_path, model(tokens=4)))
    with pytest.raises(ModelUnavailable, match="failed") as caught:
        await reranker.rerank(QUESTION, PASSAGES)
    assert "\n" not in str(caught.value)


async def test_hits_are_put_in_its_order_and_a_folder_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "my encoder")
    base: dict[str, Any] = {
        "db": str(tmp_path / "m.db"),
        "embedder": "none",
        "extraction": "none",
        "rerank_provider": "onnx",
    }
    async with Memory.open(settings=Settings(**base, rerank_model=str(folder)), worker=False) as memory:
        chat = memory.session(user="ann", session="1")
        await chat.add("user", "the boat is old which is old")
        await chat.add("user", "which blue boat is which boat is blue")
        found = await memory.search(QUESTION, user="ann")
        assert found[0].scores["rerank"] > found[1].scores["rerank"]
        assert found.degraded in {(), ("embedder",)}
    with pytest.raises(ConfigError, match="nowhere") as caught:
        async with Memory.open(settings=Settings(**base, rerank_model="nowhere"), worker=False):
            pass
    assert "\n" not in str(caught.value)
