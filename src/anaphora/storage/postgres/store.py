"""`ports.store.Store` on a PostgreSQL server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.figures import Figures
from anaphora.domain.messages import Receipt
from anaphora.errors import StoreClosed, StoreReadOnly
from anaphora.ports.clock import Clock, Failpoint, Randomness, no_failpoint
from anaphora.ports.rows import Append
from anaphora.ports.store import Planner, Schedule, Unit
from anaphora.storage.bell import Bell
from anaphora.storage.closing import closing_store
from anaphora.storage.effects import Effects
from anaphora.storage.policy import DEFAULT_MAX_ATTEMPTS, AppendPolicy
from anaphora.storage.postgres.appends import Appends, Results
from anaphora.storage.postgres.document_search import TsDocuments
from anaphora.storage.postgres.dsn import Dsn
from anaphora.storage.postgres.engine import BEGAN, Connector
from anaphora.storage.postgres.opening import open_server
from anaphora.storage.postgres.search import TsWords
from anaphora.storage.postgres.transactions import Transactions
from anaphora.storage.postgres.vectors import PgVectors
from anaphora.storage.postgres.wakeups import Wakeups
from anaphora.storage.scope import SessionNames
from anaphora.storage.unit import SqlUnit

T = TypeVar("T")


class PostgresStore:
    """A database on a server.

    Use `open_postgres`. Work runs in the thread of the event loop, beside other work of the same loop. It may run a
    second time when its transaction was rolled back: it must only act through its unit.
    """

    def __init__(
        self,
        transactions: Transactions,
        wakeups: Wakeups,
        bell: Bell,
        *,
        secret: bytes,
        policy: AppendPolicy,
        clock: Clock,
        time: Clock | None,
        failpoint: Failpoint,
        read_only: bool,
    ) -> None:
        self._transactions = transactions
        self._wakeups = wakeups
        self._bell = bell
        self._secret = secret
        self._policy = policy
        self._clock = clock
        self._time = time
        self._failpoint = failpoint
        self._read_only = read_only
        self._closed = False
        self._appends = Appends(commit=self._append_all)
        self._going: set[asyncio.Task[Any]] = set()

    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        """Run in one snapshot; what it tries to write is refused."""
        self._check_open()
        return await self._finished(self._transactions.read(tenant, lambda connection: work(self._unit(connection))))

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        """Run in a transaction; when this returns, it is on disk. Nothing is written if `work` raises.

        Once this is awaited the work will be done, even if the caller is cancelled meanwhile.
        """
        self._check_writable()
        return await self._finished(self._transact(tenant, work))

    async def append(self, append: Append) -> Receipt:
        """Append; many callers share one transaction. Raises `KeyReused` or `InvalidInput` for this one alone."""
        self._check_writable()
        return await self._appends.put(append)

    async def due_jobs(
        self, *, now: datetime | None, lease_seconds: float, with_model: bool, limit: int, with_embedder: bool = True
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of jobs of all tenants that could be claimed at `now`, oldest first, fair between tenants."""
        return await self._survey(
            "queue",
            lambda unit: unit.jobs.candidates(
                now=now or unit.now(),
                lease_seconds=lease_seconds,
                with_model=with_model,
                with_embedder=with_embedder,
                limit=limit,
            ),
        )

    async def due_documents(
        self, *, now: datetime | None, lease_seconds: float, limit: int
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of documents of all tenants that wait for vectors and could be taken on at `now`."""
        return await self._survey(
            "queue",
            lambda unit: unit.documents.queue.due(now=now or unit.now(), lease_seconds=lease_seconds, limit=limit),
        )

    async def due_count(self, *, now: datetime | None, with_model: bool, with_embedder: bool = True) -> int:
        """Live jobs of all tenants that a worker could take at `now` (None: at any time), running ones included."""
        return await self._survey(
            "queue", lambda unit: unit.due_count(now=now, with_model=with_model, with_embedder=with_embedder)
        )

    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        """Who keeps anything here: names behind `after`, by code points, the first `limit`."""
        return await self._survey("all", lambda unit: unit.sessions.tenants(after=after, limit=limit))

    async def unfinished(self, *, limit: int) -> Sequence[str]:
        """The tenants of which something is still to be erased, or may expire in its own time."""
        return await self._survey("all", lambda unit: unit.erasures.unfinished(limit=limit))

    async def has_keys(self) -> bool:
        """Whether any tenant has a key, whatever it lets in."""
        return await self._survey("all", lambda unit: unit.api_keys.any())

    async def figures(self, *, stuck_before: datetime, with_model: bool, with_embedder: bool = True) -> Figures:
        """Counts of all tenants together. `stuck_before`: jobs that a worker could have done by then are stuck."""
        return await self._survey(
            "all",
            lambda unit: unit.figures(stuck_before=stuck_before, with_model=with_model, with_embedder=with_embedder),
        )

    async def wait_for_work(self, timeout: float) -> None:
        """Return when jobs may have been planned, by this process or another, or after the time-out."""
        self._check_open()
        called = self._bell.listen()
        waits = [asyncio.ensure_future(self._clock.sleep(timeout)), asyncio.ensure_future(self._wakeups.listen())]
        try:
            await asyncio.wait([called, waits[0]], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._bell.leave(called)
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def secret(self) -> bytes:
        """The store's own secret, made once: keys the delimiters of the memory block."""
        return self._secret

    async def close(self) -> None:
        """Finish what was handed in, then close. Twice is harmless; anything else afterwards is `StoreClosed`."""
        self._closed = True
        self._bell.ring()
        while going := {*self._going, *self._appends.running}:
            await asyncio.wait(going)
        await self._wakeups.close()
        await self._transactions.engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed: open it again")

    def _check_writable(self) -> None:
        self._check_open()
        if self._read_only:
            raise StoreReadOnly("the store was opened for reading only")

    async def _survey(self, scope: str, look: Callable[[SqlUnit], T]) -> T:
        self._check_open()
        return await self._finished(self._transactions.survey(scope, lambda connection: look(self._unit(connection))))

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that goes on to its end whatever becomes of its caller."""
        task = asyncio.get_running_loop().create_task(work)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_retrieved)
            raise

    async def _transact(self, tenant: str, work: Callable[[SqlUnit], T], *, appending: bool = False) -> T:
        kind = "append" if appending else "write"

        def run(connection: sa.Connection) -> tuple[T, Effects]:
            unit = self._unit(connection, writing=True)
            done = work(unit)
            unit.changes.settle()
            return done, unit.effects

        def before_commit(done: tuple[T, Effects]) -> None:
            if done[1].erased:
                self._failpoint("reset.before_commit")
            self._failpoint(f"{kind}.before_commit")

        result, effects = await self._transactions.write(tenant, run, before_commit=before_commit)
        self._failpoint(f"{kind}.after_commit")
        if effects.planned:
            self._bell.ring()
            self._wakeups.call()
        return result

    async def _append_all(self, tenant: str, appends: Sequence[Append]) -> Results:
        return await self._transact(
            tenant, lambda unit: unit.messages.append(appends, self._policy.planner), appending=True
        )

    def _unit(self, connection: sa.Connection, *, writing: bool = False) -> SqlUnit:
        names = SessionNames(connection, keeps=not writing)
        index = TsWords(connection, names), PgVectors(connection, names), TsDocuments(connection)
        return SqlUnit(connection, *index, self._policy, now=lambda: self._now(connection), writing=writing)

    def _now(self, connection: sa.Connection) -> datetime:
        if self._time is not None:
            return self._time.now()
        return cast("datetime", connection.info[BEGAN])


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Nobody waits for the task any more: its error is nobody's."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def open_postgres(
    url: str,
    *,
    planner: Planner,
    reader_of: Callable[[str | None], str],
    clock: Clock,
    randomness: Randomness,
    time: Clock | None = None,
    failpoint: Failpoint = no_failpoint,
    durable: bool = True,
    busy_timeout: float = 5.0,
    connections: int = 5,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    embeds: bool = False,
    schedule: Schedule | None = None,
    read_only: bool = False,
) -> AsyncIterator[PostgresStore]:
    """A store in the database behind the URL; its tables are made if they are not there. Closed at the end.

    Args:
        url: `postgresql://user:password@host:port/database?sslmode=…`, as libpq knows it.
        planner: says after each append whether the session's live reader has something to do.
        reader_of: the name of the live reader of a strategy.
        clock: the time for waiting.
        randomness: for ids, the secret, and pauses.
        time: what time it is; None: the server's clock, which is the same for the workers of all hosts.
        failpoint: told when a transaction is about to be committed and when it is.
        durable: an acknowledged write survives the server's end.
        busy_timeout: seconds to wait for a connection, for a row that is held, and for a server that restarts.
        connections: how many are kept at most; one more carries the calls between processes.
        embeds: whether every append plans vectors.
        schedule: when sessions are read for facts; None: never.
        max_attempts: how often a planned job may be claimed.
        read_only: never write.

    Raises:
        ConfigError: the URL cannot be read.
        StoreError: no server, or no database of ours; also its kinds `StoreTooNew` and `StoreBusy`.

    """
    plain = Connector(dsn=Dsn.parse(url), role=None, lock_timeout=max(busy_timeout, 0.001), durable=durable)
    connector, secret = await open_server(plain, randomness=randomness, read_only=read_only)
    policy = AppendPolicy(planner, reader_of, randomness, max_attempts, embeds, schedule)
    engine = connector.engine(connections=connections, wait=busy_timeout)
    transactions = Transactions(engine=engine, randomness=randomness, patience=busy_timeout)
    bell = Bell()
    store = PostgresStore(
        transactions,
        Wakeups(connector, bell.ring),
        bell,
        secret=secret,
        policy=policy,
        clock=clock,
        time=time,
        failpoint=failpoint,
        read_only=read_only,
    )
    async with closing_store(store):
        yield store
