"""Connections to one file, and the pragmas that make them safe."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from anaphora.errors import StoreError
from anaphora.storage.types import plain_json

#: FTS5 with trigrams came with 3.34, RETURNING with 3.35
_OLDEST_SQLITE = (3, 35, 0)
_STATEMENTS_KEPT = 256
_WRITER_CACHE_KIB = 16_384
_READER_CACHE_KIB = 8_192
_WAL_KEPT_BYTES = 32 * 1024 * 1024


class Durability(StrEnum):
    """What an acknowledged write survives: kill -9 always; with `full` also a power cut."""

    FULL = "full"
    NORMAL = "normal"


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
#: tables that every schema of ours has
_OURS = frozenset({"alembic_version", "store_meta"})
_SYNCHRONOUS = MappingProxyType(
    {Durability.FULL: "PRAGMA synchronous = FULL", Durability.NORMAL: "PRAGMA synchronous = NORMAL"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One SQLite database and how to open connections to it."""

    #: None: in memory, gone when its connection is closed
    path: Path | None
    durability: Durability
    read_only: bool
    #: the file lies where nothing can be created beside it, so SQLite must not try
    immutable: bool = False

    def writer(self, *, timeout: float) -> sa.Connection:
        """The connection that writes: every transaction takes the write lock at its start."""
        return self._connect(begin="BEGIN IMMEDIATE", timeout=timeout, setup=self._set_up_writer)

    def reader(self, *, timeout: float) -> sa.Connection:
        """A connection that cannot write: every transaction is one snapshot."""
        return self._connect(begin="BEGIN", timeout=timeout, setup=self._set_up_reader)

    def _connect(self, *, begin: str, timeout: float, setup: Callable[[sqlite3.Connection], None]) -> sa.Connection:
        def create() -> sqlite3.Connection:
            connection = sqlite3.connect(
                self._name(),
                timeout=timeout,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=_STATEMENTS_KEPT,
                uri=self.read_only,
            )
            try:
                setup(connection)
            except (sqlite3.Error, StoreError):
                connection.close()
                raise
            return connection

        engine = sa.create_engine(
            "sqlite://",
            creator=create,
            poolclass=NullPool,
            hide_parameters=True,
            json_serializer=plain_json,
            json_deserializer=json.loads,
        )

        @event.listens_for(engine, "begin")
        def _begin(connection: sa.Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine.connect()

    def _name(self) -> str:
        if self.path is None:
            return ":memory:"
        if not self.read_only:
            return str(self.path)
        return f"{self.path.absolute().as_uri()}?mode=ro{'&immutable=1' if self.immutable else ''}"

    def _refuse_strangers(self, connection: sqlite3.Connection) -> None:
        """Leave the databases of other programs as they are: even asking for a write-ahead log would change them."""
        tables = {name for (name,) in connection.execute(_TABLES)}
        if tables and not tables >= _OURS:
            raise StoreError(f"{self.path} is the database of another program: choose another path")

    def _set_up_writer(self, connection: sqlite3.Connection) -> None:
        self._refuse_strangers(connection)
        connection.execute("PRAGMA secure_delete = ON")
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal" and self.path is not None:
            raise StoreError(f"{self.path} is on a file system without shared memory: keep it on a local disk")
        connection.execute(_SYNCHRONOUS[self.durability])
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_KEPT_BYTES}")

    def _set_up_reader(self, connection: sqlite3.Connection) -> None:
        self._refuse_strangers(connection)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")


def raw(connection: sa.Connection) -> sqlite3.Connection:
    """The connection of Python's own module, for what is not said inside a transaction."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise StoreError("the connection to the database is gone: open the store again")
    return driver


def check_version() -> None:
    """Raise `StoreError` if Python's SQLite is too old."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: use a Python with 3.35 or later")
