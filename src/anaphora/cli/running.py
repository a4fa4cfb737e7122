"""How commands open the database and run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum
from pathlib import Path
from typing import TypeVar

import anyio

from anaphora.agents.opening import with_folder
from anaphora.bootstrap import Services, open_services
from anaphora.bootstrap.stores import MEMORY, is_postgres, shown, sqlite_path
from anaphora.domain.keys import SessionKey
from anaphora.errors import NotFound
from anaphora.settings import Settings, load

T = TypeVar("T")


class Access(Enum):
    """What a command does to the database."""

    #: looks only; works on a file that cannot be written
    READ = "read"
    #: changes a database that is there
    WRITE = "write"
    #: makes the database if it is not there
    CREATE = "create"


def settings_from(
    db: str | None = None, *, tenant: str | None = None, agent: str | None = None, strategy: str | None = None
) -> Settings:
    """Settings with the flags of a command above all else, and with the numbers of the folder's agents.

    Raises:
        ConfigError: a setting that cannot work.
        UnknownName: no such strategy.

    """
    settings = with_folder(load(db=db, tenant=tenant, agent=agent))
    if strategy is not None:
        settings.strategies().get(strategy)
    return settings


def run(work: Callable[[Services], Awaitable[T]], settings: Settings, access: Access) -> T:
    """Do the work of a command on an open database; what it raises is raised here.

    Raises:
        NotFound: there is no database, and the command is not one that makes it.

    """

    async def task() -> T:
        async with opened(settings, access) as services:
            return await work(services)

    return anyio.run(task)


@asynccontextmanager
async def opened(settings: Settings, access: Access) -> AsyncIterator[Services]:
    """The services over the database."""
    if access is not Access.CREATE:
        database(settings)
    async with open_services(settings, read_only=access is Access.READ) as services:
        yield services


def database(settings: Settings) -> str:
    """The database as it may be shown; if it should be a file, that is there: a typo must not make an empty memory.

    Raises:
        NotFound: the file is not there.

    """
    if is_postgres(settings.db):
        return shown(settings.db)
    name = sqlite_path(settings.db)
    if name == MEMORY or not Path(name).exists():
        raise NotFound(f"there is no database at {name}: `anaphora import` or `anaphora chat` makes one")
    return str(Path(name))


def key_of(settings: Settings, user: str, session: str) -> SessionKey:
    """The session that the options name."""
    return SessionKey(tenant=settings.tenant, user=user, agent=settings.agent, session=session)


async def check_session(services: Services, key: SessionKey) -> int:
    """How many messages the session has; `NotFound` if there is none: a typo must not look like an empty memory."""
    row = await services.sessions.find(key)
    if row is None:
        raise NotFound(
            f"there is no session {key.session!r} of user {key.user!r} with agent {key.agent!r}: "
            "`anaphora sessions list` shows those that are there"
        )
    return row.head
