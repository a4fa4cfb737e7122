"""Sessions in which a user likes one fruit after the other, and what was read out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anaphora import Memory
from anaphora.domain.chunks import Chunk
from anaphora.domain.jobs import Job, JobKind
from anaphora.memory.session import Session

IDLE = 300.0
#: no summary is ever due, so that every call is one that reads for facts
APART: dict[str, Any] = {"rolling_pairs": {"window_pairs": 32, "min_messages_for_summary": 1000}}
FRUITS = ("apples", "bananas", "cherries", "dates", "elderberries", "figs", "grapes", "honeydew", "kiwis", "lemons")


async def talk(session: Session, turns: int, *, start: int = 0) -> None:
    """Turns in which the user likes one fruit after the other."""
    for number in range(start, start + turns):
        await session.add("user", f"I like {FRUITS[number % len(FRUITS)]} number {number}.")
        await session.add("assistant", "Noted.")


async def known(memory: Memory, user: str = "ann") -> list[str]:
    return sorted(fact.content for fact in await memory.facts.list(user=user, limit=1000))


async def jobs(memory: Memory, kind: JobKind = JobKind.EXTRACT) -> Sequence[Job]:
    return [job for job in await memory.jobs.list(limit=500) if job.kind is kind]


async def chunks(memory: Memory, session: Session) -> Sequence[Chunk]:
    store = memory._services.store
    key = session.key

    def read(unit: Any) -> Sequence[Chunk]:
        row = unit.sessions.find(key)
        return tuple(reversed(unit.chunks.list(key.tenant, row.id, limit=500)))

    return await store.read(key.tenant, read)


def tiling(found: Sequence[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.range.start, chunk.range.stop) for chunk in found]
