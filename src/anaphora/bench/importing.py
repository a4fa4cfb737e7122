"""How many messages a second an import takes in, and what others feel of it."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import anyio

from anaphora.bench.children import started
from anaphora.bench.filling import warm_up
from anaphora.bench.programs.importing import import_file
from anaphora.bench.question import Question
from anaphora.bench.result import RATE, RATIO, Figure, Measured, at_least, at_most, per_second, ratio, waits
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bench.words import Words
from anaphora.bootstrap import Services, open_services
from anaphora.memory import Memory
from anaphora.rules.timings import percentile

#: L8: messages a second, and how much longer others may wait meanwhile
PER_SECOND = 3_000
SLOWER = 2.0

IMPORTING = "anaphora.bench.programs.importing"

#: imports the file into the services' database; how many messages, and in how many seconds
Import = Callable[[Services], Awaitable[tuple[int, float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The file, and those who talk meanwhile."""

    conversations: int
    #: of each conversation
    messages: int
    chats: int
    #: seconds between the turns of one chat
    pace: float
    #: seconds of talk without an import, to compare with
    alone: float


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Imports alone, beside chats from another process, and beside chats in the same process."""
    file = setup.folder / "chats.jsonl"
    write_file(file, setup.words(), sizes)
    setup.say("the import alone")
    async with open_services(plain_settings(setup.folder / "alone.db")) as services:
        warm_up(services)
        total, seconds = await import_file(services, file)
    figures = [
        Figure(
            name="imported",
            case="alone",
            value=per_second(total, seconds),
            unit=RATE,
            target=at_least(PER_SECOND),
        )
    ]
    setup.say(f"{sizes.chats} chats alone")
    async with open_services(plain_settings(setup.folder / "quiet.db")) as services:
        quiet = await _chats(services, sizes, setup.words(), for_seconds(sizes.alone))
    figures += waits(quiet, name="a turn", case="no import")

    async def beside(services: Services) -> tuple[int, float]:
        return await _in_another_process(file, services, setup)

    async def inside(services: Services) -> tuple[int, float]:
        return await import_file(services, file)

    for case, work in (("import in another process", beside), ("import in the same process", inside)):
        setup.say(f"{sizes.chats} chats, {case}")
        db = setup.folder / f"{case}.db"
        total, seconds, during = await _meanwhile(sizes, setup, db, work)
        figures.append(Figure(name="imported", case=case, value=per_second(total, seconds), unit=RATE))
        figures += waits(during, name="a turn", case=case)
        slower = ratio(percentile(during, 0.99), percentile(quiet, 0.99))
        figures.append(
            Figure(name="ratio of the p99", case=f"{case} to none", value=slower, unit=RATIO, target=at_most(SLOWER))
        )
    return Measured(
        figures=tuple(figures),
        notes=(
            "A turn is a context, an append and another append.",
            f"Each of {sizes.chats} chats begins one every {sizes.pace:g} s, or later if the one before took longer.",
        ),
    )


async def _meanwhile(sizes: Sizes, setup: Setup, db: Path, work: Import) -> tuple[int, float, list[float]]:
    """Chats that go on until the import is done: messages and seconds of the import, and the turns' seconds."""
    over = anyio.Event()
    during: list[float] = []
    async with open_services(plain_settings(db)) as services:

        async def chats() -> None:
            during.extend(await _chats(services, sizes, setup.words(), over.is_set))

        async with anyio.create_task_group() as group:
            group.start_soon(chats)
            total, seconds = await work(services)
            over.set()
    return total, seconds, during


async def _in_another_process(file: Path, services: Services, setup: Setup) -> tuple[int, float]:
    async with started(IMPORTING, setup) as child:
        await child.tell({"db": services.settings.db, "file": str(file)})
        await child.hear()
        await child.tell({"go": True})
        done = await child.hear()
    return int(done["messages"]), float(done["seconds"])


async def _chats(services: Services, sizes: Sizes, words: Words, over: Callable[[], bool]) -> list[float]:
    """Seconds of every turn but the first of each chat, which makes the session."""
    memory = Memory(services)
    taken: list[float] = []

    async def chat(number: int) -> None:
        session = memory.session(user=f"talker{number}", session="bench")
        talk = words.talk(f"talker{number}")
        await anyio.sleep(sizes.pace * number / sizes.chats)
        for turn in count():
            (asker, question), (answerer, answer) = islice(talk, 2)
            began = time.perf_counter()
            await session.context(question, budget=2_000)
            await session.add(asker, question)
            await session.add(answerer, answer)
            ended = time.perf_counter()
            if turn:
                taken.append(ended - began)
                if over():
                    return
            await anyio.sleep(max(0.0, began + sizes.pace - ended))

    async with anyio.create_task_group() as group:
        for number in range(sizes.chats):
            group.start_soon(chat, number)
    return taken


def for_seconds(seconds: float) -> Callable[[], bool]:
    """True when so many seconds are over."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= end


def write_file(path: Path, words: Words, sizes: Sizes) -> None:
    """A file in OpenAI's style, one conversation a line."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(sizes.conversations):
            talk = islice(words.talk(f"imported/{number}"), sizes.messages)
            said = [{"role": role, "content": text} for role, text in talk]
            record = {"user": f"user{number % 10}", "session": f"session{number}", "messages": said}
            file.write(json.dumps(record) + "\n")


QUESTION = Question(
    name="import",
    asks="How many messages a second does an import take in, and what do others feel of it?",
    full=Sizes(conversations=100, messages=400, chats=8, pace=0.25, alone=10.0),
    quick=Sizes(conversations=2, messages=20, chats=2, pace=0.02, alone=0.1),
    measure=measure,
)
