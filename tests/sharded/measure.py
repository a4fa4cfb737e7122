"""What several servers cost on one machine: `python -m tests.sharded.measure`, from the root of the repository.

One server, two servers behind the router, and a coordinator with two nodes do the same. All of them share the machine's
cores and its disk, and wait for the disk at every commit: this measures the way, not what more machines would bring.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tests.databases.postgres import opened
from tests.sharded.cluster import Cluster, connected, running

from anaphora import Memory

CALLERS = 16
APPENDS = 25
READS = 200
TENANTS = [f"tenant-{number}" for number in range(CALLERS)]
_OPTIONS: dict[str, Any] = {"embedder": "none", "worker": False, "busy_timeout": 30.0}


@asynccontextmanager
async def memories(cluster: Cluster) -> AsyncIterator[dict[str, Memory]]:
    """The same memory, empty, on three layouts."""
    for node in cluster.nodes:
        async with connected(node, "postgres") as connection:
            for name in ("alone", "routed"):
                await connection.execute(f"CREATE DATABASE {name}")
        async with opened(node.dsn("routed")):
            pass
    routed = {"servers": {f"s{at}": node.dsn("routed") for at, node in enumerate(cluster.nodes)}}
    layouts = {
        "one server": Memory.open(cluster.nodes[0].dsn("alone"), **_OPTIONS),
        "two servers, routed": Memory.open(":servers:", postgres=routed, **_OPTIONS),
        "a coordinator and two nodes": Memory.open(await cluster.database("sharded"), **_OPTIONS),
    }
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(layout) for name, layout in layouts.items()}


async def appends_a_second(memory: Memory) -> float:
    """Callers of different tenants, each waiting for its own append before the next."""

    async def talk(tenant: str) -> None:
        chat = memory.session(user="u", session="s", tenant=tenant)
        for number in range(APPENDS):
            await chat.add("user" if number % 2 == 0 else "assistant", f"word{number} and some more of what was said")

    started = time.perf_counter()
    await asyncio.gather(*map(talk, TENANTS))
    return CALLERS * APPENDS / (time.perf_counter() - started)


async def milliseconds(call: Any) -> float:
    """The median of one call after the other."""
    taken = []
    for number in range(READS):
        started = time.perf_counter()
        await call(TENANTS[number % len(TENANTS)])
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


async def measure(memory: Memory) -> tuple[float, float, float, float]:
    """Appends a second; milliseconds of a single append, of a context, and of a search."""
    together = await appends_a_second(memory)

    async def append(tenant: str) -> None:
        await memory.session(user="u", session="s", tenant=tenant).add("user", "one more")

    async def context(tenant: str) -> None:
        await memory.session(user="u", session="s", tenant=tenant).context("what of word7?", budget=1000)

    async def search(tenant: str) -> None:
        assert await memory.search("word7", user="u", tenant=tenant)

    return together, await milliseconds(append), await milliseconds(context), await milliseconds(search)


async def main(rounds: int = 3) -> None:
    """Print the best of some rounds of each layout."""
    with running(durable=True) as cluster:
        async with memories(cluster) as layouts:
            found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in layouts}
            for _ in range(rounds):
                for name, memory in layouts.items():
                    found[name].append(await measure(memory))
    print("| layout | appends/s | append, ms | context, ms | search, ms |\n|---|---|---|---|---|")
    for name, rows in found.items():
        together, *alone = zip(*rows, strict=True)
        print(f"| {name} | {max(together):,.0f} | {' | '.join(f'{min(each):.1f}' for each in alone)} |")


if __name__ == "__main__":
    asyncio.run(main())
