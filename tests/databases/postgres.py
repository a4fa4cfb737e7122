"""Databases on a real PostgreSQL server: one server a test process, a new database for each folder.

The server is that of `ANAPHORA_TEST_DSN`, whose user must be allowed to create databases, or an embedded one.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import os
import tempfile
from contextlib import ExitStack, asynccontextmanager, contextmanager
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
    from collections.abc import AsyncIterator, Iterator, Mapping

_NONE: Mapping[str, str] = MappingProxyType({})
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
    return stack.enter_context(running_server(durable=False)).dsn()


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


async def database_of(folder: Path) -> str:
    """The URL of the database that belongs to the folder; it is made, with its tables, when it is first asked for."""
    name = f"{_PREFIX}_{hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()}"
    async with _one_at_a_time():
        if _TEMPLATE not in _made():
            await _make_template()
        if name not in _made():
            await _execute(f'CREATE DATABASE "{name}" TEMPLATE "{_TEMPLATE}"')
            _made().add(name)
    return on(name)


async def empty_database_of(folder: Path) -> str:
    """The URL of a database without tables that belongs to the folder."""
    name = f"{_PREFIX}_e{hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()}"
    async with _one_at_a_time():
        if name not in _made():
            await _execute(f'CREATE DATABASE "{name}"')
            _made().add(name)
    return on(name)


_MAKING: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}


def _one_at_a_time() -> asyncio.Lock:
    return _MAKING.setdefault(asyncio.get_running_loop(), asyncio.Lock())


@cache
def _made() -> set[str]:
    return set()


async def _make_template() -> None:
    await _execute(f'CREATE DATABASE "{_TEMPLATE}"')
    _made().add(_TEMPLATE)
    async with opened(on(_TEMPLATE)):
        pass
    connection = await asyncpg.connect(on(_TEMPLATE))
    await connection.execute("DELETE FROM store_meta")  # each copy has a secret of its own
    await connection.close()
    if _GIVEN:
        atexit.register(_drop)


async def _execute(*statements: str) -> None:
    connection = await asyncpg.connect(server())
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _drop() -> None:
    """Somebody else's server is left as it was."""
    asyncio.run(_execute(*(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)' for name in _made())))


@asynccontextmanager
async def opened(url: str, **how: Any) -> AsyncIterator[PostgresStore]:
    """A store in the database, with a planner that plans nothing unless another is given."""
    given = {
        "planner": lambda _strategy, _state: False,
        "reader_of": lambda strategy: f"live:{strategy or 'standard'}",
        "clock": SystemClock(),
        "randomness": system_randomness,
        **how,
    }
    async with open_postgres(url, **given) as store:
        yield store
