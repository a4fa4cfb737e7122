"""Opening a file: is it ours, is it of our time, and may it be written."""

from __future__ import annotations

import importlib
import os
import time
from pathlib import Path

import sqlalchemy as sa

from anaphora.errors import StoreBusy, StoreError, StoreReadOnly, StoreTooNew
from anaphora.ports.clock import Randomness
from anaphora.storage import migrations
from anaphora.storage.secret import make_secret, secret_in
from anaphora.storage.sqlite.engine import Database, check_version
from anaphora.storage.sqlite.errors import translated

#: how long one request for a lock waits inside SQLite, in seconds; between requests there is a random pause
LOCK_STEP = 0.05
_PAUSE = 0.02


def open_writer(database: Database, *, randomness: Randomness, busy_timeout: float) -> tuple[sa.Connection, bytes]:
    """A connection to the database in the newest schema, and the store's secret.

    Several processes may do this at once. Raises `StoreError` when the path cannot be a database of ours,
    `StoreReadOnly`, `StoreTooNew`, or `StoreBusy` when another process holds it for longer than the time-out.
    """
    check_version()
    if database.path is not None:
        _prepare(database.path)
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            return _try_writer(database, randomness)
        except StoreBusy:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE * (1 + randomness(1)[0]) / 256)


def open_read_only(database: Database, *, busy_timeout: float) -> tuple[sa.Connection, bytes]:
    """A connection that cannot write, to a database in the newest schema, and the store's secret."""
    check_version()
    if database.path is None or not database.path.is_file():
        raise StoreError(f"there is no database at {database.path}: give the path of an existing one")
    with translated():
        connection = database.reader(timeout=busy_timeout)
    ready = False
    try:
        with translated(), connection.begin():
            secret = secret_in(connection) if _check_revision(connection, database) else None
        if secret is None:
            raise StoreError(
                f"{database.path} is from an older version: open it once for writing to bring it up to date"
            )
        ready = True
    finally:
        if not ready:
            connection.close()
    return connection, secret


def _prepare(path: Path) -> None:
    """Make an empty file that only its owner can read, unless there is one."""
    if not path.parent.is_dir():
        raise StoreError(f"the folder {path.parent} does not exist: make it first")
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give the path of a file")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except PermissionError:
        raise StoreReadOnly(f"no file can be made in {path.parent}: check its permissions") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}") from error


def _try_writer(database: Database, randomness: Randomness) -> tuple[sa.Connection, bytes]:
    with translated():
        connection = database.writer(timeout=LOCK_STEP)
    ready = False
    try:
        with translated(), connection.begin():
            if not _check_revision(connection, database):
                _upgrade(connection)
            secret = secret_in(connection) or make_secret(connection, randomness)
        ready = True
    finally:
        if not ready:
            connection.close()
    return connection, secret


def _check_revision(connection: sa.Connection, database: Database) -> bool:
    """True if the schema is the newest, False if it has to be brought there."""
    revision = migrations.current(connection)
    if revision is None:
        return False
    if revision not in migrations.REVISIONS:
        raise StoreTooNew(f"{database.path} was written by a later version of Anaphora: upgrade to open it")
    return revision == migrations.head()


def _upgrade(connection: sa.Connection) -> None:
    # Alembic takes longer to load than everything else together, and is needed once in the life of a file
    importlib.import_module("anaphora.storage.migrations.run").upgrade(connection)
