"""Open a memory and do the first thing of each kind."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio

from anaphora.bench.child import serve, tell
from anaphora.bench.setup import plain_settings
from anaphora.memory import Memory

STEPS = ("open", "context", "search", "append")


async def _first_steps(told: Mapping[str, Any]) -> Mapping[str, Any]:
    at = [time.perf_counter()]
    async with Memory.open(settings=plain_settings(Path(told["db"])), worker=False) as memory:
        at.append(time.perf_counter())
        chat = memory.session(user=told["user"], session=told["session"])
        context = await chat.context(told["query"], budget=2_000)
        at.append(time.perf_counter())
        await memory.search(told["query"], user=told["user"])
        at.append(time.perf_counter())
        await chat.add("user", told["query"])
        at.append(time.perf_counter())
        taken = [later - earlier for earlier, later in pairwise(at)]
        tell({"steps": dict(zip(STEPS, taken, strict=True)), "seen": context.coverage.head})
    return {"closed": True}


def work(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Told `db`, `user`, `session` and `query`; answers the seconds of each step, then that it has closed."""
    return anyio.run(_first_steps, told)


if __name__ == "__main__":
    sys.exit(serve(work))
