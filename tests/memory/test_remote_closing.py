"""An embedder that hangs holds nobody up: neither the event loop nor the end of the process."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import anyio.to_thread
import pytest

from anaphora import Memory
from anaphora.testing import faults
from anaphora.testing.model_server import ScriptedModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.sqlite_only]


def wait_until_asked(server: ScriptedModelServer) -> None:
    give_up = time.monotonic() + 10
    while not server.embeddings.requests:
        assert time.monotonic() < give_up
        time.sleep(0.005)


async def test_closing_does_not_wait_for_an_embedder_that_hangs(tmp_path: Path) -> None:
    with ScriptedModelServer() as server:
        server.embeddings.fault = faults.Timeout()
        async with Memory.open(
            tmp_path / "m.db",
            embedder="openai:scripted",
            embedder_base_url=server.base_url,
            embedder_dimensions=32,
            embedder_timeout=60,
        ) as memory:
            await memory.session(user="ann", session="s").add("user", "hello")
            await anyio.to_thread.run_sync(wait_until_asked, server)
            begin = time.monotonic()
        assert time.monotonic() - begin < 10
        assert [thread for thread in threading.enumerate() if thread.name == "anaphora-embedder"] == []


async def test_the_event_loop_goes_on_while_the_length_of_vectors_is_asked_for(tmp_path: Path) -> None:
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    with ScriptedModelServer() as server:
        server.embeddings.fault = faults.Timeout()
        async with Memory.open(
            tmp_path / "m.db",
            embedder="openai:scripted",
            embedder_base_url=server.base_url,
            embedder_timeout=2,
            worker=False,
        ) as memory:
            await memory.session(user="ann", session="s").add("user", "hello")
            watching = asyncio.create_task(watch())
            await memory.work()
            watching.cancel()
        assert [request.texts for request in server.embeddings.requests] == [("word",)]
    assert 0 < longest < 1
