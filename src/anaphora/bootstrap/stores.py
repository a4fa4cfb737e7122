"""Which database a URL names, and the store in it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

from anaphora.errors import ConfigError, MissingExtra
from anaphora.ports.clock import Clock
from anaphora.ports.store import Store
from anaphora.settings import Settings
from anaphora.storage.sqlite.store import open_sqlite

MEMORY = ":memory:"
_POSTGRES = frozenset({"postgresql", "postgres"})


def is_postgres(url: str) -> bool:
    """Whether the URL names a PostgreSQL server."""
    scheme, mark, _ = url.partition("://")
    return bool(mark) and scheme.partition("+")[0] in _POSTGRES


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
        opening: Callable[..., AbstractAsyncContextManager[Store]] = postgres("store").open_postgres
        return opening(
            settings.db,
            time=time,
            durable=settings.durability == "full",
            connections=settings.postgres.connections,
            **how,
        )
    return open_sqlite(sqlite_path(settings.db), durability=settings.durability, **how)


def postgres(part: Literal["dsn", "store", "upkeep"]) -> Any:  # noqa: ANN401 - a module
    """A module of the store on PostgreSQL.

    Raises:
        MissingExtra: its packages are not installed.

    """
    try:
        return importlib.import_module(f"anaphora.storage.postgres.{part}")  # optional packages
    except ImportError:
        raise MissingExtra("PostgreSQL", "postgres") from None
