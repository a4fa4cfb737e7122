"""How many messages a second are acknowledged, on disk, with 16 and 64 clients at full durability?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from _report import percentile, report

from anaphora import Memory

TEXT = "I would like to plant apple trees behind the shed, but the soil there is heavy and wet in spring. " * 3
SECONDS = 8.0


async def run(clients: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        async with Memory.open(Path(folder) / "bench.db", worker=False, embedder="none") as memory:
            waits: list[float] = []
            end = time.perf_counter() + SECONDS

            async def client(number: int) -> None:
                chat = memory.session(user=f"user{number}", session="bench")
                count = 0
                while time.perf_counter() < end:
                    started = time.perf_counter()
                    await chat.add("user" if count % 2 == 0 else "assistant", f"{count} {TEXT}")
                    waits.append(time.perf_counter() - started)
                    count += 1

            started = time.perf_counter()
            await asyncio.gather(*(client(number) for number in range(clients)))
            elapsed = time.perf_counter() - started
    return {
        f"appends_per_second_{clients}": round(len(waits) / elapsed),
        f"p50_ms_{clients}": round(percentile(waits, 0.5) * 1000, 2),
        f"p99_ms_{clients}": round(percentile(waits, 0.99) * 1000, 2),
    }


async def main() -> None:
    figures: dict[str, float | int | str] = {"durability": "full"}
    for clients in (1, 16, 64):
        figures |= await run(clients)
    report("append", figures)


asyncio.run(main())
