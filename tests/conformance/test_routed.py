"""Every law of the store, on two databases that are one: two on a PostgreSQL server, and a file beside another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.databases.postgres import database_of

from anaphora.ports.store import Store
from anaphora.storage.postgres.store import open_postgres
from anaphora.storage.routed.notes import ServerNotes
from anaphora.storage.routed.opening import Member, open_routed
from anaphora.storage.routed.placement import Placement
from anaphora.storage.routed.store import RoutedStore
from anaphora.storage.sqlite.store import open_sqlite
from anaphora.testing.conformance.store import StoreConformance

#: the laws speak of these tenants most: each server has one of them
PLACEMENT = Placement(servers=("a", "b"), pinned={"t": "a", "t2": "b"})


pytestmark = pytest.mark.sharded


class TestServers(StoreConformance):
    @asynccontextmanager
    async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
        urls = {name: await database_of(folder / name) for name in PLACEMENT.servers}

        @asynccontextmanager
        async def opening(name: str) -> AsyncIterator[Member]:
            async with open_postgres(urls[name], **how) as store:
                yield Member(store=store, notes=ServerNotes(url=urls[name], busy_timeout=5))

        async with open_routed(opening, PLACEMENT, clock=how["clock"], read_only=False) as store:
            yield store


class TestFiles(StoreConformance):
    """The router asks nothing of its stores but that they are stores."""

    @asynccontextmanager
    async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
        async with open_sqlite(folder / "a.db", **how) as one, open_sqlite(folder / "b.db", **how) as other:
            secret = await one.secret()
            yield RoutedStore({"a": one, "b": other}, PLACEMENT, secret=secret, clock=how["clock"])
