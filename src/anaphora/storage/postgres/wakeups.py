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
    from anaphora.storage.postgres.engine import Connector

_CHANNEL = "anaphora_jobs"
#: calls within so many seconds are one
_GATHERED = 0.02
#: seconds before a lost connection is made again
_AGAIN = 1.0
_TROUBLE = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncio.TimeoutError,
)


class Wakeups:
    """One connection beside the pool, made when it is first needed."""

    def __init__(self, connector: Connector, on_call: Callable[[], None]) -> None:
        self._connector = connector
        self._on_call = on_call
        self._connection: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._calling: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def call(self) -> None:
        """Tell the others, soon."""
        if self._calling is None or self._calling.done():
            self._calling = asyncio.get_running_loop().create_task(self._call())

    async def listen(self) -> None:
        """Hear the others' calls from now on. Whoever began only now is called at once: one may have been missed."""
        if not self._is_connected() and await self._connected() is not None:
            self._on_call()

    async def close(self) -> None:
        """Say what is to be said, and leave."""
        going = [task for task in (self._calling, self._connecting) if task is not None]
        if going:
            await asyncio.wait(going)
        if self._is_connected():
            with suppress(*_TROUBLE):
                await self._connection.close(timeout=1)

    async def _call(self) -> None:
        await asyncio.sleep(_GATHERED)
        connection = await self._connected()
        if connection is None:
            return
        try:
            await connection.execute("NOTIFY anaphora_jobs")
        except _TROUBLE:
            # one that failed in the middle of something may be of no use any more, and not say so
            connection.terminate()

    def _is_connected(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    async def _connected(self) -> Any:  # noqa: ANN401 - asyncpg has no types
        """The connection; None if there is none to be had now. Whoever waits no more does not end the attempt."""
        if not self._is_connected():
            loop = asyncio.get_running_loop()
            if self._connecting is None or (self._connecting.done() and loop.time() >= self._not_before):
                self._connecting = loop.create_task(self._connect())
            await asyncio.shield(self._connecting)
        return self._connection if self._is_connected() else None

    async def _connect(self) -> None:
        self._not_before = asyncio.get_running_loop().time() + _AGAIN
        with suppress(*_TROUBLE):
            made = await self._connector.connect()
            await made.add_listener(_CHANNEL, self._heard)
            self._connection = made

    def _heard(self, connection: Any, pid: int, _channel: str, _payload: str) -> None:  # noqa: ANN401
        if pid != connection.get_server_pid():
            self._on_call()
