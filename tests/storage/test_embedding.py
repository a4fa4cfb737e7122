"""I1: however a message changes while its vectors are made, it gets those of what it says in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.machine.subjects import Words

from anaphora.bootstrap.build import Overrides, Services, open_services
from anaphora.domain.keys import SessionKey
from anaphora.ports.models import EmbedderProfile
from anaphora.rules.admission import new_message
from anaphora.services.editing import Change
from anaphora.settings import Settings
from anaphora.testing import FakeClock

pytestmark = pytest.mark.anyio

KEY = SessionKey(tenant="t", user="u", agent="a", session="s")
LAST = "the last message"
TEAPOT, OTHER = (1.0, 0.0), (0.0, 1.0)


class Meanwhile:
    """Knows teapots from everything else; something happens while it makes its first vectors."""

    profile = EmbedderProfile(
        id="meanwhile",
        dimensions=2,
        max_tokens=512,
        pooling="mean",
        query_prefix="",
        relevance_threshold=0.5,
        same_topic_threshold=0.5,
    )

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.happens: Callable[[], Coroutine[Any, Any, object]] | None = None
        self.happened = 0

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if LAST in texts and self.happens is not None:  # a summary is never made of the last message
            happens, self.happens = self.happens, None
            self.happened += 1
            asyncio.run_coroutine_threadsafe(happens(), self.loop).result(30)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        return TEAPOT if "teapot" in text else OTHER


@asynccontextmanager
async def services(embedder: Meanwhile) -> AsyncIterator[Services]:
    # a strategy that embeds nothing of its own
    settings = Settings(db=":memory:", durability="normal", strategy="rolling_pairs")
    given = Overrides(embedder=embedder, clock=FakeClock(), counter=Words())
    async with open_services(settings, given) as made:
        yield made


async def settle(made: Services) -> None:
    while await made.worker.step():
        pass


async def closest(made: Services) -> tuple[int, float | None]:
    """The message that is closest to a question about teapots, and how close that is."""
    found = await made.search.search("teapot", tenant="t", user="u", limit=1)
    assert found.degraded == (), "not everything has vectors"
    return (found[0].message.seq, found[0].similarity)


@pytest.mark.parametrize("embedded_before", [0, 4])
async def test_a_message_that_is_edited_while_it_is_embedded_is_embedded_again(embedded_before: int) -> None:
    embedder = Meanwhile()
    async with services(embedder) as made:
        if embedded_before:
            await made.ingest.append(KEY, [new_message("user", f"early {at}") for at in range(embedded_before)])
            await settle(made)
        await made.ingest.append(KEY, [new_message("user", f"text {at}") for at in range(6)])
        await made.ingest.append(KEY, [new_message("user", LAST)])
        embedder.happens = lambda: made.editing.edit(KEY, 3, Change(content="about a teapot"))
        await settle(made)
        assert embedder.happened == 1, "the fault did not happen"
        seq, similarity = await closest(made)
        assert seq == 3
        assert similarity == pytest.approx(1.0, abs=1e-3)


async def test_a_message_that_is_deleted_while_it_is_embedded_gets_no_vector() -> None:
    embedder = Meanwhile()
    async with services(embedder) as made:
        await made.ingest.append(KEY, [new_message("user", text) for text in ("teapot", "text", "teapot", LAST)])
        embedder.happens = lambda: made.editing.delete(KEY, 2)
        await settle(made)
        assert embedder.happened == 1, "the fault did not happen"
        seq, similarity = await closest(made)
        assert seq == 0
        assert similarity == pytest.approx(1.0, abs=1e-3)
        assert (await made.store.due_count(now=None, with_model=True)) == 0
