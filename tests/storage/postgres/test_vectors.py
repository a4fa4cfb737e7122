"""Search by meaning on a server: how the planner goes about it, and what a walk along a graph may leave out."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from tests.databases.postgres import database_of, opened

from anaphora.bootstrap.system import system_randomness
from anaphora.domain.keys import SeqRange
from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector
from anaphora.ports.store import Unit
from anaphora.storage.postgres.dsn import Dsn
from anaphora.storage.postgres.engine import Connector
from anaphora.storage.postgres.graphs import graph_name, make_graph, missing_graphs
from anaphora.storage.postgres.store import PostgresStore
from anaphora.storage.postgres.upkeep import upgrade
from anaphora.storage.postgres.vectors import PREPARE, PgVectors, nearest, nearest_exactly
from anaphora.storage.scope import Scope
from anaphora.storage.vectors import OUTLIVED
from anaphora.testing.conformance.store_laws.tools import append, key_of, row_of

pytestmark = pytest.mark.anyio

#: an embedder whose name must be quoted
SPACE = Space(profile="it's/one", dimensions=32)
#: users of one tenant and how many passages each has, from nearly all to hardly any
SIZES: Mapping[str, int] = {"most": 24_000, "tenth": 3_000, "hundredth": 300, "few": 30, "two": 2}
#: passages of one message
PARTS = 1_000
#: the centres around which passages lie, as those of texts do
CENTRES = 60


def vectors(seed: int) -> Callable[[], list[float]]:
    """Vectors in clusters, one after the other."""
    chance = random.Random(7)
    centres = [[chance.gauss(0, 1) for _ in range(SPACE.dimensions)] for _ in range(CENTRES)]
    own = random.Random(seed)

    def make() -> list[float]:
        return [value + own.gauss(0, 0.6) for value in own.choice(centres)]

    return make


async def fill(store: PostgresStore, user: str, count: int) -> None:
    make, key = vectors(count), key_of(user)
    await store.append(append(*("text" for _ in range(0, count, PARTS)), key=key))

    def put(unit: Unit) -> None:
        row = row_of(unit, key)
        for message in unit.messages.range(key.tenant, row.id, SeqRange(0, row.head), limit=100):
            passages = [
                PassageVector(seq=message.seq, part=part, message_id=message.id, version=1, vector=make())
                for part in range(min(PARTS, count - message.seq * PARTS))
            ]
            unit.vectors.put(row, SPACE, passages)

    await store.write(key.tenant, put)


@dataclass(frozen=True)
class Filled:
    url: str


@pytest.fixture(scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A database with a graph, which the statistics know."""
    url = await database_of(tmp_path_factory.mktemp("vectors"))
    async with opened(url) as store:
        for user, count in SIZES.items():
            await fill(store, user, count)
    await upgrade(url, randomness=system_randomness, busy_timeout=5.0)
    connection = await asyncpg.connect(url)
    await connection.execute("ANALYZE message_vectors")
    await connection.close()
    return Filled(url)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def _scope(user: str) -> Scope:
    return Scope(tenant="t", user=user, agent=None, session_id=None)


def _run(connection: sa.Connection, query: sa.Select[Any], prefix: str = "") -> Sequence[Sequence[Any]]:
    """The rows of the query, or of what is put before it, planned as searches are."""
    connection.execute(PREPARE)
    compiled = query.compile(dialect=postgresql.dialect(paramstyle="named"))  # type: ignore[no-untyped-call] # SQLAlchemy's
    kinds = {"vector": postgresql.ARRAY(sa.REAL)}
    plain = re.sub(r"::\w+(\[\])?", "", str(compiled))  # types are given below
    text = sa.text(f"{prefix} {plain}").bindparams(
        *(sa.bindparam(name, value, type_=kinds.get(name)) for name, value in compiled.params.items())
    )
    return connection.execute(text).all()


async def plan(store: PostgresStore, user: str, wanted: Sequence[float]) -> str:
    """How the server finds the closest passages of a user, with the policies of rows on."""
    query = nearest(_scope(user), SPACE, wanted, 20)
    rows = await store._transactions.read("t", lambda connection: _run(connection, query, "EXPLAIN"))
    return "\n".join(row[0] for row in rows)


async def places(store: PostgresStore, user: str, wanted: Sequence[float], limit: int) -> list[tuple[int, int, int]]:
    """The number and part of what is found, best first, with the similarity in thousandths."""
    hits = await store.read(
        "t",
        lambda unit: unit.vectors.nearest(
            "t", user, agent=None, session_id=None, space=SPACE, vector=wanted, limit=limit
        ),
    )
    return [(hit.seq, hit.part, round(hit.similarity * 1000)) for hit in hits]


async def exactly(store: PostgresStore, user: str, wanted: Sequence[float], limit: int) -> set[tuple[int, int]]:
    query = nearest_exactly(_scope(user), SPACE, SPACE.unit(wanted), limit)
    rows = await store._transactions.read("t", lambda connection: connection.execute(query).all())
    return {(seq, part) for _, seq, part, _ in rows}


@pytest.mark.parametrize("user", SIZES)
async def test_at_least_95_of_100_of_the_exact_hits_are_found_at_every_selectivity(user: str, filled: Filled) -> None:
    make, found, asked = vectors(1), 0, 0
    async with opened(filled.url) as store:
        for _ in range(40):
            wanted = make()
            best = await exactly(store, user, wanted, 10)
            hits = await places(store, user, wanted, 10)
            assert len(hits) == len(best) == min(10, SIZES[user])
            assert [hit[2] for hit in hits] == sorted((hit[2] for hit in hits), reverse=True)
            found += len(best & {hit[:2] for hit in hits})
            asked += len(best)
    assert found >= 0.95 * asked


async def test_a_large_scope_is_searched_along_the_graph_and_a_small_one_through_its_b_tree(filled: Filled) -> None:
    wanted = SPACE.unit(vectors(2)())
    async with opened(filled.url) as store:
        plans = {user: await plan(store, user, wanted) for user in SIZES}
    assert f"Index Scan using {graph_name(SPACE)}" in plans["most"]
    for user in ("hundredth", "few", "two"):
        assert "ix_message_vectors_tenant_id_space_user_id" in plans[user]
        assert graph_name(SPACE) not in plans[user]
    assert not any("Seq Scan" in text for text in plans.values())


async def test_what_a_walk_along_the_graph_leaves_out_is_found_exactly(filled: Filled) -> None:
    """Wherever the planner goes wrong: with the b-tree gone, a walk for a few among very many ends too early."""
    make = vectors(3)
    async with opened(filled.url) as store:

        def short_sighted(connection: sa.Connection) -> tuple[int, int]:
            wanted = SPACE.unit(make())
            connection.execute(sa.text("SET LOCAL enable_sort = off"))
            connection.execute(sa.text("SET LOCAL enable_bitmapscan = off"))
            connection.execute(sa.text("SET LOCAL hnsw.max_scan_tuples = 1"))
            walk = _run(connection, nearest(_scope("few"), SPACE, wanted, 20))
            hits = PgVectors(connection).nearest(
                "t", "few", agent=None, session_id=None, space=SPACE, vector=wanted, limit=10
            )
            return len(walk), len(hits)

        counts = [await store._transactions.read("t", short_sighted) for _ in range(10)]
    assert any(walked < 10 for walked, _ in counts), "no walk ended too early: nothing was shown"
    assert {hits for _, hits in counts} == {10}


async def test_a_graph_is_made_only_where_a_scope_is_large_and_made_anew_when_broken(tmp_path: Path) -> None:
    url = await database_of(tmp_path)
    async with opened(url) as store:
        await fill(store, "most", 200)

        async def missing(large: int) -> Sequence[Space]:
            return await store._transactions.survey("all", lambda connection: missing_graphs(connection, large=large))

        assert await missing(200) == []
        assert await missing(199) == [SPACE]
        connector = Connector(dsn=Dsn.parse(url), role=None, lock_timeout=5.0)
        engine = connector.engine(connections=1, wait=5.0)
        async with engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
            await make_graph(connection, SPACE)
            assert await missing(199) == []
            broken = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(:name)"
            await connection.execute(sa.text(broken), {"name": graph_name(SPACE)})
            assert await missing(199) == [SPACE]
            await make_graph(connection, SPACE)
            assert await missing(199) == []
        await engine.dispose()


async def test_the_doctor_sees_vectors_of_deleted_messages(tmp_path: Path) -> None:
    url = await database_of(tmp_path)
    async with opened(url) as store:
        await fill(store, "most", 10)
        connection = await asyncpg.connect(url)
        await connection.execute("UPDATE messages SET deleted = true")
        await connection.close()
        found = await store._transactions.survey("all", lambda each: each.execute(OUTLIVED).all())
    assert found
