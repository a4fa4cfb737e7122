"""An embedder of somebody's own that answers with what is no vector, or not at all: words are compared all the same."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from anaphora import Memory
from anaphora.bench.hashing import HashingEmbedder
from anaphora.errors import ModelUnavailable

pytestmark = [pytest.mark.anyio, pytest.mark.sqlite_only]

SAID, QUESTION = "I am allergic to peanuts.", "Who ate the secret peanuts?"


def _raises(text: str) -> Sequence[float]:
    raise RuntimeError(f"no memory left for {text}")


def _unavailable(_text: str) -> Sequence[float]:
    raise ModelUnavailable("nobody answers")


#: what it answers, and what the log says of it
ANSWERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "too short": (lambda _text: [1.0] * 3, "has 8 dimensions, not 3"),
    "empty": (lambda _text: [], "has 8 dimensions, not 0"),
    "not a number": (lambda _text: [math.nan] * 8, "is not a finite number"),
    "infinite": (lambda _text: [math.inf] * 8, "is not a finite number"),
    "zeros": (lambda _text: [0.0] * 8, "has no direction"),
    "no vector": (lambda _text: None, "TypeError"),
    "words": (lambda _text: ["one"] * 8, "TypeError"),
    "an error": (_raises, "RuntimeError"),
    "no answer": (_unavailable, "nobody answers"),
}


class Broken(HashingEmbedder):
    """Answers as it should until it breaks."""

    def __init__(self, answer: Callable[[str], Any], *, breaks: str) -> None:
        super().__init__(8)
        self.answer, self.breaks = answer, breaks
        self.works = True

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        broken = self.breaks == "embed" and not self.works
        return [self.answer(text) if broken else HashingEmbedder.embed_query(self, text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        vector: Sequence[float] = self.answer(text) if self.breaks == "embed_query" else super().embed_query(text)
        return vector


@pytest.mark.parametrize("breaks", ["embed", "embed_query"])
@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_question_without_a_usable_vector_is_answered_by_words(
    answer: str, breaks: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "anaphora.retrieve")
    made, told = ANSWERS[answer]
    embedder = Broken(made, breaks=breaks)
    async with Memory.open(str(tmp_path / "m.db"), embedder=embedder, worker=False) as memory:
        chat = memory.session(user="ann", session="s")
        await chat.add("user", SAID)
        await memory.work()
        embedder.works = False
        found = await memory.search(QUESTION, user="ann")
        assert ([hit.message.content for hit in found], found.degraded) == ([SAID], ("embedder",))
        (line,) = [record.getMessage() for record in caplog.records if record.name == "anaphora.retrieve"]
        assert told in line
        assert "secret" not in line
        assert "embedder" in (await chat.context(QUESTION)).degraded
        assert (await memory.knowledge.search(QUESTION, user="ann")).degraded == ("embedder",)
