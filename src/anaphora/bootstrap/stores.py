"""Which database a URL names, and the store in it; or which servers, and the store out of them."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio

from anaphora.errors import ConfigError, MissingExtra, UnknownName
from anaphora.ports.clock import Clock
from anaphora.ports.store import Store
from anaphora.settings import Settings
from anaphora.storage.routed.opening import Member, open_routed
from anaphora.storage.routed.placement import Placement
from anaphora.storage.sqlite.store import open_sqlite

MEMORY = ":memory:"
#: those of `postgres.servers`
SERVERS = ":servers:"
_POSTGRES = frozenset({"postgresql", "postgres"})
#: followed by a folder: PostgreSQL without a server of one's own
_EMBEDDED = "embedded-postgres:"


def is_postgres(url: str) -> bool:
    """Whether the URL names a PostgreSQL server, a folder for one, or the configured servers."""
    scheme, mark, _ = url.partition("://")
    return url == SERVERS or url.startswith(_EMBEDDED) or (bool(mark) and scheme.partition("+")[0] in _POSTGRES)


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
    if url == SERVERS or url.startswith(_EMBEDDED):
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
        return _open_servers(settings, how) if settings.db == SERVERS else _open_server(settings.db, how)
    return open_sqlite(sqlite_path(settings.db), durability=settings.durability, **how)


@asynccontextmanager
async def _open_server(url: str, how: Mapping[str, Any]) -> AsyncIterator[Store]:
    opening = postgres("store").open_postgres
    async with running(url) as reachable, opening(reachable, **how) as store:
        yield store


@asynccontextmanager
async def _open_servers(settings: Settings, how: Mapping[str, Any]) -> AsyncIterator[Store]:
    urls = servers_of(settings)

    def opening(name: str) -> AbstractAsyncContextManager[Member]:
        return open_member(urls[name], **how)

    routed = open_routed(opening, placement_of(settings), clock=how["clock"], read_only=how["read_only"])
    async with routed as store:
        yield store


@asynccontextmanager
async def open_member(url: str, *, busy_timeout: float, **how: Any) -> AsyncIterator[Member]:  # noqa: ANN401 - handed on
    """One server of several; nothing is said yet of which tenants it keeps."""
    opening = postgres("store").open_postgres
    notes = importlib.import_module("anaphora.storage.routed.notes")  # optional packages
    async with running(url) as reachable, opening(reachable, busy_timeout=busy_timeout, **how) as store:
        yield Member(store=store, notes=notes.ServerNotes(url=reachable, busy_timeout=busy_timeout))


def placement_of(settings: Settings) -> Placement:
    """Which of the configured servers keeps which tenant.

    Raises:
        ConfigError: no server, a name that no server can have, or a tenant that is pinned to none of them.

    """
    try:
        return Placement(servers=tuple(settings.postgres.servers), pinned=settings.postgres.pinned)
    except UnknownName as error:
        raise ConfigError(f"postgres.pinned: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"postgres.servers: {error}") from None


def servers_of(settings: Settings) -> Mapping[str, str]:
    """The URLs of the configured servers, by name.

    Raises:
        ConfigError: one of them is no PostgreSQL server, or two are the same.
        MissingExtra: the packages for PostgreSQL are not installed.

    """
    urls = {name: url.get_secret_value() for name, url in settings.postgres.servers.items()}
    places: dict[str, str] = {}
    for name, url in urls.items():
        if url == SERVERS or not is_postgres(url):
            raise ConfigError(
                f"postgres.servers.{name}: not a PostgreSQL server: write postgresql://user@host/database"
            )
        other = places.setdefault(shown(url), name)
        if other != name:
            raise ConfigError(f"postgres.servers: {other} and {name} are the same database: leave one out")
    return urls


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
