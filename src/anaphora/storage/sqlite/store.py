"""`ports.store.Store` on one SQLite file."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.figures import Figures
from anaphora.domain.messages import Receipt
from anaphora.errors import StoreClosed, StoreError, StoreReadOnly
from anaphora.ports.clock import Clock, Failpoint, Randomness, no_failpoint
from anaphora.ports.rows import Append
from anaphora.ports.store import Planner, Schedule, Unit
from anaphora.storage.bell import Bell
from anaphora.storage.closing import closing_store
from anaphora.storage.policy import DEFAULT_MAX_ATTEMPTS, AppendPolicy
from anaphora.storage.scope import SessionNames
from anaphora.storage.sqlite.document_search import FtsDocuments
from anaphora.storage.sqlite.engine import Database, Durability, raw
from anaphora.storage.sqlite.errors import translated
from anaphora.storage.sqlite.matrices import Matrices
from anaphora.storage.sqlite.opening import open_read_only, open_writer
from anaphora.storage.sqlite.place import Place
from anaphora.storage.sqlite.search import FtsWords
from anaphora.storage.sqlite.vectors import BlobVectors
from anaphora.storage.sqlite.watching import Watch
from anaphora.storage.sqlite.writer import Task, Writer, settle
from anaphora.storage.unit import SqlUnit

T = TypeVar("T")

MEMORY = ":memory:"
#: how often other processes' work is looked for, in seconds
_WATCH_EVERY = 0.4


class SqliteStore:
    """A database in one file, or in memory.

    Use `open_sqlite`. `work` given to `write` may run a second time when the transaction that it shared with
    others failed: it must only act through its unit.
    """

    def __init__(
        self,
        database: Database,
        connection: sa.Connection,
        *,
        secret: bytes,
        policy: AppendPolicy,
        clock: Clock,
        failpoint: Failpoint,
        busy_timeout: float,
        readers: int,
    ) -> None:
        self._database = database
        self._place = Place.of(database.path)
        self._connection = connection
        self._secret = secret
        self._policy = policy
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._bell = Bell()
        self._matrices = Matrices()
        self._watching = Watch(database, self._matrices.forget, timeout=busy_timeout)
        self._closed = False
        self._closing = threading.Lock()
        self._pending: dict[asyncio.AbstractEventLoop, list[Task]] = {}
        self._idle_readers: queue.SimpleQueue[sa.Connection] = queue.SimpleQueue()
        #: in memory there is only one connection, for which reads and writes take turns
        self._guard: AbstractContextManager[Any] = threading.Lock() if database.path is None else nullcontext()
        self._executor = ThreadPoolExecutor(readers, thread_name_prefix="anaphora-reader")
        self._seen = _data_version(connection)
        self._writer: Writer | None = None
        if database.read_only:
            self._idle_readers.put(connection)
        else:
            self._writer = Writer(
                connection,
                guard=self._guard,
                make_unit=self._unit,
                policy=policy,
                failpoint=failpoint,
                busy_timeout=busy_timeout,
                on_planned=self._bell.ring,
                on_erased=self._matrices.forget,
                check_place=self._place.check,
            )

    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:  # noqa: ARG002 - every method of a unit has it
        """Run in one snapshot; what it tries to write is refused."""
        return await self._look(work)

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:  # noqa: ARG002 - every method of a unit has it
        """Run in a transaction; when this returns, it is on disk. Nothing is written if `work` raises.

        Once this is awaited the work will be done, even if the caller is cancelled meanwhile.
        """
        return cast("T", await self._hand_in(work=work))

    async def append(self, append: Append) -> Receipt:
        """Append; many callers share one transaction. Raises `KeyReused` or `InvalidInput` for this one alone."""
        return cast("Receipt", await self._hand_in(append=append))

    async def due_jobs(
        self, *, now: datetime | None, lease_seconds: float, with_model: bool, limit: int, with_embedder: bool = True
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of jobs of all tenants that could be claimed at `now`, oldest first, fair between tenants."""
        return await self._look(
            lambda unit: unit.jobs.candidates(
                now=now or unit.now(),
                lease_seconds=lease_seconds,
                with_model=with_model,
                with_embedder=with_embedder,
                limit=limit,
            )
        )

    async def due_documents(
        self, *, now: datetime | None, lease_seconds: float, limit: int
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of documents of all tenants that wait for vectors and could be taken on at `now`."""
        return await self._look(
            lambda unit: unit.documents.queue.due(now=now or unit.now(), lease_seconds=lease_seconds, limit=limit)
        )

    async def due_count(self, *, now: datetime | None, with_model: bool, with_embedder: bool = True) -> int:
        """Live jobs of all tenants that a worker could take at `now` (None: at any time), running ones included."""
        return await self._look(
            lambda unit: unit.due_count(now=now, with_model=with_model, with_embedder=with_embedder)
        )

    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        """Who keeps anything here: names behind `after`, by code points, the first `limit`."""
        return await self._look(lambda unit: unit.sessions.tenants(after=after, limit=limit))

    async def unfinished(self, *, limit: int) -> Sequence[str]:
        """The tenants of which something is still to be erased, or may expire in its own time."""
        return await self._look(lambda unit: unit.erasures.unfinished(limit=limit))

    async def has_keys(self) -> bool:
        """Whether any tenant has a key, whatever it lets in."""
        return await self._look(lambda unit: unit.api_keys.any())

    async def figures(self, *, stuck_before: datetime, with_model: bool, with_embedder: bool = True) -> Figures:
        """Counts of all tenants together. `stuck_before`: jobs that a worker could have done by then are stuck."""
        return await self._look(
            lambda unit: unit.figures(stuck_before=stuck_before, with_model=with_model, with_embedder=with_embedder)
        )

    async def wait_for_work(self, timeout: float) -> None:
        """Return when jobs may have been planned, by this process or another, or after the time-out."""
        self._check_open()
        called = self._bell.listen()
        waits = [asyncio.ensure_future(self._clock.sleep(timeout)), asyncio.ensure_future(self._watch())]
        try:
            await asyncio.wait([called, *waits], return_when=asyncio.FIRST_COMPLETED)
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
        self._flush(asyncio.get_running_loop())
        self._closed = True
        self._bell.ring()
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        with self._closing:
            self._watching.stop()
            if self._writer is not None:
                self._writer.stop()
            self._executor.shutdown()
            with suppress(queue.Empty):
                while True:
                    self._idle_readers.get_nowait().close()
            if not self._connection.closed:
                self._connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed: open it again")

    def _unit(self, connection: sa.Connection, matrices: Matrices | None = None) -> SqlUnit:
        names = SessionNames(connection, keeps=matrices is not None)
        vectors = BlobVectors(connection, matrices, names)
        words, documents = FtsWords(connection, names), FtsDocuments(connection)
        return SqlUnit(connection, words, vectors, documents, self._policy, now=self._clock.now)

    async def _look(self, work: Callable[[SqlUnit], T]) -> T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._read, work)

    def _read(self, work: Callable[[SqlUnit], T]) -> T:
        self._place.check()
        with translated(), self._snapshot() as connection:
            done = work(self._unit(connection, self._matrices))
        if self._matrices.kept:
            self._watching.begin()
        return done

    @contextmanager
    def _snapshot(self) -> Iterator[sa.Connection]:
        """A connection in a transaction that cannot write, for one thread at a time."""
        if self._database.path is None:
            with self._guard, self._connection.begin():
                raw(self._connection).execute("PRAGMA query_only = ON")
                try:
                    yield self._connection
                finally:
                    raw(self._connection).execute("PRAGMA query_only = OFF")
            return
        try:
            connection = self._idle_readers.get_nowait()
        except queue.Empty:
            connection = self._database.reader(timeout=self._busy_timeout)
        try:
            with connection.begin():
                yield connection
        finally:
            self._idle_readers.put(connection)

    def _hand_in(
        self,
        *,
        append: Append | None = None,
        work: Callable[[SqlUnit], Any] | None = None,
        aside: Callable[[sa.Connection], Any] | None = None,
    ) -> asyncio.Future[Any]:
        """Take something to the writer, together with all that this round of the event loop hands in."""
        self._check_open()
        if self._writer is None:
            raise StoreReadOnly("the store was opened for reading only")
        loop = asyncio.get_running_loop()
        task = Task(loop.create_future(), append=append, work=work, aside=aside)
        pending = self._pending.get(loop)
        if pending is None:
            self._pending[loop] = [task]
            loop.call_soon(self._flush, loop)
        else:
            pending.append(task)
        return task.future

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        tasks = self._pending.pop(loop, None)
        if not tasks or self._writer is None:
            return
        try:
            self._writer.put(tasks)
        except StoreClosed as error:
            for task in tasks:
                task.outcome.error = error
            settle(tasks)

    async def _watch(self) -> None:
        """Return when another process has written."""
        if self._writer is None or self._database.path is None:
            await asyncio.get_running_loop().create_future()
        with suppress(StoreError):  # closed or out of order: the caller finds out by its next call
            while True:
                await asyncio.sleep(_WATCH_EVERY)
                version = await self._hand_in(aside=_data_version)
                if version != self._seen:
                    self._seen = version
                    return


@asynccontextmanager
async def open_sqlite(
    path: str | Path,
    *,
    planner: Planner,
    reader_of: Callable[[str | None], str],
    clock: Clock,
    randomness: Randomness,
    failpoint: Failpoint = no_failpoint,
    durability: str = Durability.FULL,
    busy_timeout: float = 5.0,
    readers: int = 3,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    embeds: bool = False,
    schedule: Schedule | None = None,
    read_only: bool = False,
) -> AsyncIterator[SqliteStore]:
    """A store on the file at `path`, made if it is not there; `:memory:` for one that is forgotten. Closed at the end.

    Args:
        path: the file; its folder must exist.
        planner: says after each append whether the session's live reader has something to do.
        reader_of: the name of the live reader of a strategy.
        clock: the time for waiting.
        randomness: for ids, the secret, and pauses.
        failpoint: told when a transaction is about to be committed and when it is.
        durability: "full": an acknowledged write survives a power cut; "normal": kill -9, and is faster.
        busy_timeout: seconds to wait for another process that writes.
        readers: how many threads read.
        embeds: whether every append plans vectors.
        schedule: when sessions are read for facts; None: never.
        max_attempts: how often a planned job may be claimed.
        read_only: open an existing file without ever writing to it.

    Raises:
        StoreError: no database of ours; also its kinds `StoreReadOnly`, `StoreTooNew`, `StoreBusy`, `StoreFull`.

    """
    database = Database(
        path=None if str(path) == MEMORY else Path(path), durability=Durability(durability), read_only=read_only
    )
    policy = AppendPolicy(planner, reader_of, randomness, max_attempts, embeds, schedule)
    if read_only:
        database, connection, secret = await asyncio.to_thread(_open_for_reading, database, busy_timeout)
    else:
        connection, secret = await asyncio.to_thread(
            open_writer, database, randomness=randomness, busy_timeout=busy_timeout
        )
    store = SqliteStore(
        database,
        connection,
        secret=secret,
        policy=policy,
        clock=clock,
        failpoint=failpoint,
        busy_timeout=busy_timeout,
        readers=readers,
    )
    async with closing_store(store):
        yield store


def _open_for_reading(database: Database, busy_timeout: float) -> tuple[Database, sa.Connection, bytes]:
    """Open; where SQLite cannot make its own files beside the database, without them."""
    try:
        return database, *open_read_only(database, busy_timeout=busy_timeout)
    except StoreReadOnly:
        log = Path(f"{database.path}-wal")
        if log.exists() and log.stat().st_size:
            raise
        still = replace(database, immutable=True)
        return still, *open_read_only(still, busy_timeout=busy_timeout)


def _data_version(connection: sa.Connection) -> int:
    """A number that changes when another process commits."""
    return int(raw(connection).execute("PRAGMA data_version").fetchone()[0])
