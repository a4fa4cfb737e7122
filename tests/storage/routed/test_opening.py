"""A list of servers that was changed: nobody's memory vanishes without a word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
from tests.databases.postgres import database_of, opened, running_server

from anaphora.bootstrap.system import SystemClock
from anaphora.domain.jobs import JobKind
from anaphora.errors import ConfigError, StoreError
from anaphora.storage.postgres.embedded import Server
from anaphora.storage.routed.notes import ServerNotes
from anaphora.storage.routed.opening import Member, open_routed
from anaphora.storage.routed.placement import Placement
from anaphora.storage.routed.store import RoutedStore
from anaphora.testing.conformance.store_laws.tools import append, candidates, due, key_of, log_of, names, soon

pytestmark = pytest.mark.anyio

PASSWORD = "hunter2"  # noqa: S105 - of nobody
TENANTS = [f"t{number}" for number in range(30)]
TWO = Placement(servers=("a", "b"))
THREE = Placement(servers=("a", "b", "c"))


@asynccontextmanager
async def listed(
    urls: Mapping[str, str], placement: Placement, *, read_only: bool = False, patience: float = 5.0
) -> AsyncIterator[RoutedStore]:
    """The store out of these servers."""

    @asynccontextmanager
    async def opening(name: str) -> AsyncIterator[Member]:
        async with opened(urls[name], read_only=read_only, busy_timeout=patience) as store:
            yield Member(store=store, notes=ServerNotes(url=urls[name], busy_timeout=patience))

    async with open_routed(opening, placement, clock=SystemClock(), read_only=read_only) as store:
        yield store


async def urls_in(folder: Path, *servers: str) -> dict[str, str]:
    return {name: await database_of(folder / name) for name in servers}


async def filled(urls: Mapping[str, str], placement: Placement) -> bytes:
    """Everybody says something; the secret of the list."""
    async with listed(urls, placement) as store:
        for tenant in TENANTS:
            await store.append(append(f"of {tenant}", key=key_of(tenant=tenant)))
        return await store.secret()


async def removed(url: str, tenant: str) -> None:
    """What the manual says of a tenant that has moved."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT set_config('anaphora.tenant', $1, false)", tenant)
        done = await connection.execute("DELETE FROM sessions WHERE tenant_id = $1", tenant)
        assert done == "DELETE 1"
    finally:
        await connection.close()


async def moved(urls: Mapping[str, str], tenant: str, *, source: str, target: str) -> None:
    async with opened(urls[target]) as store:
        await store.append(append(f"of {tenant}", key=key_of(tenant=tenant)))
    await removed(urls[source], tenant)


async def test_a_list_that_is_opened_again_needs_no_look_at_its_tenants(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b")
    secret = await filled(urls, TWO)
    async with listed(urls, TWO) as store:
        assert await store.secret() == secret
        assert await store.tenants(after="", limit=100) == sorted(TENANTS)
    stray = next(tenant for tenant in TENANTS if TWO.server_of(tenant) == "b")
    async with opened(urls["a"]) as beside:
        await beside.append(append("x", key=key_of(tenant=stray)))
    async with listed(urls, TWO) as store:  # known good: a stray one is the doctor's business
        assert await log_of(store, key_of(tenant=stray)) == [f"of {stray}"]


async def test_a_new_server_is_refused_until_those_who_belong_there_have_moved(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b", "c")
    secret = await filled(urls, TWO)
    movers = {tenant: TWO.server_of(tenant) for tenant in TENANTS if THREE.server_of(tenant) == "c"}
    assert len(movers) > 3
    first = min((source, tenant) for tenant, source in movers.items())
    says = f"'{first[1]}' is on {first[0]}, and looked for on c; .* and {len(movers) - 3} more: pin them there, or move"
    for read_only in (False, True):
        if read_only:
            async with opened(urls["c"]):
                pass
        with pytest.raises(StoreError, match=says):
            async with listed(urls, THREE, read_only=read_only):
                pass
    for tenant, source in movers.items():
        await moved(urls, tenant, source=source, target="c")
    async with listed(urls, THREE) as store:
        assert await store.tenants(after="", limit=100) == sorted(TENANTS)
        assert [await log_of(store, key_of(tenant=tenant)) for tenant in movers] == [[f"of {t}"] for t in movers]
        assert await store.secret() == secret


async def test_a_server_with_tenants_cannot_be_left_out(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b", "c")
    await filled(urls, THREE)
    with pytest.raises(StoreError, match="server 'c' is missing from the list, and the tenants that it keeps with it"):
        async with listed(urls, TWO):
            pass


async def test_who_is_pinned_where_they_live_need_not_move(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b", "c")
    await filled(urls, TWO)
    pinned = {tenant: TWO.server_of(tenant) for tenant in TENANTS}
    async with listed(urls, Placement(servers=("a", "b", "c"), pinned=pinned)) as store:
        assert await store.tenants(after="", limit=100) == sorted(TENANTS)
        assert [await log_of(store, key_of(tenant=tenant)) for tenant in TENANTS] == [[f"of {t}"] for t in TENANTS]


async def test_a_database_that_was_there_before_keeps_its_secret_for_all(tmp_path: Path) -> None:
    """Whoever comes back with a key from before must find what it stood for."""
    urls = await urls_in(tmp_path, "a", "b")
    async with opened(urls["b"]) as alone:
        await alone.append(append("x", key=key_of(tenant="acme")))
        secret = await alone.secret()
    placement = Placement(servers=("a", "b"), pinned={"acme": "b"})
    async with listed(urls, placement) as store:
        assert await store.secret() == secret
    async with listed(urls, placement, read_only=True) as store:
        assert await store.secret() == secret


async def test_servers_whose_addresses_were_exchanged_are_noticed(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b")
    await filled(urls, TWO)
    with pytest.raises(StoreError, match="server 'a' was 'b' before: give the address back to its name"):
        async with listed({"a": urls["b"], "b": urls["a"]}, TWO):
            pass


async def test_one_database_under_two_names_is_noticed(tmp_path: Path) -> None:
    url = await database_of(tmp_path)
    with pytest.raises(ConfigError, match="servers 'a' and 'b' are one database, or copies of one"):
        async with listed({"a": url, "b": url + "&application_name=other"}, TWO):
            pass


async def test_servers_of_two_lists_do_not_get_mixed(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b", "c", "d")
    for names_ in (("a", "b"), ("c", "d")):
        async with listed(urls, Placement(servers=names_)):
            pass
    with pytest.raises(StoreError, match="belong to different lists"):
        async with listed(urls, Placement(servers=("a", "b", "c", "d"))):
            pass


async def test_many_may_open_a_new_list_at_once(tmp_path: Path) -> None:
    urls = await urls_in(tmp_path, "a", "b")

    async def secret(number: int) -> bytes:
        async with listed(urls, TWO) as store:
            await store.append(append("x", key=key_of(tenant=f"t{number}")))
            return await store.secret()

    secrets = await asyncio.gather(*map(secret, range(6)))
    async with listed(urls, TWO) as store:
        assert {await store.secret()} == set(secrets)


# -- one server is down --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def other_server() -> Iterator[Server]:
    """A server that can be stopped."""
    with running_server(durable=False) as server:
        yield server


async def test_a_server_that_is_down_takes_only_its_own_tenants_with_it(tmp_path: Path, other_server: Server) -> None:
    url = other_server.dsn().replace("postgres@", f"postgres:{PASSWORD}@")
    assert PASSWORD in url
    urls = {"a": await database_of(tmp_path), "b": url}
    here, there = (next(tenant for tenant in TENANTS if TWO.server_of(tenant) == name) for name in "ab")
    always_due = {"planner": lambda _strategy, _state: JobKind.SUMMARISE}
    async with opened(urls["a"], **always_due) as beside:
        await beside.append(append("before", key=key_of(tenant=here)))
    async with listed(urls, TWO, patience=0.3) as store:
        await store.append(append("before", key=key_of(tenant=there)))
        await asyncio.to_thread(other_server.stop)
        try:
            assert not other_server.is_running()
            await store.append(append("after", key=key_of(tenant=here)))
            assert await log_of(store, key_of(tenant=here)) == ["before", "after"]
            assert [tenant for tenant, _ in await candidates(store)] == [here]
            await store.wait_for_work(0.1)
            said = []
            for refused in (
                log_of(store, key_of(tenant=there)),
                store.append(append("lost", key=key_of(tenant=there))),
                names(store, there),
                due(store),
                store.tenants(after="", limit=10),
            ):
                with pytest.raises(StoreError, match=r"^server 'b': the PostgreSQL server cannot be reached") as error:
                    await refused
                said.append(str(error.value))
            assert PASSWORD not in "".join(said)
            with pytest.raises(StoreError, match=r"^server 'b': "):
                async with listed(urls, TWO, patience=0.3):
                    pass
        finally:
            await asyncio.to_thread(other_server.start)
        assert await log_of(store, key_of(tenant=there)) == ["before"]
        assert await soon(due(store), "the server does not come back") == 1
