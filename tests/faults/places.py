"""Where the databases of fault tests are: files, or a server that goes on when its clients die.

On a server each test has a database of its own, which is dropped behind it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import pytest
from tests.databases.chosen import POSTGRES, SQLITE
from tests.databases.postgres import given_server, running_server
from tests.databases.sql import OF_TENANTS, open_sql

from anaphora.storage.postgres.embedded import Server

_NAME = f"anaphora_fault_{os.getpid()}"
#: seconds until a server has noticed that a client is dead
_NOTICED = 10.0
_CLIENTS = "select count(*) from pg_stat_activity where application_name = 'anaphora' and datname = current_database()"

#: for a test of what only a server does, or with fewer cases than there are on a file
on_a_server = pytest.mark.parametrize("places", [POSTGRES], indirect=True, scope="session", ids=str)


def few(counts: Sequence[int]) -> Sequence[int]:
    """Of the counts of a failpoint, those that it is reached at on a server, where all takes longer."""
    return counts[::3] if len(counts) > 3 else counts[len(counts) // 2 :][:1]


@dataclass(frozen=True)
class Served:
    """A database on a server; as text, what a setting names it."""

    url: str

    def __str__(self) -> str:
        return self.url


#: a database: as text, what a setting names it
Place: TypeAlias = Path | Served


class Places(Protocol):
    """Makes databases of one kind."""

    @property
    def kind(self) -> str: ...
    def new(self, folder: Path, *, bare: bool = False) -> Place:
        """One that nobody has used yet; on a server it has its tables unless it is `bare`."""
        ...

    def copy(self, of: Place, folder: Path) -> Place:
        """One like another that nobody uses now."""
        ...

    def drop(self) -> None:
        """Give back what was made, but for what was `kept`."""
        ...

    def keep(self) -> None:
        """What was made up to now stays until the end."""
        ...


class Files:
    """Each database is a file in the folder."""

    kind = SQLITE

    def new(self, folder: Path, *, bare: bool = False) -> Place:  # noqa: ARG002 - a file has no tables at first
        return folder / "m.db"

    def copy(self, of: Place, folder: Path) -> Place:
        assert isinstance(of, Path)
        assert not Path(f"{of}-wal").exists(), "closing leaves one file"
        return Path(shutil.copy(of, folder / "m.db"))

    def drop(self) -> None:
        """The folders go away by themselves."""

    def keep(self) -> None:
        """They stay long enough."""


@dataclass(kw_only=True)
class OnServer:
    """Each database is one of a server's."""

    kind = POSTGRES
    #: with the database that is used to make others
    url: str
    #: the server, if it is ours to stop
    own: Server | None
    _numbers: Iterator[int] = field(default_factory=count)
    _made: list[str] = field(default_factory=list)
    _kept: list[str] = field(default_factory=list)
    #: with tables
    _template: Served | None = None

    def new(self, folder: Path, *, bare: bool = False) -> Place:
        if bare:
            return self.create()
        assert self._template is not None, "the fixture has made one"
        return self.copy(self._template, folder)

    def copy(self, of: Place, folder: Path) -> Place:
        assert isinstance(of, Served)
        as_left(of, folder)
        return self.create(urlsplit(of.url).path.lstrip("/"))

    def drop(self) -> None:
        while self._made:
            self._admin(f'drop database if exists "{self._made.pop()}" with (force)')

    def keep(self) -> None:
        self._kept += self._made
        self._made.clear()

    def end(self) -> None:
        """Drop what was kept too: the server may be somebody's."""
        self._made += self._kept
        self._kept.clear()
        self.drop()

    def use_as_template(self, of: Served) -> None:
        """From now on new databases are like this one."""
        self._template = of
        self.keep()

    def create(self, template: str = "template0") -> Served:
        """One like another; without tables if none is named."""
        name = f"{_NAME}_{next(self._numbers)}"
        self._admin(f'create database "{name}" template "{template}"')
        self._made.append(name)
        return Served(urlunsplit(urlsplit(self.url)._replace(path=f"/{name}")))

    def _admin(self, statement: str) -> None:
        with closing(open_sql(self.url)) as sql:
            sql.change(statement)


@contextmanager
def open_places(kind: str) -> Iterator[Files | OnServer]:
    """Makes databases of that kind."""
    if kind == SQLITE:
        yield Files()
        return
    with ExitStack() as stack:
        given = given_server()
        own = stack.enter_context(running_server(durable=True)) if given is None else None
        made = OnServer(url=own.dsn() if own is not None else str(given), own=own)
        stack.callback(made.end)
        yield made


def as_left(place: Place, to: Path) -> Place:
    """The database as a death has left it; looking at it changes nothing.

    A file is copied as it lies on the disk, its write-ahead log with it. A server goes on: it has noticed by now that
    its client is dead, and has rolled back what that one had not committed.
    """
    if isinstance(place, Served):
        wait_for_nobody(place)
        return place
    to.mkdir()
    for suffix in ("", "-wal"):
        source = Path(f"{place}{suffix}")
        if source.exists():
            shutil.copyfile(source, to / source.name)
    return to / place.name


def wait_for_nobody(place: Served) -> None:
    """Return when the database has no clients."""
    deadline = time.monotonic() + _NOTICED
    with closing(open_sql(place.url)) as sql:
        while sql.rows(_CLIENTS) != [(0,)]:
            assert time.monotonic() < deadline, "the server has not noticed that its clients are dead"
            time.sleep(0.002)


def rows(place: Place, query: str) -> list[tuple[Any, ...]]:
    """What a query finds, by none of our code."""
    with closing(open_sql(str(place))) as sql:
        return sql.rows(query)


def change(place: Place, statement: str) -> int:
    """Change rows; how many."""
    with closing(open_sql(str(place))) as sql:
        return sql.change(statement)


def everything(place: Place) -> object:
    """Every row of every table of a database that nobody writes to."""
    if isinstance(place, Served):
        with closing(open_sql(place.url)) as sql:
            return sql.contents([str(table) for (table,) in sql.rows(OF_TENANTS)])
    with closing(sqlite3.connect(place)) as connection:
        return sorted(connection.iterdump())
