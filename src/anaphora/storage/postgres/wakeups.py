"""Telling other processes, by NOTIFY, that there may be something to do; only that they need not wait to look.

A call that is lost costs no more than the time until the next look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    from anaphora.storage.postgres.engine import Server

_CHANNEL = "anaphora_jobs"
#: calls within so many seconds are one
_GATHERED = 0.02
#: seconds before a lost connection is made again
_AGAIN = 1.0
_TROUBLE = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncio.TimeoutError)


class Wakeups:
    """One connection beside the pool, made when it is first needed."""

    def __init__(self, server: Server, on_call: Callable[[], None]) -> None:
        self._server = server
        self._on_call = on_call
        self._connection: Any = None
        self._making = asyncio.Lock()
        self._calling: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def call(self) -> None:
        """Tell the others, soon."""
        if self._calling is None or self._calling.done():
            self._calling = asyncio.get_running_loop().create_task(self._call())

    async def listen(self) -> None:
        """Hear the others' calls from now on. Whoever began only now is called at once: one may have been missed."""
        if self._connection is None or self._connection.is_closed():
            await self._connected()
            self._on_call()

    async def close(self) -> None:
        """Say what is to be said, and leave."""
        if self._calling is not None:
            await asyncio.wait([self._calling])
        if self._connection is not None and not self._connection.is_closed():
            with suppress(*_TROUBLE):
                await self._connection.close(timeout=1)

    async def _call(self) -> None:
        await asyncio.sleep(_GATHERED)
        connection = await self._connected()
        if connection is not None:
            with suppress(*_TROUBLE):
                await connection.execute("NOTIFY anaphora_jobs")

    async def _connected(self) -> Any:  # noqa: ANN401 - asyncpg has no types
        async with self._making:
            if self._connection is not None and not self._connection.is_closed():
                return self._connection
            now = asyncio.get_running_loop().time()
            if now < self._not_before:
                return None
            self._not_before = now + _AGAIN
            with suppress(*_TROUBLE):
                made = await self._server.connect()
                await made.add_listener(_CHANNEL, self._heard)
                self._connection = made
                return made
            return None

    def _heard(self, connection: Any, pid: int, _channel: str, _payload: str) -> None:  # noqa: ANN401
        if pid != connection.get_server_pid():
            self._on_call()
