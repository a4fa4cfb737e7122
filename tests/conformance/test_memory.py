"""Every law of a memory, on `Memory` over a file and over a server."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.memories import OnDatabase
from tests.databases.postgres import database_of
from tests.databases.sqlite import fresh


class TestOnSqlite(OnDatabase):
    async def database(self, folder: Path) -> str:
        return str(fresh(folder / "memory.db"))


class TestOnPostgres(OnDatabase):
    async def database(self, folder: Path) -> str:
        return await database_of(folder)
