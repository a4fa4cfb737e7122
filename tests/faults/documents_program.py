"""What is killed in `test_killed_documents`: documents are kept, changed, embedded and deleted.

Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence

import anyio
import anyio.from_thread

from anaphora import Memory
from anaphora.errors import ModelUnavailable
from anaphora.ports.models import EmbedderProfile
from anaphora.testing.embeddings import by_words

EMBED = by_words(8)
#: more than one batch of chunks
LONG = "\n\n".join(f"Paragraph {number} of apples. " + "More of them. " * 6 for number in range(20))
CHANGED = "Pears and nothing else."


class Moody:
    """An embedder that is away, or takes forever, when it is told to."""

    def __init__(self) -> None:
        self.profile = EmbedderProfile(
            id="moody",
            dimensions=8,
            max_tokens=512,
            pooling="none",
            query_prefix="",
            relevance_threshold=0.5,
            same_topic_threshold=0.5,
        )
        self.away = False
        #: what is cancelled while it works
        self.scope: anyio.CancelScope | None = None

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self.away:
            raise ModelUnavailable("the embedder is away")
        if self.scope is not None:
            anyio.from_thread.run_sync(self.scope.cancel)
            time.sleep(0.2)
        return [EMBED(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        return EMBED(text)


async def _stopped(memory: Memory, embedder: Moody) -> None:
    """A worker that is stopped while it embeds."""
    beside = memory._services.worker.beside
    assert beside is not None
    with anyio.CancelScope() as embedder.scope:
        await beside.step()
    embedder.scope = None


async def main(path: str) -> None:
    embedder = Moody()
    async with Memory.open(
        path,
        embedder=embedder,
        worker=False,
        knowledge={"chunk_size": 40, "chunk_overlap": 0},
        encoding="cl100k_base",
    ) as memory:
        kb = memory.knowledge
        await kb.add(LONG, user="u", key="long")
        await _stopped(memory, embedder)
        await memory.work()
        embedder.away = True
        await kb.add("Plums.", user="u", key="plums")
        await memory.work()
        embedder.away = False
        changed = await kb.add("Cherries.", user="u", key="changed", title="Fruit")
        if changed.content != CHANGED:
            await kb.update(changed.id, user="u", text=CHANGED)
        gone = await kb.add("Gone.", user="u", key="gone")
        await kb.delete(gone.id, user="u")
        await memory._services.reindex.plan("default")
        await memory.work()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
