"""What a PostgreSQL server does of the same work as a file, in one run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import anyio

from anaphora.bench import append, context
from anaphora.bench.append import Load
from anaphora.bench.filling import fill, key_of
from anaphora.bench.question import Question
from anaphora.bench.result import (
    RATE,
    RATIO,
    Figure,
    Measured,
    at_least,
    at_most,
    per_second,
    ratio,
    waits,
)
from anaphora.bench.servers import check_installed, server
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bench.writers import Writers, written
from anaphora.bootstrap import open_services
from anaphora.rules.timings import percentile
from anaphora.settings import PostgresSettings

#: connections to the server, of all processes together
CONNECTIONS = 8
CLIENTS = 16
APPENDS_PER_SECOND, APPEND_MS = 1_000, 60.0
CONTEXT_MS, FLAT = 25.0, 1.5
CLAIMS_PER_SECOND = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is done on each database."""

    loads: tuple[Load, ...]
    #: the load whose figures have targets
    writers: Writers
    contexts: context.Sizes
    #: sessions with a job each, and who take them
    jobs: int
    workers: int
    #: messages of each of those sessions: enough for a job
    messages: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """What became of the jobs that were waiting."""

    waits: Sequence[float]
    seconds: float
    planned: int
    taken: Sequence[UUID]

    @property
    def astray(self) -> int:
        """Jobs that nobody took, or two did."""
        return abs(self.planned - len(set(self.taken))) + len(self.taken) - len(set(self.taken))


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Appends, contexts and claims on a file and on a server, in turn."""
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        setup.say("starting PostgreSQL")
        running = await stack.enter_async_context(server(setup))
        databases = {"PostgreSQL": running.dsn(), "SQLite": str(setup.folder / "memory.db")}
        figures += await _appends(sizes, setup, databases)
        figures += await _together(sizes.writers, setup, databases)
        figures += await _claims(sizes, setup, databases)
        figures += await _contexts(sizes, setup, databases)
    return Measured(
        figures=tuple(figures),
        notes=(
            f"The server runs beside the clients, syncs every commit and has {CONNECTIONS} connections to them.",
            "One process is one interpreter, and at its limit long before the server: the target is for several.",
            "Clients are of one tenant: those of several do not wait for each other's transactions.",
            f"A claim is a look at the queue and the lease of one job; {sizes.workers} workers take them at once.",
        ),
    )


async def _appends(sizes: Sizes, setup: Setup, databases: Mapping[str, str]) -> Sequence[Figure]:
    figures: list[Figure] = []
    lost = 0
    for number, load in enumerate(sizes.loads):
        rates: dict[str, float] = {}
        for name, db in databases.items():
            setup.say(f"{name}, {load.case}")
            taken = await append.appended(load, setup, db, **_settings(f"load{number}"))
            case = f"{name}, {load.case}"
            rates[name] = taken.rate
            lost += taken.lost
            figures.append(Figure(name="acknowledged", case=case, value=taken.rate, unit=RATE))
            aimed = name == "PostgreSQL" and load.clients == CLIENTS
            figures += waits(taken.waits, name="append", case=case, p99=at_most(APPEND_MS) if aimed else None)
        figures.append(_times(rates, load.case))
    return [*figures, Figure(name="acknowledged and lost", case="1 process", value=lost, target=at_most(0))]


async def _together(writers: Writers, setup: Setup, databases: Mapping[str, str]) -> Sequence[Figure]:
    """Appends by several processes, as servers have them."""
    figures: list[Figure] = []
    rates: dict[str, float] = {}
    lost = failed = 0
    clients = f"{writers.processes * writers.clients} clients in {writers.case}"
    for name, db in databases.items():
        setup.say(f"{name}, {clients}")
        done = await written(writers, setup, db, tenant="together")
        case, aimed = f"{name}, {clients}", name == "PostgreSQL"
        enough, soon = (at_least(APPENDS_PER_SECOND), at_most(APPEND_MS)) if aimed else (None, None)
        rates[name] = done.rate
        lost, failed = lost + done.lost, failed + done.failed
        figures.append(Figure(name="acknowledged", case=case, value=done.rate, unit=RATE, target=enough))
        figures += waits(done.waits, name="append", case=case, p99=soon)
    return [
        *figures,
        _times(rates, clients),
        Figure(name="refused as busy", case=writers.case, value=failed, target=at_most(0)),
        Figure(name="acknowledged and lost", case=writers.case, value=lost, target=at_most(0)),
    ]


def _times(rates: Mapping[str, float], case: str) -> Figure:
    value = ratio(rates["PostgreSQL"], rates["SQLite"])
    return Figure(name="acknowledged, times SQLite's", case=case, value=value, unit=RATIO)


async def _claims(sizes: Sizes, setup: Setup, databases: Mapping[str, str]) -> Sequence[Figure]:
    figures: list[Figure] = []
    for name, db in databases.items():
        setup.say(f"{name}, {sizes.jobs:,} jobs")
        claimed = await _claimed(sizes, setup, db)
        rate = per_second(len(claimed.taken), claimed.seconds)
        enough = at_least(CLAIMS_PER_SECOND) if name == "PostgreSQL" else None
        figures.append(Figure(name="claimed", case=name, value=rate, unit=RATE, target=enough))
        figures += waits(claimed.waits, name="claim", case=name)
        figures.append(Figure(name="claimed twice or never", case=name, value=claimed.astray, target=at_most(0)))
    return figures


async def _claimed(sizes: Sizes, setup: Setup, db: str) -> Claimed:
    """Sessions of several tenants, each with something to do; then several workers take all of the jobs."""
    waited: list[float] = []
    taken: list[UUID] = []
    async with open_services(plain_settings(db, **_settings("claims"))) as services:
        keys = [key_of(f"user{number}", f"job{number}") for number in range(sizes.jobs)]
        tenants = [replace(key, tenant=f"claims{number % 8}") for number, key in enumerate(keys)]
        await fill(services, setup.words(), [(key, sizes.messages) for key in tenants])
        planned = await services.store.due_count(now=None, with_model=True)

        async def take(number: int) -> None:
            worker = replace(services.worker, owner=f"worker{number}", with_model=True)
            while True:
                started = time.perf_counter()
                job = await worker.claim()
                if job is None:
                    return
                waited.append(time.perf_counter() - started)
                taken.append(job.id)

        started = time.perf_counter()
        async with anyio.create_task_group() as group:
            for number in range(sizes.workers):
                group.start_soon(take, number)
        seconds = time.perf_counter() - started
    return Claimed(waits=waited, seconds=seconds, planned=planned, taken=taken)


async def _contexts(sizes: Sizes, setup: Setup, databases: Mapping[str, str]) -> Sequence[Figure]:
    figures: list[Figure] = []
    cases = {f"{length:,} messages": f"session{length}" for length in sizes.contexts.lengths}
    shortest, *_, longest = cases
    for name, db in databases.items():
        setup.say(f"{name}, contexts")
        await context.fill_sessions(sizes.contexts, setup, db)
        found = await context.contexts(sizes.contexts, setup, db, cases)
        soon, flat = (at_most(CONTEXT_MS), at_most(FLAT)) if name == "PostgreSQL" else (None, None)
        for case, seconds in found.items():
            figures += waits(seconds, name="context", case=f"{name}, {case}", p99=soon)
        figures += [
            Figure(
                name="ratio of the p99",
                case=f"{name}, {of(longest)} to {of(shortest)}",
                value=ratio(percentile(found[of(longest)], 0.99), percentile(found[of(shortest)], 0.99)),
                unit=RATIO,
                target=target,
            )
            for of, target in ((str, flat), (context.asked, None))
        ]
    return figures


def _settings(tenant: str) -> Mapping[str, Any]:
    return {"tenant": tenant, "postgres": PostgresSettings(connections=CONNECTIONS)}


QUESTION = Question(
    name="postgres",
    asks="What does a PostgreSQL server do of the work that a file does?",
    full=Sizes(
        loads=(
            Load(clients=8, messages=8_000),
            Load(clients=CLIENTS, messages=16_000),
            Load(clients=64, messages=24_000),
        ),
        writers=Writers(processes=2, clients=CLIENTS // 2, messages=12_000, connections=CONNECTIONS // 2),
        contexts=context.Sizes(lengths=(100, 100_000), unsummarised=0, rounds=1_000),
        jobs=2_000,
        workers=8,
    ),
    quick=Sizes(
        loads=(Load(clients=CLIENTS, messages=32),),
        writers=Writers(processes=2, clients=2, messages=8, connections=CONNECTIONS // 2),
        contexts=context.Sizes(lengths=(10, 40), unsummarised=0, rounds=5),
        jobs=4,
        workers=2,
    ),
    measure=measure,
    needs=check_installed,
)
