"""How soon a new process is ready on a file with a million messages."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from anaphora.bench.children import ChildFailed, started
from anaphora.bench.filling import fill, spread
from anaphora.bench.question import Question
from anaphora.bench.result import (
    MILLIS,
    RATE,
    SECONDS,
    Figure,
    Measured,
    at_most,
    per_second,
)
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bootstrap import open_services
from anaphora.rules.timings import millis, percentile

#: L9: seconds from the start of the process to the first acknowledged append
READY_SECONDS = 3.0

OPENING = "anaphora.bench.programs.opening"
FORGOTTEN = "Before each start the system was asked to forget what it had cached of the file."
REMEMBERED = "This system cannot be asked to forget what it has cached of a file: the file was warm."
STEPS = ("Python and imports", "open", "context", "search", "append")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The file, and how many processes are started on it, one after the other."""

    messages: int
    users: int
    sessions: int
    starts: int


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Make the file, then start processes: each opens it, asks for a context, searches and appends."""
    db = setup.folder / "memory.db"
    setup.say(f"filling: {sizes.messages:,} messages")
    began = time.perf_counter()
    async with open_services(plain_settings(db, durability="normal")) as services:
        await fill(services, setup.words(), spread(sizes.messages, users=sizes.users, sessions=sizes.sessions))
    filled = time.perf_counter() - began
    size = db.stat().st_size
    steps: dict[str, list[float]] = {step: [] for step in STEPS}
    totals: list[float] = []
    dropped = True
    for number in range(sizes.starts):
        setup.say(f"start {number + 1} of {sizes.starts}")
        dropped &= await anyio.to_thread.run_sync(drop_cache, db)
        total, taken = await _start(sizes, setup, db, number)
        totals.append(total)
        for step, seconds in taken.items():
            steps[step].append(seconds)
    return Measured(
        figures=(
            *_figures(steps, totals),
            Figure(name="filled", value=per_second(sizes.messages, filled), unit=RATE),
            Figure(name="size of the file", value=round(size / 1e6, 1), unit="MB"),
            Figure(name="size of a message", value=round(size / sizes.messages), unit="bytes"),
        ),
        notes=(
            "Ready: from the start of the process, Python included, to the acknowledgement of its first append.",
            "Each start is of another user.",
            FORGOTTEN if dropped else REMEMBERED,
            "No worker was started and nothing is summarised: jobs of that wait in the file.",
        ),
    )


async def _start(sizes: Sizes, setup: Setup, db: Path, number: int) -> tuple[float, Mapping[str, float]]:
    """Seconds in all and of each step, of one process."""
    session = number * 7 % sizes.sessions
    told: dict[str, Any] = {
        "db": str(db),
        "user": f"user{session % sizes.users}",
        "session": f"session{session}",
        "query": setup.words().question(f"start {number}"),
    }
    began = time.perf_counter()
    async with started(OPENING, setup) as child:
        await child.tell(told)
        answer = await child.hear()
        total = time.perf_counter() - began
    if answer["seen"] < sizes.messages // sizes.sessions:
        raise ChildFailed(f"a new process saw {answer['seen']} messages of its session: nothing was measured")
    taken = {str(step): float(seconds) for step, seconds in answer["steps"].items()}
    return total, {STEPS[0]: total - sum(taken.values()), **taken}


def _figures(steps: Mapping[str, Sequence[float]], totals: Sequence[float]) -> tuple[Figure, ...]:
    worst = Figure(
        name="ready, the slowest start", value=round(max(totals), 2), unit=SECONDS, target=at_most(READY_SECONDS)
    )
    middle = Figure(name="ready, the median", value=round(percentile(totals, 0.5), 2), unit=SECONDS)
    parts = tuple(
        Figure(name="of which, median", case=step, value=millis(percentile(seconds, 0.5)), unit=MILLIS)
        for step, seconds in steps.items()
    )
    return (worst, middle, *parts)


def drop_cache(path: Path) -> bool:
    """Ask the system to forget what it holds of the file in memory; False where it cannot be asked."""
    if not hasattr(os, "posix_fadvise"):
        return False
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    return True


QUESTION = Question(
    name="cold_start",
    asks="How soon is a new process ready on a file with a million messages?",
    full=Sizes(messages=1_000_000, users=1_000, sessions=10_000, starts=5),
    quick=Sizes(messages=60, users=3, sessions=6, starts=1),
    measure=measure,
)
