"""Databases on a real PostgreSQL server: one server a test process, a new database for each folder.

The server is that of `ANAPHORA_TEST_DSN`, whose user must be allowed to create databases, or an embedded one.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from anaphora.bootstrap.system import SystemClock, system_randomness
from anaphora.storage.postgres.embedded import Server, embedded
from anaphora.storage.postgres.store import PostgresStore, open_postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

_NONE: Mapping[str, str] = MappingProxyType({})
#: a database takes 9 MB, and the first to be dropped in a while costs a checkpoint: they go so many together
_DROPPED_TOGETHER = 16
#: so many databases are made that the write-ahead log would take a gigabyte
_SMALL_LOG = MappingProxyType({"max_wal_size": "256MB"})
#: names of databases on a server that others use too
_PREFIX = f"anaphora_test_{os.getpid()}"
_TEMPLATE = f"{_PREFIX}_template"
#: read at once: the settings of whoever runs the tests are hidden from them later
_GIVEN = os.environ.get("ANAPHORA_TEST_DSN")


@cache
def server() -> str:
    """The URL of the server, with the database that can be used to make others."""
    return _GIVEN or embedded_server()


def given_server() -> str | None:
    """The URL of the server that whoever runs the tests has named, if any."""
    return _GIVEN


@cache
def embedded_server() -> str:
    """The URL of a server that lets everybody in who can reach its socket, as whoever they like."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running_server(durable=False, settings=_SMALL_LOG)).dsn()


@contextmanager
def running_server(*, durable: bool, settings: Mapping[str, str] = _NONE) -> Iterator[Server]:
    """An embedded server in a new folder, gone at the end."""
    # outside of pytest's folders: on some machines the user who runs the server may not enter them
    with tempfile.TemporaryDirectory(prefix="anaphora-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with embedded(folder / "server", durable=durable, settings=settings) as running:
            yield running


def on(database: str) -> str:
    """The URL of a database of the server."""
    parts = urlsplit(server())
    return urlunsplit(parts._replace(path=f"/{database}"))


async def database_of(folder: Path, *, lasting: bool = False) -> str:
    """The URL of the database that belongs to the folder; it is made, with its tables, when it is first asked for.

    It is gone some time after the test that asked first, unless it is lasting or was made for more than one test.
    """
    async with _one_at_a_time():
        if not _template():
            await _make_template()
        return await _belonging_to(str(folder), f'TEMPLATE "{_TEMPLATE}"', lasting=lasting)


async def empty_database_of(folder: Path) -> str:
    """The URL of a database without tables that belongs to the folder."""
    async with _one_at_a_time():
        return await _belonging_to(f"{folder} (empty)", "", lasting=False)


async def _belonging_to(owner: str, options: str, *, lasting: bool) -> str:
    if owner not in _made():
        name = f"{_PREFIX}_{next(_NUMBERS)}"
        await _execute(f'CREATE DATABASE "{name}" {options}')
        _made()[owner] = _Database(name, lasting=lasting)
    return on(_made()[owner].name)


_MAKING: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}


def _one_at_a_time() -> asyncio.Lock:
    return _MAKING.setdefault(asyncio.get_running_loop(), asyncio.Lock())


@contextmanager
def databases_of_a_test() -> Iterator[None]:
    """What is made within the block is dropped after it, with that of other tests; nobody may still need it."""
    before = set(_made())
    yield
    # the next test may be given a folder of the same name
    _done().extend(
        _made().pop(owner).name
        for owner, database in list(_made().items())
        if owner not in before and not database.lasting
    )
    if len(_done()) >= _DROPPED_TOGETHER:
        with ThreadPoolExecutor(1) as aside:  # the test may have a loop in this thread
            aside.submit(_drop, _done()).result()
        _done().clear()


@dataclass(frozen=True, slots=True)
class _Database:
    name: str
    lasting: bool


_NUMBERS = itertools.count()


@cache
def _made() -> dict[str, _Database]:
    """The databases by whom they belong to."""
    return {}


@cache
def _done() -> list[str]:
    """The names of those that nobody needs any more."""
    return []


@cache
def _template() -> list[str]:
    """The name of the template, once it is there."""
    return []


async def _make_template() -> None:
    await _execute(f'CREATE DATABASE "{_TEMPLATE}"')
    _template().append(_TEMPLATE)
    if _GIVEN:  # somebody else's server is left as it was
        atexit.register(lambda: _drop([*_done(), *(database.name for database in _made().values()), _TEMPLATE]))
    async with opened(on(_TEMPLATE)):
        pass
    connection = await asyncpg.connect(on(_TEMPLATE))
    await connection.execute("DELETE FROM store_meta")  # each copy has a secret of its own
    await connection.close()


async def _execute(*statements: str) -> None:
    connection = await asyncpg.connect(server())
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _drop(names: Iterable[str]) -> None:
    asyncio.run(_execute(*(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)' for name in names)))


@asynccontextmanager
async def opened(url: str, **how: Any) -> AsyncIterator[PostgresStore]:
    """A store in the database, with a planner that plans nothing unless another is given."""
    given = {
        "planner": lambda _strategy, _state: None,
        "reader_of": lambda strategy: f"live:{strategy or 'standard'}",
        "clock": SystemClock(),
        "randomness": system_randomness,
        **how,
    }
    async with open_postgres(url, **given) as store:
        yield store
