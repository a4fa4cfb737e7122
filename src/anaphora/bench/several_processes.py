"""How long appends wait when several processes write to one file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from anaphora.bench.children import Child, started
from anaphora.bench.question import Question
from anaphora.bench.result import MILLIS, RATE, Figure, Measured, at_most, per_second, waits
from anaphora.bench.setup import Setup, plain_settings
from anaphora.memory import Memory
from anaphora.rules.timings import millis

#: milliseconds
SLOWEST_MS = 500.0

WRITING = "anaphora.bench.programs.writing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many write at once, and how much each process writes."""

    processes: tuple[int, ...]
    #: of each process
    clients: int
    messages: int


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """The same load for each process, with one process and with several."""
    figures: list[Figure] = []
    most = max(sizes.processes)
    for number in sizes.processes:
        case = "1 process" if number == 1 else f"{number} processes"
        setup.say(case)
        db = setup.folder / f"{number}.db"
        answers, seconds = await _written(sizes, setup, db, number)
        taken = [wait for answer in answers for wait in answer["waits"]]
        failed = sum(answer["failed"] for answer in answers)
        lost = len(taken) - await _kept(db, limit=sizes.clients * number)
        slowest = at_most(SLOWEST_MS) if number == most else None
        figures.append(Figure(name="acknowledged", case=case, value=per_second(len(taken), seconds), unit=RATE))
        figures += waits(taken, case=case, p99=slowest)
        figures.append(Figure(name="longest", case=case, value=millis(max(taken, default=0.0)), unit=MILLIS))
        figures.append(Figure(name="refused as busy", case=case, value=failed, target=at_most(0)))
        figures.append(Figure(name="acknowledged and lost", case=case, value=lost, target=at_most(0)))
    return Measured(
        figures=tuple(figures),
        notes=(
            f"In each process {sizes.clients} clients append to sessions of their own, with durability full.",
            "Each appends its next message when the last is acknowledged.",
        ),
    )


async def _written(sizes: Sizes, setup: Setup, db: Path, number: int) -> tuple[list[Mapping[str, Any]], float]:
    """What the processes answer, and how long it took from the word to go to the last answer."""
    answers: list[Mapping[str, Any]] = []

    async def finish(child: Child) -> None:
        await child.tell({"go": True})
        answers.append(await child.hear())

    async with AsyncExitStack() as stack:
        children = [await stack.enter_async_context(started(WRITING, setup)) for _ in range(number)]
        for at, child in enumerate(children):
            await child.tell(
                {
                    "db": str(db),
                    "name": f"writer{at}",
                    "seed": setup.seed,
                    "clients": sizes.clients,
                    "messages": sizes.messages,
                }
            )
        for child in children:
            await child.hear()
        began = time.perf_counter()
        async with anyio.create_task_group() as group:
            for child in children:
                group.start_soon(finish, child)
        seconds = time.perf_counter() - began
    return answers, seconds


async def _kept(db: Path, *, limit: int) -> int:
    """Messages in the log."""
    async with Memory.open(settings=plain_settings(db), worker=False) as memory:
        return sum(row.head for row in await memory.sessions(limit=limit))


QUESTION = Question(
    name="several_processes",
    asks="How long do appends wait when several processes write to one file?",
    full=Sizes(processes=(1, 4), clients=4, messages=3_000),
    quick=Sizes(processes=(1, 2), clients=2, messages=8),
    measure=measure,
)
