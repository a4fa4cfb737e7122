"""Every law of the store, on SQLite files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.databases.sqlite import fresh

from anaphora.ports.store import Store
from anaphora.storage.sqlite.store import open_sqlite
from anaphora.testing.conformance.store import StoreConformance


class TestSqlite(StoreConformance):
    @asynccontextmanager
    async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
        async with open_sqlite(fresh(folder / "memory.db"), **how) as store:
            yield store
