"""A place between a client and a service at which connections can be lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(slots=True)
class Proxy:
    """Passes bytes on, until it is told not to."""

    url: str
    #: answers that never arrive: the service has done what was asked
    lose: int = 0
    #: connections that were made
    made: int = 0
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """Lose every connection now."""
        for writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def between(url: str) -> AsyncIterator[Proxy]:
    """A proxy before the service at that URL."""
    there = urlsplit(url)

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        proxy.made += 1
        proxy._open.add(writer)
        far_reader, far_writer = await asyncio.open_connection(there.hostname, there.port)
        tasks = [
            asyncio.create_task(_pumped(reader, far_writer, None)),
            asyncio.create_task(_pumped(far_reader, writer, proxy)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        proxy._open.discard(writer)
        for each in (far_writer, writer):
            each.transport.abort()

    server = await asyncio.start_server(passed, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    proxy = Proxy(f"http://{host}:{port}")
    try:
        yield proxy
    finally:
        proxy.cut()
        server.close()


async def _pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, losing: Proxy | None) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            if losing is not None and losing.lose:
                losing.lose -= 1
                return
            writer.write(piece)
            await writer.drain()
