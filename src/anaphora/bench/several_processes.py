"""How long appends wait when several processes write to one file."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.bench.question import Question
from anaphora.bench.result import MILLIS, RATE, Figure, Measured, at_most, waits
from anaphora.bench.setup import Setup
from anaphora.bench.writers import Writers, written
from anaphora.rules.timings import millis

#: milliseconds
SLOWEST_MS = 500.0


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
        writers = Writers(processes=number, clients=sizes.clients, messages=sizes.messages)
        case = writers.case
        setup.say(case)
        done = await written(writers, setup, str(setup.folder / f"{number}.db"))
        slowest = at_most(SLOWEST_MS) if number == most else None
        figures.append(Figure(name="acknowledged", case=case, value=done.rate, unit=RATE))
        figures += waits(done.waits, case=case, p99=slowest)
        figures.append(Figure(name="longest", case=case, value=millis(max(done.waits, default=0.0)), unit=MILLIS))
        figures.append(Figure(name="refused as busy", case=case, value=done.failed, target=at_most(0)))
        figures.append(Figure(name="acknowledged and lost", case=case, value=done.lost, target=at_most(0)))
    return Measured(
        figures=tuple(figures),
        notes=(
            f"In each process {sizes.clients} clients append to sessions of their own, with durability full.",
            "Each appends its next message when the last is acknowledged.",
        ),
    )


QUESTION = Question(
    name="several_processes",
    asks="How long do appends wait when several processes write to one file?",
    full=Sizes(processes=(1, 4), clients=4, messages=3_000),
    quick=Sizes(processes=(1, 2), clients=2, messages=8),
    measure=measure,
)
