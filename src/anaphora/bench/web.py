"""A client of HTTP that costs little: it shares its machine with the server that it asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

_HEAD_END: Final = b"\r\n\r\n"


@dataclass(slots=True)
class Web:
    """One connection, kept open; a request at a time."""

    port: int
    key: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def post(self, path: str, body: Mapping[str, Any]) -> int:
        """The status of the answer; its body is read, and not looked at.

        Raises:
            OSError: the connection broke.

        """
        text = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        self.writer.write(head.encode() + text)
        try:
            answered = (await self.reader.readuntil(_HEAD_END)).lower()
            at = answered.find(b"content-length:")
            if at < 0:
                raise ConnectionError("an answer without a length")
            await self.reader.readexactly(int(answered[at + 15 : answered.index(b"\r", at)]))
        except asyncio.IncompleteReadError:
            raise ConnectionError("the server closed the connection") from None
        return int(answered[9:12])


@asynccontextmanager
async def connected(port: int, key: str) -> AsyncIterator[Web]:
    """A connection to this machine's port, in the name of a key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Web(port, key, reader, writer)
    finally:
        writer.close()
