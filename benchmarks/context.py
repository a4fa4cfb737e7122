"""Is a context as fast at 100,000 messages as at 100?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from _report import percentile, report

from anaphora import Memory
from anaphora.services.ingest import MAX_BATCH
from anaphora.testing.scripted import ScriptedChat

LENGTHS = (100, 10_000, 100_000)
TEXT = "I would like to plant apple trees behind the shed, but the soil is heavy. "
ROUNDS = 400


async def main() -> None:
    figures: dict[str, float | int | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        async with Memory.open(path, worker=False, embedder="none", chat_model=ScriptedChat()) as memory:
            chats = {length: memory.session(user="u", session=f"s{length}") for length in LENGTHS}
            for length, chat in chats.items():
                turn = [{"role": role, "content": TEXT} for role in ("user", "assistant")]
                for _ in range(length // MAX_BATCH or 1):
                    await chat.add_turn((turn * (MAX_BATCH // 2))[: min(length, MAX_BATCH)])
                # single turns at the end, as people talk
                for _ in range(10):
                    await chat.add("user", TEXT)
                    await chat.add("assistant", TEXT)
            waits: dict[int, list[float]] = {length: [] for length in LENGTHS}
            for _ in range(ROUNDS):
                for length, chat in chats.items():
                    started = time.perf_counter()
                    await chat.context("Which trees did I want?", budget=2000)
                    waits[length].append(time.perf_counter() - started)
    for length, found in waits.items():
        figures[f"p50_ms_{length}"] = round(percentile(found, 0.5) * 1000, 2)
        figures[f"p99_ms_{length}"] = round(percentile(found, 0.99) * 1000, 2)
    figures["p50_ratio_100k_to_100"] = round(percentile(waits[100_000], 0.5) / percentile(waits[100], 0.5), 2)
    figures["p99_ratio_100k_to_100"] = round(percentile(waits[100_000], 0.99) / percentile(waits[100], 0.99), 2)
    report("context", figures)


asyncio.run(main())
