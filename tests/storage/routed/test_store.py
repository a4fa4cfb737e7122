"""A store out of several: each tenant on its own server, everything that concerns all from all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from anaphora.bootstrap.system import SystemClock, system_randomness
from anaphora.ports.store import Store
from anaphora.storage.routed.placement import Placement
from anaphora.storage.routed.store import RoutedStore
from anaphora.storage.sqlite.store import open_sqlite
from anaphora.testing.conformance.store_laws.tools import (
    MAX_ATTEMPTS,
    after,
    always,
    append,
    candidates,
    claim,
    due,
    key_of,
    log_of,
    names,
    planned,
    reader_of,
    soon,
)

pytestmark = pytest.mark.anyio

PLACEMENT = Placement(servers=("a", "b"), pinned={"on-a": "a", "on-b": "b"})
LATER = after(100)


@asynccontextmanager
async def files(folder: Path, *, planner: Any = always) -> AsyncIterator[dict[str, Store]]:
    how = {"planner": planner, "reader_of": reader_of, "clock": SystemClock(), "randomness": system_randomness}
    one = open_sqlite(folder / "a.db", max_attempts=MAX_ATTEMPTS, **how)
    other = open_sqlite(folder / "b.db", max_attempts=MAX_ATTEMPTS, **how)
    async with one as a, other as b:
        yield {"a": a, "b": b}


def routed(stores: dict[str, Store], placement: Placement = PLACEMENT) -> RoutedStore:
    return RoutedStore(stores, placement, secret=b"s" * 32, clock=SystemClock())


async def test_each_tenant_is_written_to_its_own_server_and_read_from_there(tmp_path: Path) -> None:
    async with files(tmp_path) as stores:
        store = routed(stores)
        for tenant in ("on-a", "on-b"):
            await store.append(append(f"of {tenant}", key=key_of(tenant=tenant)))
        for name, other in (("a", "b"), ("b", "a")):
            key = key_of(tenant=f"on-{name}")
            assert await log_of(store, key) == await log_of(stores[name], key) == [f"of on-{name}"]
            assert await names(stores[other], key.tenant) == []


async def test_what_is_due_on_every_server_is_found_and_counted(tmp_path: Path) -> None:
    """A tenant with much to do keeps nobody of another server waiting."""
    async with files(tmp_path) as stores:
        store = routed(stores)
        for number in range(5):
            await store.append(append("x", key=key_of(tenant="on-a", session=f"s{number}")))
        await store.append(append("x", key=key_of(tenant="on-b")))
        assert await due(store, now=LATER) == 6
        found = await candidates(store, now=LATER, limit=2)
        assert sorted(tenant for tenant, _ in found) == ["on-a", "on-b"]
        assert Counter(tenant for tenant, _ in await candidates(store, now=LATER)) == {"on-a": 5, "on-b": 1}
        for tenant, uid in found:
            assert await claim(store, tenant, uid, now=LATER) is not None


async def test_servers_take_turns_in_being_first(tmp_path: Path) -> None:
    """A worker that takes the first job each time serves every server."""
    async with files(tmp_path) as stores:
        store = routed(stores)
        for tenant in ("on-a", "on-b"):
            await store.append(append("x", key=key_of(tenant=tenant)))
        first = [(await candidates(store, now=LATER, limit=1))[0][0] for _ in range(4)]
        assert first in (["on-a", "on-b"] * 2, ["on-b", "on-a"] * 2)


async def test_work_of_tenants_that_belong_elsewhere_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Somebody wrote to a server beside the router: nobody could claim that here, so it is not offered."""
    async with files(tmp_path) as stores:
        for number in range(30):
            await stores["a"].append(append("x", key=key_of(tenant="on-b", session=f"s{number}"), now=after(-1)))
        store = routed(stores)
        await store.append(append("x", key=key_of(tenant="on-a")))
        assert [tenant for tenant, _ in await candidates(store, now=LATER, limit=2)] == ["on-a"]


async def test_all_tenants_are_listed_in_pages_across_servers(tmp_path: Path) -> None:
    async with files(tmp_path) as stores:
        store = routed(stores)
        everyone = sorted(f"t{number}" for number in range(25))
        for tenant in everyone:
            await store.append(append("x", key=key_of(tenant=tenant)))
        homes = Counter(PLACEMENT.server_of(tenant) for tenant in everyone)
        assert min(homes["a"], homes["b"]) > 5
        for limit in (1, 4, 25, 100):
            found: list[str] = []
            while page := await store.tenants(after=found[-1] if found else "", limit=limit):
                assert len(page) <= limit
                found += page
            assert found == everyone


async def test_a_tenant_is_listed_only_where_it_is_looked_for(tmp_path: Path) -> None:
    """However many stray ones stand before it."""
    async with files(tmp_path) as stores:
        for number in range(7):
            tenant = f"s{number}"
            wrong = "b" if PLACEMENT.server_of(tenant) == "a" else "a"
            await stores[wrong].append(append("x", key=key_of(tenant=tenant)))
        store = routed(stores)
        for tenant in ("t1", "t2", "t3"):
            await store.append(append("x", key=key_of(tenant=tenant)))
        assert await store.tenants(after="", limit=2) == ["t1", "t2"]
        assert await store.tenants(after="t2", limit=2) == ["t3"]


@pytest.mark.parametrize("tenant", ["on-a", "on-b"])
async def test_a_call_of_any_server_wakes_who_waits_for_work(tmp_path: Path, tenant: str) -> None:
    async with files(tmp_path) as stores:
        store = routed(stores)
        waiting = asyncio.create_task(store.wait_for_work(600))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await store.append(append("x", key=key_of(tenant=tenant)))
        await soon(waiting, "nobody was woken")


async def test_the_secret_is_that_of_all_together(tmp_path: Path) -> None:
    async with files(tmp_path) as stores:
        assert await routed(stores).secret() == b"s" * 32


async def test_jobs_planned_by_hand_keep_the_order_of_their_server(tmp_path: Path) -> None:
    async with files(tmp_path, planner=lambda _strategy, _state: None) as stores:
        store = routed(stores)
        expected: list[UUID] = []
        for number in range(3):
            key = key_of(tenant="on-b", session=f"s{number}")
            await store.append(append("x", key=key))
            await planned(store, key, run_at=after(number))
            expected += [uid for _, uid in await candidates(stores["b"], now=LATER) if uid not in expected]
        assert [uid for _, uid in await candidates(store, now=LATER)] == expected
