"""What all messages of a user have in common tells none of them from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pytest

from anaphora import Memory
from anaphora.domain.search import SearchResult
from anaphora.ports.models import EmbedderProfile

pytestmark = pytest.mark.anyio

QUESTION = "who?"
#: as close to the question as can be, but it says what all the others say; and one that says something else
EVERYBODYS, ITS_OWN = "hm, and so on", "Rex barked"
SMALL_TALK = tuple(f"well {number}" for number in "abcdefgh")


class Drawn:
    """Meanings as they were drawn on paper."""

    def __init__(self, meanings: Mapping[str, Sequence[float]]) -> None:
        self._meanings = meanings
        self.profile = EmbedderProfile(
            id="drawn",
            dimensions=2,
            max_tokens=512,
            pooling="none",
            query_prefix="",
            relevance_threshold=0.5,
            same_topic_threshold=0.5,
        )

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Each as it was drawn."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        """As it was drawn, and to the right if nobody drew it."""
        return self._meanings.get(text, (1.0, 0.0))


DRAWN = Drawn({QUESTION: (0.8, 0.6), EVERYBODYS: (0.96, 0.28), ITS_OWN: (0.5, 0.75**0.5)})


def cosine(text: str) -> float:
    """Of a message and the question."""
    one, other = DRAWN.embed_query(text), DRAWN.embed_query(QUESTION)
    return sum(a * b for a, b in zip(one, other, strict=True))


async def asked(path: Path, *said: str, agent: str | None = None) -> SearchResult:
    """All messages, best first."""
    async with Memory.open(str(path), embedder=DRAWN) as memory:
        chat = memory.session(user="ann", session="s")
        for text in said:
            await chat.add("user", text)
        assert await memory.idle(60)
        return await memory.search(QUESTION, user="ann", agent=agent, limit=50)


async def test_what_is_close_to_everything_comes_after_what_is_close_to_the_question_alone(tmp_path: Path) -> None:
    assert cosine(EVERYBODYS) > cosine(ITS_OWN)
    found = await asked(tmp_path / "m.db", *SMALL_TALK, EVERYBODYS, ITS_OWN)
    assert [hit.message.content for hit in found[:2]] == [ITS_OWN, EVERYBODYS]
    assert len(found) == len(SMALL_TALK) + 2


async def test_on_average_the_similarity_is_the_cosine(tmp_path: Path) -> None:
    said = (*SMALL_TALK, EVERYBODYS)
    found = await asked(tmp_path / "m.db", *said)
    similar = [hit.similarity for hit in found if hit.similarity is not None]
    assert len(similar) == len(said)
    assert len({round(value, 6) for value in similar}) == 2
    assert fmean(similar) == pytest.approx(fmean(map(cosine, said)), abs=1e-5)


async def test_the_similarity_of_the_only_message_is_its_cosine(tmp_path: Path) -> None:
    (hit,) = await asked(tmp_path / "m.db", ITS_OWN)
    assert hit.similarity == pytest.approx(cosine(ITS_OWN), abs=1e-6)
