"""Every law of the store, on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.databases.postgres import database_of

from anaphora.ports.store import Store
from anaphora.storage.postgres.store import open_postgres
from anaphora.testing.conformance.store import StoreConformance


class TestPostgres(StoreConformance):
    @asynccontextmanager
    async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
        async with open_postgres(await database_of(folder), **how) as store:
            yield store
