"""Which database a URL names, and the store in it."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio

from anaphora.errors import ConfigError, MissingExtra
from anaphora.ports.clock import Clock
from anaphora.ports.store import Store
from anaphora.settings import Settings
from anaphora.storage.sqlite.store import open_sqlite

MEMORY = ":memory:"
_POSTGRES = frozenset({"postgresql", "postgres"})
#: followed by a folder: PostgreSQL without a server of one's own
_EMBEDDED = "embedded-postgres:"


def is_postgres(url: str) -> bool:
    """Whether the URL names a PostgreSQL server, or a folder for one."""
    scheme, mark, _ = url.partition("://")
    return url.startswith(_EMBEDDED) or (bool(mark) and scheme.partition("+")[0] in _POSTGRES)


def sqlite_path(url: str) -> str:
    """The file behind a database URL: a path, `sqlite:///path`, or `:memory:`.

    Raises:
        ConfigError: another kind of database.

    """
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    if scheme == "sqlite":
        return rest.removeprefix("/") or MEMORY
    raise ConfigError(f"{scheme}:// is no database that Anaphora knows: use a path such as memory.db, or postgresql://")


def shown(url: str) -> str:
    """The database for people: no password."""
    if url.startswith(_EMBEDDED):
        return url
    return str(postgres("dsn").Dsn.parse(url).shown) if is_postgres(url) else sqlite_path(url)


def open_store(
    settings: Settings,
    *,
    clock: Clock,
    time: Clock | None,
    read_only: bool,
    **how: Any,  # noqa: ANN401 - what every store is given
) -> AbstractAsyncContextManager[Store]:
    """The store that the settings name.

    Args:
        settings: where it is, and how it is used.
        clock: the time for waiting.
        time: what time it is for the workers of all hosts; None: the database's own clock, if it has one.
        read_only: never write.
        how: what every store is given.

    Raises:
        ConfigError: no database that Anaphora knows.
        MissingExtra: the packages for PostgreSQL are not installed.
        StoreError: it cannot be opened.

    """
    how |= {"clock": clock, "busy_timeout": settings.busy_timeout, "read_only": read_only}
    if is_postgres(settings.db):
        how |= {"time": time, "durable": settings.durability == "full", "connections": settings.postgres.connections}
        return _open_server(settings.db, how)
    return open_sqlite(sqlite_path(settings.db), durability=settings.durability, **how)


@asynccontextmanager
async def _open_server(url: str, how: Mapping[str, Any]) -> AsyncIterator[Store]:
    opening = postgres("store").open_postgres
    async with running(url) as reachable, opening(reachable, **how) as store:
        yield store


@asynccontextmanager
async def running(url: str) -> AsyncIterator[str]:
    """The URL of a server that runs: an embedded one is started, and stops when the last who uses it has left."""
    if not url.startswith(_EMBEDDED):
        yield url
        return
    folder = url.removeprefix(_EMBEDDED)
    if not folder:
        raise ConfigError("embedded-postgres: needs a folder: write embedded-postgres:./memory")
    server = postgres("embedded").embedded(Path(folder))
    reachable = await anyio.to_thread.run_sync(server.__enter__)
    try:
        yield reachable.dsn()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(server.__exit__, None, None, None)


def postgres(part: Literal["dsn", "embedded", "store", "upkeep"]) -> Any:  # noqa: ANN401 - a module
    """A module of the store on PostgreSQL.

    Raises:
        MissingExtra: its packages are not installed.

    """
    try:
        return importlib.import_module(f"anaphora.storage.postgres.{part}")  # optional packages
    except ImportError:
        raise MissingExtra("PostgreSQL", "postgres") from None
