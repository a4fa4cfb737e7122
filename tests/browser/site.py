"""A service on a port of this machine, over a real file, in a thread of its own."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import uvicorn

from anaphora import Memory
from anaphora.cli.serving import listening
from anaphora.server import create_app
from anaphora.server.key_gate import KeyGate

T = TypeVar("T")


@dataclass
class Site:
    """Where it is, and who may come in."""

    loop: asyncio.AbstractEventLoop
    memory: Memory
    url: str
    keys: dict[str, str] = field(default_factory=dict)

    def do(self, what: Callable[[Memory], Awaitable[T]]) -> T:
        """Something with the memory, where it lives."""

        async def done() -> T:
            return await what(self.memory)

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(30)


@contextmanager
def site(path: Path, *users: str, worker: bool = False) -> Iterator[Site]:
    """A service for these users."""
    ready: list[Site] = []
    waiting, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with Memory.open(path, worker=worker, embedder="none", durability="normal") as memory:
            with listening("127.0.0.1", 0) as opened:
                made = Site(asyncio.get_running_loop(), memory, f"http://127.0.0.1:{opened.getsockname()[1]}")
                for user in users:
                    made.keys[user] = (await memory.keys.create(user=user, scopes=["all"])).key
                config = uvicorn.Config(create_app(memory, KeyGate(memory)), log_config=None, lifespan="off")
                server = uvicorn.Server(config)
                running = asyncio.create_task(server.serve(sockets=[opened]))
                while not server.started:
                    await asyncio.sleep(0.01)
                ready.append(made)
                waiting.set()
                await asyncio.to_thread(stop.wait)
                server.should_exit = server.force_exit = True
                await running

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        assert waiting.wait(60), "the service did not start"
        yield ready[0]
    finally:
        stop.set()
        thread.join(20)


def chromium() -> str:
    """Where the browser is."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found is not None, "no chromium: make test-browser installs it"
    return found
