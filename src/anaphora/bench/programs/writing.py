"""Append when told to go, while other processes do the same on the same database."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from itertools import islice
from typing import Any

import anyio
import anyio.to_thread

from anaphora.bench.child import hear, serve, tell
from anaphora.bench.filling import warm_up
from anaphora.bench.setup import plain_settings
from anaphora.bench.words import Words
from anaphora.bootstrap import open_services
from anaphora.errors import StoreError
from anaphora.memory import Memory
from anaphora.settings import PostgresSettings


async def _write(told: Mapping[str, Any]) -> Mapping[str, Any]:
    words = Words(told["seed"])
    waits: list[float] = []
    failed = 0
    server = PostgresSettings(connections=told["connections"])
    users = [f"{told['name']}-{number}" for number in range(told["clients"])]
    # made beforehand: what the clients say is not the memory's work
    said = {user: list(islice(words.talk(user), told["messages"] // told["clients"])) for user in users}
    async with open_services(plain_settings(told["db"], tenant=told["tenant"], postgres=server)) as services:
        memory = Memory(services)
        warm_up(services)

        async def client(user: str) -> None:
            nonlocal failed
            chat = memory.session(user=user, session="bench")
            for role, text in said[user]:
                started = time.perf_counter()
                try:
                    await chat.add(role, text)
                except StoreError:
                    failed += 1
                    continue
                waits.append(time.perf_counter() - started)

        tell({"ready": True})
        await anyio.to_thread.run_sync(hear)
        started = time.perf_counter()
        async with anyio.create_task_group() as group:
            for user in users:
                group.start_soon(client, user)
        seconds = time.perf_counter() - started
    return {"waits": waits, "failed": failed, "seconds": seconds}


def work(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Told what `writers` tells; answers `ready`, then how long each append took."""
    return anyio.run(_write, told)


if __name__ == "__main__":
    sys.exit(serve(work))
