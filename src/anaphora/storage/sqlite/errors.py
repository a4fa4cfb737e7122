"""SQLite's result codes as our errors.

Messages never carry the statement's parameters: they hold what people said.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import sqlalchemy as sa

from anaphora.errors import (
    AnaphoraError,
    InvalidInput,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

#: the shared-memory file could not grow: what a full disk looks like in WAL mode
_NO_ROOM = sqlite3.SQLITE_IOERR_SHMSIZE
_BY_CODE: Mapping[int, tuple[type[AnaphoraError], str]] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: (StoreBusy, "another process kept the database locked for too long: try again"),
        sqlite3.SQLITE_LOCKED: (StoreBusy, "the database was locked for too long: try again"),
        sqlite3.SQLITE_FULL: (StoreFull, "no room left on the disk of the database: free some space, then try again"),
        sqlite3.SQLITE_READONLY: (
            StoreReadOnly,
            "the database cannot be written: check the permissions of its file and folder",
        ),
        sqlite3.SQLITE_CANTOPEN: (
            StoreReadOnly,
            "the database or the files beside it cannot be opened: check the permissions of its file and folder",
        ),
        sqlite3.SQLITE_NOTADB: (StoreError, "the file is not an SQLite database: choose another path"),
        sqlite3.SQLITE_CORRUPT: (StoreError, "the database file is damaged: restore it from a backup"),
    }
)


def translate(error: sqlite3.Error) -> AnaphoraError:
    """Our error for SQLite's."""
    extended = getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR
    known = _BY_CODE.get(sqlite3.SQLITE_FULL if extended == _NO_ROOM else extended & 0xFF)
    if known is not None:
        kind, message = known
        return kind(message)
    if isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"the database refused a row, nothing was written ({error})")
    return StoreError(f"the database failed, nothing was written ({error})")


@contextmanager
def translated() -> Iterator[None]:
    """Errors of SQLAlchemy and sqlite3 leave this block as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error) from error
    except sa.exc.StatementError as error:
        if isinstance(error.orig, AnaphoraError):
            raise error.orig from None
        if isinstance(error.orig, sqlite3.Error):
            raise translate(error.orig) from error.orig
        raise InvalidInput(f"a value that the database cannot hold ({type(error.orig).__name__})") from error
