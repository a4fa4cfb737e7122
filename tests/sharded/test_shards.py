"""Where the rows are, who may see them, and what happens when a node is down."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.databases.postgres import opened
from tests.sharded.cluster import TABLES, cluster, connected, homes, name_of, sharded_database_of, stopped

from anaphora import Memory
from anaphora.domain.jobs import JobKind
from anaphora.errors import StoreError
from anaphora.storage.postgres.engine import ROLE
from anaphora.testing.conformance.store_laws.tools import append, candidates, key_of, log_of

pytestmark = pytest.mark.anyio

TENANT: sa.ColumnClause[str] = sa.column("tenant_id")
TENANTS = [f"t{number}" for number in range(12)]


async def filled(folder: Path) -> str:
    url = await sharded_database_of(folder)
    async with opened(url, planner=lambda _strategy, _state: JobKind.SUMMARISE) as store:
        for tenant in TENANTS:
            await store.append(append("a word", key=key_of(tenant=tenant)))
    return url


async def test_each_tenants_rows_are_on_one_node_and_none_is_on_the_coordinator(tmp_path: Path) -> None:
    await filled(tmp_path)
    one, other = await homes(tmp_path)
    assert one | other == set(TENANTS)
    assert not one & other
    assert min(len(one), len(other)) > 1
    for node, tenants in zip(cluster().nodes, (one, other), strict=True):
        async with connected(node, name_of(tmp_path)) as connection:
            for table in ("sessions", "receipts", "jobs", "message_words"):
                rows = await connection.fetch(str(sa.select(TENANT).distinct().select_from(sa.table(table))))
                assert {row[0] for row in rows} == tenants, table
    async with connected(cluster().coordinator, name_of(tmp_path)) as connection:
        kept = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        assert {row[0] for row in await connection.fetch(kept)} == {"store_meta", "alembic_version"}


async def test_a_tenants_statement_is_sent_to_its_node_alone(tmp_path: Path) -> None:
    await filled(tmp_path)
    async with connected(cluster().coordinator, name_of(tmp_path)) as connection:
        for table in TABLES:
            of_one = sa.select(TENANT).select_from(sa.table(table)).where(sa.literal_column("'t3'") == TENANT)
            plan = await connection.fetch(f"EXPLAIN (VERBOSE) {of_one}")
            assert sum("Foreign Scan on" in row[0] for row in plan) == 1, table
        everybody = await connection.fetch("EXPLAIN (VERBOSE) SELECT * FROM messages")
        assert sum("Foreign Scan on" in row[0] for row in everybody) == 2


async def test_the_coordinator_shows_a_transaction_its_own_tenant_only(tmp_path: Path) -> None:
    """The nodes are asked by one who may see everything: what a tenant may see is decided before that."""
    await filled(tmp_path)
    async with connected(cluster().coordinator, name_of(tmp_path)) as connection:
        assert await connection.fetchval("SELECT count(*) FROM messages") == len(TENANTS)
        await connection.execute(f"SET ROLE {ROLE}")
        for table in TABLES:
            assert await connection.fetchval(str(sa.select(sa.func.count()).select_from(sa.table(table)))) == 0, table
        await connection.execute("SET anaphora.tenant = 't3'")
        assert [row[0] for row in await connection.fetch("SELECT tenant_id FROM messages")] == ["t3"]
        assert await connection.execute("UPDATE sessions SET head = 7 WHERE tenant_id = 't4'") == "UPDATE 0"


async def test_an_export_is_restored_through_the_coordinator(tmp_path: Path) -> None:
    url = await sharded_database_of(tmp_path)
    async with Memory.open(url, embedder="none", durability="normal", worker=False) as memory:
        await memory.session(user="u", session="s", tenant="acme").add("user", "hello")
        lines = [line async for line in memory.export(tenant="acme")]
        await memory.restore(lines, tenant="other")
        found = await memory.session(user="u", session="s", tenant="other").messages()
        assert [message.content for message in found] == ["hello"]


async def test_a_node_that_is_down_is_missed_by_its_own_tenants_and_by_who_looks_for_work(tmp_path: Path) -> None:
    url = await filled(tmp_path)
    here, there = (min(tenants) for tenants in await homes(tmp_path))
    async with opened(url, busy_timeout=0.5) as store:
        async with stopped(cluster().nodes[1]):
            assert await log_of(store, key_of(tenant=here)) == ["a word"]
            await store.append(append("another", key=key_of(tenant=here), idempotency_key="k"))
            for refused in (
                log_of(store, key_of(tenant=there)),
                store.append(append("another", key=key_of(tenant=there))),
                candidates(store),
            ):
                with pytest.raises(StoreError, match="connection to the PostgreSQL server was lost"):
                    await refused
        assert await log_of(store, key_of(tenant=there)) == ["a word"]
        assert await log_of(store, key_of(tenant=here)) == ["a word", "another"]
        assert {tenant for tenant, _ in await candidates(store, limit=50)} == set(TENANTS)
