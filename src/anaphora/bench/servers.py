"""A PostgreSQL server for the time of a question, on the disk whose speed is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio.to_thread

from anaphora.bench.setup import Setup
from anaphora.bootstrap.stores import postgres
from anaphora.errors import MissingExtra

if TYPE_CHECKING:
    from anaphora.storage.postgres.embedded import Server

_EXTRA = "embedded-postgres"
_NONE: Mapping[str, str] = MappingProxyType({})


def check_installed() -> None:
    """Raise `MissingExtra` unless there is a PostgreSQL to be started."""
    if find_spec("asyncpg") is None:
        raise MissingExtra("PostgreSQL without a server", _EXTRA)
    postgres("embedded").find_programs()


@asynccontextmanager
async def server(setup: Setup, settings: Mapping[str, str] = _NONE) -> AsyncIterator[Server]:
    """A server that syncs every commit to the disk; it ends with the block."""
    # who runs it, if not we, must be able to enter
    setup.folder.chmod(0o711)
    running: AbstractContextManager[Server] = postgres("embedded").embedded(
        setup.folder / "server", durable=True, settings=settings
    )
    started = await anyio.to_thread.run_sync(running.__enter__)
    try:
        yield started
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(running.__exit__, None, None, None)
