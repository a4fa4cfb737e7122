"""Bring a database to the newest schema, and examine it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from anyio.from_thread import start_blocking_portal

from anaphora.bootstrap import servers
from anaphora.bootstrap.stores import SERVERS, is_postgres, postgres, running, sqlite_path
from anaphora.bootstrap.system import SystemClock, system_randomness
from anaphora.errors import ConfigError, StoreReadOnly
from anaphora.ports.clock import Clock
from anaphora.services.maintenance import Check, CoverageJudge, Diagnosis
from anaphora.settings import Settings
from anaphora.storage import migrations
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.sqlite.checks import examine, examine_library, examine_writer
from anaphora.storage.sqlite.document_search import FtsDocuments
from anaphora.storage.sqlite.engine import Database, Durability
from anaphora.storage.sqlite.errors import translated
from anaphora.storage.sqlite.opening import open_read_only, open_writer
from anaphora.storage.sqlite.search import FtsWords
from anaphora.storage.sqlite.vectors import BlobVectors
from anaphora.storage.unit import SqlUnit

T = TypeVar("T")


def migrate(settings: Settings) -> tuple[str | None, str]:
    """Bring the database to the newest schema; it is made if it is not there.

    Returns:
        The revision before (None: there was no schema), and the one after.

    Raises:
        StoreError: it cannot be opened, is not ours, or was written by a later version.

    """
    if settings.db == SERVERS:
        return servers.migrate(settings, migrate)
    if is_postgres(settings.db):
        revisions: tuple[str | None, str] = on_server(
            settings, postgres("upkeep").upgrade, busy_timeout=settings.busy_timeout
        )
        return revisions
    database = database_of(settings)
    before = None
    if database.path is not None and database.path.exists():
        with translated(), closing(_reader(database, settings)) as connection, connection.begin():
            before = migrations.current(connection)
    made, _ = open_writer(database, randomness=system_randomness, busy_timeout=settings.busy_timeout)
    made.close()
    return before, migrations.head()


def diagnose(settings: Settings, *, stuck_seconds: float, clock: Clock | None = None) -> Diagnosis:
    """Examine the database in one snapshot; nothing is written.

    Raises:
        StoreError: it cannot be opened, is not ours, or is from another version.

    """
    if settings.db == SERVERS:
        return servers.diagnose(settings, lambda one: diagnose(one, stuck_seconds=stuck_seconds, clock=clock))
    now = (clock or SystemClock()).now()
    judge = CoverageJudge(strategies=settings.strategies())
    if is_postgres(settings.db):
        checks: tuple[Check, ...] = on_server(
            settings,
            postgres("upkeep").diagnose,
            judge=judge,
            now=now,
            stuck_seconds=stuck_seconds,
            durability=settings.durability,
            wait=settings.busy_timeout,
        )
        return Diagnosis(checks=tuple(sorted(checks, key=_place)))
    database = replace(database_of(settings), read_only=True)
    with translated(), opened(database, settings) as connection:
        index = FtsWords(connection), BlobVectors(connection), FtsDocuments(connection)
        unit = SqlUnit(connection, *index, _NO_APPENDS, now=lambda: now)
        found = tuple(examine(connection, unit, judge, now=now, stuck_seconds=stuck_seconds))
    checks = (*found, *_writer_checks(settings), examine_library())
    return Diagnosis(checks=tuple(sorted(checks, key=_place)))


def on_server(settings: Settings, work: Callable[..., Awaitable[T]], **how: Any) -> T:  # noqa: ANN401 - handed on
    """Work on a server, in an event loop of its own, whether or not one runs here."""

    async def task() -> T:
        async with running(settings.db) as url:
            return await work(url, randomness=system_randomness, **how)

    with start_blocking_portal() as portal:
        return portal.call(task)


def _place(check: Check) -> int:
    """Invariants by their numbers, then the rest."""
    number = check.id.removeprefix("I")
    return int(number) if number.isdigit() else 1000


def _writer_checks(settings: Settings) -> Iterator[Check]:
    database = database_of(settings)
    try:
        with translated(), closing(database.writer(timeout=settings.busy_timeout)) as connection:
            yield from examine_writer(connection, durability=settings.durability)
    except StoreReadOnly as error:
        yield Check(id="I7", name="the database can be written", ok=False, detail=str(error), warning=True)


@contextmanager
def opened(database: Database, settings: Settings) -> Iterator[sa.Connection]:
    """A connection in a snapshot of a database in the newest schema."""
    try:
        connection, _ = open_read_only(database, busy_timeout=settings.busy_timeout)
    except StoreReadOnly:
        connection, _ = open_read_only(replace(database, immutable=True), busy_timeout=settings.busy_timeout)
    with closing(connection):
        connection.begin()  # ended by closing: a damaged file does not even let a reader commit
        yield connection


def _reader(database: Database, settings: Settings) -> sa.Connection:
    return replace(database, read_only=True).reader(timeout=settings.busy_timeout)


def database_of(settings: Settings) -> Database:
    """The file that is configured.

    Raises:
        ConfigError: there is none: the database is in memory.

    """
    name = sqlite_path(settings.db)
    if name == ":memory:":
        raise ConfigError("a database in memory is gone when the command ends: give the path of a file")
    return Database(path=Path(name), durability=Durability(settings.durability), read_only=False)


#: examining appends nothing
_NO_APPENDS = AppendPolicy(
    planner=lambda _strategy, _state: None, reader_of=lambda strategy: strategy or "", randomness=system_randomness
)
