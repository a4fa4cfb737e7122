"""Several processes that append to one database at once, each through the library."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import anyio

from anaphora.bench.children import Child, started
from anaphora.bench.result import per_second
from anaphora.bench.setup import Setup, plain_settings
from anaphora.memory import Memory

WRITING = "anaphora.bench.programs.writing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """So many processes, and what each of them does."""

    processes: int
    clients: int
    messages: int
    #: to a server; on a file each process writes by one
    connections: int = 8

    @property
    def case(self) -> str:
        """Its name among the figures."""
        return "1 process" if self.processes == 1 else f"{self.processes} processes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of it."""

    waits: Sequence[float]
    #: from the word to go to the last answer
    seconds: float
    #: refused as busy
    failed: int
    #: acknowledged, and not in the log
    lost: int

    @property
    def rate(self) -> float:
        """Acknowledged messages a second."""
        return per_second(len(self.waits), self.seconds)


async def written(writers: Writers, setup: Setup, db: str, *, tenant: str = "default") -> Written:
    """Start the processes, say go when all are ready, and hear what each append took."""
    answers: list[Mapping[str, Any]] = []

    async def finish(child: Child) -> None:
        await child.tell({"go": True})
        answers.append(await child.hear())

    async with AsyncExitStack() as stack:
        children = [await stack.enter_async_context(started(WRITING, setup)) for _ in range(writers.processes)]
        for at, child in enumerate(children):
            await child.tell(
                {
                    "db": db,
                    "tenant": tenant,
                    "name": f"writer{at}",
                    "seed": setup.seed,
                    "clients": writers.clients,
                    "messages": writers.messages,
                    "connections": writers.connections,
                }
            )
        for child in children:
            await child.hear()
        began = time.perf_counter()
        async with anyio.create_task_group() as group:
            for child in children:
                group.start_soon(finish, child)
        seconds = time.perf_counter() - began
    waits = [wait for answer in answers for wait in answer["waits"]]
    kept = await _kept(db, tenant, limit=writers.clients * writers.processes)
    return Written(
        waits=waits, seconds=seconds, failed=sum(answer["failed"] for answer in answers), lost=len(waits) - kept
    )


async def _kept(db: str, tenant: str, *, limit: int) -> int:
    """Messages in the log."""
    async with Memory.open(settings=plain_settings(db, tenant=tenant), worker=False) as memory:
        return sum(row.head for row in await memory.sessions(limit=limit))
