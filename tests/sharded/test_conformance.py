"""Every law of the store and of a memory, where each tenant's rows are on one of two nodes.

None is left out. What the laws do not speak of and is not kept here stands in `test_limits.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.conformance.memories import OnDatabase
from tests.sharded.cluster import sharded_database_of

from anaphora.ports.store import Store
from anaphora.storage.postgres.store import open_postgres
from anaphora.testing.conformance.store import StoreConformance

#: seconds: a transaction that waited for another one on its node is refused there and run again, perhaps often
PATIENCE = 30.0


class TestStore(StoreConformance):
    @asynccontextmanager
    async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
        async with open_postgres(await sharded_database_of(folder), busy_timeout=PATIENCE, **how) as store:
            yield store


class TestMemory(OnDatabase):
    settings = MappingProxyType({"busy_timeout": PATIENCE})

    async def database(self, folder: Path) -> str:
        return await sharded_database_of(folder)


def test_no_law_is_left_out() -> None:
    assert TestStore.left_out == TestMemory.left_out == {}
    assert len(TestStore.law_names()) > 140
    assert len(TestMemory.law_names()) > 60
