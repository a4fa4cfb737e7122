"""Bring a database on a server to the newest schema, and examine it: each opens and closes its own connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from anaphora.ports.clock import Randomness
from anaphora.services.maintenance import Check, Judge
from anaphora.storage import migrations
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.postgres.checks import examine, examine_server
from anaphora.storage.postgres.document_search import TsDocuments
from anaphora.storage.postgres.dsn import Dsn
from anaphora.storage.postgres.engine import Connector
from anaphora.storage.postgres.errors import translated
from anaphora.storage.postgres.graphs import make_graph, missing_graphs
from anaphora.storage.postgres.opening import open_server
from anaphora.storage.postgres.residue import in_rows, vacuum
from anaphora.storage.postgres.search import TsWords
from anaphora.storage.postgres.transactions import Transactions
from anaphora.storage.postgres.vectors import PgVectors
from anaphora.storage.residue import Residue
from anaphora.storage.unit import SqlUnit

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


async def upgrade(url: str, *, randomness: Randomness, busy_timeout: float) -> tuple[str | None, str]:
    """The revision before (None: there was no schema), and the one after; the schema is made if it is not there."""
    connector = _connector(url, busy_timeout)
    async with _engine(connector) as engine:
        transactions = Transactions(engine=engine, randomness=randomness, patience=busy_timeout)
        before = await transactions.survey("", migrations.current)
    await open_server(connector, randomness=randomness, read_only=False)
    await _make_graphs(connector, randomness)
    return before, migrations.head()


async def _make_graphs(connector: Connector, randomness: Randomness) -> None:
    """Indexes that only large scopes need; they are made beside running work."""
    async with _engine(connector) as engine:
        transactions = Transactions(engine=engine, randomness=randomness, patience=connector.lock_timeout)
        missing = await transactions.survey("all", missing_graphs)
        with translated():
            async with engine.connect() as plain:
                connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
                for space in missing:
                    await make_graph(connection, space)


async def diagnose(
    url: str, judge: Judge, *, randomness: Randomness, now: datetime, stuck_seconds: float, durability: str, wait: float
) -> tuple[Check, ...]:
    """Everything that one snapshot can tell; nothing is written."""
    plain = _connector(url, wait, durable=durability == "full")
    connector, _ = await open_server(plain, randomness=randomness, read_only=True)
    policy = AppendPolicy(planner=lambda _strategy, _state: None, reader_of=str, randomness=randomness)

    def look(connection: sa.Connection) -> tuple[Check, ...]:
        index = TsWords(connection), PgVectors(connection), TsDocuments(connection)
        unit = SqlUnit(connection, *index, policy, now=lambda: now)
        found = tuple(examine(connection, unit, judge, now=now, stuck_seconds=stuck_seconds))
        return (*found, examine_server(connection, durability=durability))

    async with _engine(connector) as engine:
        transactions = Transactions(engine=engine, randomness=randomness, patience=wait)
        return await transactions.survey("all", look)


async def residue(url: str, canaries: Sequence[str], *, randomness: Randomness, wait: float) -> Sequence[Residue]:
    """Where the texts stand in rows; what the server keeps beside them is not seen from here."""
    plain = _connector(url, wait)
    connector, _ = await open_server(plain, randomness=randomness, read_only=True)
    async with _engine(connector) as engine:
        transactions = Transactions(engine=engine, randomness=randomness, patience=wait)
        return await transactions.survey("all", lambda connection: in_rows(connection, canaries))


async def vacuumed(url: str, *, randomness: Randomness, wait: float) -> int:
    """Vacuum every table; how many. Only the owner of the tables, or a superuser, is obeyed."""
    del randomness
    with translated():
        async with _engine(_connector(url, wait)) as engine, engine.connect() as plain:
            return await vacuum(await plain.execution_options(isolation_level="AUTOCOMMIT"))


def _connector(url: str, busy_timeout: float, *, durable: bool = True) -> Connector:
    return Connector(dsn=Dsn.parse(url), role=None, lock_timeout=max(busy_timeout, 0.001), durable=durable)


@asynccontextmanager
async def _engine(connector: Connector) -> AsyncIterator[AsyncEngine]:
    engine = connector.engine(connections=1, wait=connector.lock_timeout)
    try:
        yield engine
    finally:
        await engine.dispose()
