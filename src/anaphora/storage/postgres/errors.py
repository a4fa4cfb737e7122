"""PostgreSQL's error codes as our errors.

Messages never carry what PostgreSQL says of a row: its details hold what people said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import asyncpg
import sqlalchemy as sa

from anaphora.errors import AnaphoraError, InvalidInput, StoreBusy, StoreError, StoreFull, StoreReadOnly

#: what rolls a transaction back that will do when it is run again: two that would each have changed what the other read
_AGAIN = frozenset({"40001", "40P01"})
#: what must be unique is there already: perhaps only since this transaction looked
_TAKEN = "23505"
#: the server is there, or will be, and cannot serve now: it starts, it stops, or it has no connection left
_SOON = frozenset({"53300", "57P01", "57P02", "57P03", "57P05"})
_BY_CODE: Mapping[str, tuple[type[AnaphoraError], str]] = MappingProxyType(
    {
        "25006": (StoreReadOnly, "the PostgreSQL server takes no writes here: connect to the primary"),
        "28000": (StoreError, "the PostgreSQL server refused the user: check its name and pg_hba.conf"),
        "28P01": (StoreError, "the PostgreSQL server refused the password: check it"),
        "3D000": (StoreError, "there is no such PostgreSQL database: make it first with createdb"),
        "40001": (StoreBusy, "other transactions were in the way for too long: try again"),
        "40P01": (StoreBusy, "other transactions were in the way for too long: try again"),
        "42501": (StoreError, "the PostgreSQL user lacks a privilege: run `anaphora migrate` as the owner"),
        "53100": (StoreFull, "no room left on the disk of the PostgreSQL server: free some space, then try again"),
        "53200": (StoreError, "the PostgreSQL server has no memory left, nothing was written"),
        "53300": (StoreBusy, "the PostgreSQL server has no connection left: try again, or use a smaller pool"),
        "55P03": (StoreBusy, "another process kept a row locked for too long: try again"),
        "57014": (StoreBusy, "the PostgreSQL server stopped a statement that took too long: try again"),
    }
)
_CLASSES: Mapping[str, tuple[type[AnaphoraError], str]] = MappingProxyType(
    {
        "08": (StoreError, "the connection to the PostgreSQL server was lost: try again"),
        "22": (InvalidInput, "a value that the database cannot hold"),
        "23": (StoreError, "the database refused a row, nothing was written"),
        "57": (StoreError, "the PostgreSQL server is shutting down or starting: try again"),
    }
)
_GONE = "the PostgreSQL server cannot be reached: check that it runs and that the URL is right"


class TryAgain(Exception):
    """The transaction did nothing and may be run again; what to say when patience is over."""

    def __init__(self, error: AnaphoraError, *, once: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        #: one more attempt is enough to tell whether somebody else was in the way
        self.once = once


@contextmanager
def translated() -> Iterator[None]:
    """Errors of SQLAlchemy and asyncpg leave this block as ours, or as `TryAgain`."""
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise StoreBusy(
            "all connections to the PostgreSQL server are in use: try again, or use a larger pool"
        ) from error
    except sa.exc.ResourceClosedError as error:  # a connection that ended before anybody had it
        raise TryAgain(StoreError(f"{_GONE} ({type(error).__name__})")) from None
    except sa.exc.StatementError as error:
        if isinstance(error.orig, AnaphoraError):
            raise error.orig from None
        if not isinstance(error, sa.exc.DBAPIError):
            raise InvalidInput(f"a value that the database cannot hold ({type(error.orig).__name__})") from None
        raise _translate(error, lost=error.connection_invalidated) from _harmless(error)
    except (TimeoutError, OSError) as error:
        raise TryAgain(StoreError(f"{_GONE} ({type(error).__name__})")) from None
    except asyncpg.InternalClientError as error:  # what a connection says whose server was killed
        raise TryAgain(StoreError(f"{_GONE} ({type(error).__name__})")) from None
    except asyncpg.PostgresError as error:
        raise _translate(error, lost=False) from None


def _translate(error: BaseException, *, lost: bool) -> Exception:
    code = code_of(error)
    ours = _ours(code)
    if code == _TAKEN:
        return TryAgain(ours, once=True)
    return TryAgain(ours) if lost or code in _AGAIN or code in _SOON or code.startswith("08") else ours


def _harmless(error: sa.exc.DBAPIError) -> BaseException | None:
    """What PostgreSQL says of a statement, which is ours; not what it says of a row, which is somebody's."""
    return error.orig if code_of(error).startswith("42") else None


def _ours(code: str) -> AnaphoraError:
    kind, message = (
        _BY_CODE.get(code) or _CLASSES.get(code[:2]) or (StoreError, "the database failed, nothing was written")
    )
    return kind(f"{message} ({code})" if code else message)


def code_of(error: BaseException) -> str:
    """The five characters that PostgreSQL gave, or nothing; asyncpg's own complaints about a value are of class 22."""
    seen: BaseException | None = error
    while seen is not None:
        code = getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None)
        if code:
            return str(code)
        if type(seen).__module__.startswith("asyncpg") and type(seen).__name__ == "DataError":
            return "22000"
        seen = getattr(seen, "orig", None) or seen.__cause__
    return ""
