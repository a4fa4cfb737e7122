"""Three PostgreSQL servers: a coordinator whose tables are hash partitions, by tenant, on two nodes.

The schema is never written down here: migrations make it on every server, and the coordinator's tables are then put in
the place of its own by what its catalogue says of them.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
from tests.databases.postgres import opened

from anaphora.storage.columns import metadata
from anaphora.storage.postgres.document_search import document_words
from anaphora.storage.postgres.embedded import embedded
from anaphora.storage.postgres.embedded.server import Server
from anaphora.storage.postgres.engine import ROLE
from anaphora.storage.postgres.search import message_words
from anaphora.storage.tables import store_meta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NODES = 2
_TEMPLATE = "template_of_shards"
#: what every tenant has rows in
TABLES = tuple(
    table.name for table in (*metadata.sorted_tables, message_words, document_words) if table is not store_meta
)

_VIEWS = "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'"
_POLICIES = (
    "SELECT policyname, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'public' AND tablename = $1"
    " ORDER BY policyname"
)


@dataclass(slots=True, kw_only=True)
class Cluster:
    """The servers while they run, and the databases that were made on all of them."""

    coordinator: Server
    nodes: tuple[Server, ...]
    _made: set[str] = field(default_factory=set)
    #: every test has an event loop of its own, and a lock is of one loop
    _alone: dict[asyncio.AbstractEventLoop, asyncio.Lock] = field(default_factory=dict)

    async def database(self, name: str) -> str:
        """The coordinator's URL of a database; it is made, with its part on each node, when it is first asked for."""
        async with self._alone.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if _TEMPLATE not in self._made:
                await self._make_template()
            if name not in self._made:
                await self._copy(name)
        return self.coordinator.dsn(name)

    async def _make_template(self) -> None:
        for server in (*self.nodes, self.coordinator):
            async with connected(server, "postgres") as connection:
                await connection.execute(f'CREATE DATABASE "{_TEMPLATE}"')
            async with opened(server.dsn(_TEMPLATE)):
                pass
        async with connected(self.coordinator, _TEMPLATE) as connection:
            await _name_nodes(connection, self.nodes)
            views = await connection.fetch(_VIEWS)
            for statement in [each for table in TABLES for each in await _distributed(connection, table)]:
                await connection.execute(statement)
            for name, query in views:  # of the new tables
                await connection.execute(f"CREATE VIEW {name} AS {query}")
        async with opened(self.coordinator.dsn(_TEMPLATE)):  # gives the rights on the new tables
            pass
        async with connected(self.coordinator, _TEMPLATE) as connection:
            # for another role than the one that connects a node would open another snapshot
            for name, _ in views:
                await connection.execute(f"ALTER VIEW {name} OWNER TO {ROLE}")
            await connection.execute("DELETE FROM store_meta")  # each copy has a secret of its own
        self._made.add(_TEMPLATE)

    async def _copy(self, name: str) -> None:
        for server in (*self.nodes, self.coordinator):
            async with connected(server, "postgres") as connection:
                await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{_TEMPLATE}"')
        async with connected(self.coordinator, name) as connection:
            for at in range(len(self.nodes)):
                await connection.execute(f"ALTER SERVER node{at} OPTIONS (SET dbname '{name}')")
        self._made.add(name)


@contextmanager
def running(*, durable: bool) -> Iterator[Cluster]:
    """Three new servers, gone at the end."""
    with ExitStack() as stack:
        # outside of pytest's folders: on some machines the user who runs the servers may not enter them
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="anaphora-sh-", ignore_cleanup_errors=True))
        folder = Path(name)
        folder.chmod(0o755)
        nodes = tuple(stack.enter_context(embedded(folder / f"node{at}", durable=durable)) for at in range(NODES))
        yield Cluster(coordinator=stack.enter_context(embedded(folder / "coordinator", durable=durable)), nodes=nodes)


@cache
def cluster() -> Cluster:
    """The three servers of this test process."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running(durable=False))


def name_of(folder: Path) -> str:
    """The name of the database that belongs to the folder."""
    return f"sharded_{hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()}"


async def sharded_database_of(folder: Path) -> str:
    """The coordinator's URL of the database that belongs to the folder."""
    return await cluster().database(name_of(folder))


async def _name_nodes(connection: Any, nodes: Sequence[Server]) -> None:
    await connection.execute("CREATE EXTENSION postgres_fdw")
    for at, node in enumerate(nodes):
        where = parse_qs(urlsplit(node.dsn()).query)
        await connection.execute(
            f"CREATE SERVER node{at} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{where['host'][0]}',"
            f" port '{where['port'][0]}', dbname '{_TEMPLATE}', extensions 'pg_trgm,vector')"
        )
        for role in ("postgres", ROLE):
            await connection.execute(
                f"CREATE USER MAPPING FOR {role} SERVER node{at} OPTIONS (user 'postgres', password_required 'false')"
            )


async def _distributed(connection: Any, table: str) -> list[str]:
    """The statements that put a table of partitions in the place of one of ours, with its columns and its policies.

    Keys, references and checks stay behind: the nodes have them.
    """
    policies = await connection.fetch(_POLICIES, table)
    assert policies, f"{table} has no row-level policy"
    made = [
        f"ALTER TABLE {table} RENAME TO {table}_here",
        f"CREATE TABLE {table} (LIKE {table}_here INCLUDING DEFAULTS) PARTITION BY HASH (tenant_id)",
        f"DROP TABLE {table}_here CASCADE",
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    ]
    for name, command, using, check in policies:
        checked = f" WITH CHECK ({check})" if check else ""
        made.append(f"CREATE POLICY {name} ON {table} FOR {command} USING ({using}){checked}")
    made += [
        f"CREATE FOREIGN TABLE {table}_{at} PARTITION OF {table} FOR VALUES WITH (MODULUS {NODES}, REMAINDER {at})"
        f" SERVER node{at} OPTIONS (table_name '{table}')"
        for at in range(NODES)
    ]
    return made


@asynccontextmanager
async def connected(server: Server, database: str) -> AsyncIterator[Any]:
    """A connection as the one who may do everything."""
    connection = await asyncpg.connect(server.dsn(database))
    try:
        yield connection
    finally:
        await connection.close()


async def homes(folder: Path) -> list[set[str]]:
    """The tenants whose messages are on each node."""
    found = []
    for node in cluster().nodes:
        async with connected(node, name_of(folder)) as connection:
            found.append({row[0] for row in await connection.fetch("SELECT DISTINCT tenant_id FROM messages")})
    return found


@asynccontextmanager
async def stopped(server: Server) -> AsyncIterator[None]:
    """Within the block the server does not run."""
    await asyncio.to_thread(server.stop)
    try:
        assert not server.is_running()
        yield
    finally:
        await asyncio.to_thread(server.start)
