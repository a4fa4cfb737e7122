"""How fast appends are: messages a second, each on disk when its call returns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from anaphora.bench.filling import warm_up
from anaphora.bench.question import Question
from anaphora.bench.result import RATE, RATIO, Figure, Measured, at_least, at_most, per_second, ratio, waits
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bootstrap import open_services
from anaphora.memory import Memory

#: L1: the library at this many clients
CLIENTS = 16
PER_SECOND = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many clients that append so many messages together, each its next when the last is acknowledged."""

    clients: int
    messages: int
    durability: str = "full"

    @property
    def case(self) -> str:
        """Its name among the figures."""
        clients = "1 client" if self.clients == 1 else f"{self.clients} clients"
        return clients if self.durability == "full" else f"{clients}, durability {self.durability}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is appended."""

    bare_commits: int
    loads: tuple[Load, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of one load."""

    waits: Sequence[float]
    seconds: float
    lost: int

    @property
    def rate(self) -> float:
        """Acknowledged messages a second."""
        return per_second(len(self.waits), self.seconds)


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Appends of several loads, and beside them what the same disk gives to bare SQLite."""
    setup.say("bare SQLite")
    bare = await anyio.to_thread.run_sync(bare_commits, setup.folder / "bare.db", sizes.bare_commits)
    figures = [Figure(name="commits", case="bare SQLite, one row each", value=bare, unit=RATE)]
    rates: dict[str, float] = {}
    lost = 0
    for number, load in enumerate(sizes.loads):
        setup.say(load.case)
        taken = await appended(load, setup, setup.folder / f"{number}.db")
        rates[load.case] = taken.rate
        lost += taken.lost
        wanted = at_least(PER_SECOND) if (load.clients, load.durability) == (CLIENTS, "full") else None
        figures.append(Figure(name="acknowledged", case=load.case, value=taken.rate, unit=RATE, target=wanted))
        figures += waits(taken.waits, case=load.case)
    figures.append(Figure(name="acknowledged and lost", value=lost, target=at_most(0)))
    first, *others = rates
    figures.append(Figure(name="ratio", case=f"{first} to bare SQLite", value=ratio(rates[first], bare), unit=RATIO))
    figures += [
        Figure(name="ratio", case=f"{other} to {first}", value=ratio(rates[other], rates[first]), unit=RATIO)
        for other in others
    ]
    return Measured(
        figures=tuple(figures),
        notes=(
            "Every message is checked, counted in tokens, numbered, indexed for search and planned for.",
            "With durability full, its transaction is synced to the disk before the call returns.",
            "Bare SQLite commits one short row at a time, also synced: the floor that this disk sets for one client.",
        ),
    )


async def appended(load: Load, setup: Setup, db: Path | str, **changes: Any) -> Taken:  # noqa: ANN401 - settings by name
    """Append the load to a new database, through the public API."""
    words = setup.words()
    waited: list[float] = []
    async with open_services(plain_settings(db, durability=load.durability, **changes)) as services:
        warm_up(services)
        memory = Memory(services)

        each = load.messages // load.clients
        # made beforehand: what the clients say is not the memory's work
        said = [list(islice(words.talk(f"user{number}"), each)) for number in range(load.clients)]

        async def client(number: int) -> None:
            chat = memory.session(user=f"user{number}", session="bench")
            for role, text in said[number]:
                started = time.perf_counter()
                await chat.add(role, text)
                waited.append(time.perf_counter() - started)

        started = time.perf_counter()
        async with anyio.create_task_group() as group:
            for number in range(load.clients):
                group.start_soon(client, number)
        seconds = time.perf_counter() - started
        kept = sum(row.head for row in await memory.sessions(limit=load.clients))
    return Taken(waits=waited, seconds=seconds, lost=len(waited) - kept)


def bare_commits(db: Path, count: int) -> float:
    """Commits a second of SQLite alone, one short row each, every one synced."""
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY, content TEXT)")
        started = time.perf_counter()
        for number in range(count):
            connection.execute("INSERT INTO log VALUES (?, ?)", (number, "a short row"))
        return per_second(count, time.perf_counter() - started)


QUESTION = Question(
    name="append",
    asks="How many messages a second are acknowledged, each on disk when its call returns?",
    full=Sizes(
        bare_commits=2_000,
        loads=(
            Load(clients=1, messages=3_000),
            Load(clients=16, messages=24_000),
            Load(clients=64, messages=24_000),
            Load(clients=16, messages=24_000, durability="normal"),
        ),
    ),
    quick=Sizes(
        bare_commits=10,
        loads=(
            Load(clients=1, messages=8),
            Load(clients=16, messages=32),
            Load(clients=16, messages=32, durability="normal"),
        ),
    ),
    measure=measure,
)
