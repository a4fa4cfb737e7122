"""What a database on a PostgreSQL server remembers of itself, in the table of its own secret."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from anaphora.storage.postgres.dsn import Dsn
from anaphora.storage.postgres.engine import Connector
from anaphora.storage.postgres.errors import TryAgain, translated

_GET = "SELECT name, value FROM store_meta WHERE name = ANY ($1::text[])"
_PUT = "INSERT INTO store_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_PUT_IF_ABSENT = "INSERT INTO store_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNotes:
    """`routed.opening.Notes` in the database behind the URL; written with the rights of its user."""

    url: str
    #: seconds to wait for somebody else's lock
    busy_timeout: float

    async def get(self, *names: str) -> Mapping[str, str]:
        """The notes with these names, as far as they are there."""
        async with self._connected() as connection:
            return dict(await connection.fetch(_GET, list(names)))

    async def put(self, name: str, value: str) -> None:
        """Write a note, or write it anew."""
        async with self._connected() as connection:
            await connection.execute(_PUT, name, value)

    async def put_if_absent(self, name: str, value: str) -> str:
        """Write a note unless it is there; what it says then."""
        async with self._connected() as connection:
            await connection.execute(_PUT_IF_ABSENT, name, value)
        return (await self.get(name))[name]

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        connector = Connector(dsn=Dsn.parse(self.url), role=None, lock_timeout=max(self.busy_timeout, 0.001))
        try:
            with translated():
                connection = await connector.connect()
                try:
                    yield connection
                finally:
                    await connection.close()
        except TryAgain as again:
            raise again.error from None
