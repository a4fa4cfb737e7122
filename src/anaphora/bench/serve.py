"""How many messages a second the service takes, how long turns of many people wait, and what too much does to it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path

import anyio

from anaphora.bench.question import Question
from anaphora.bench.result import RATE, SECONDS, Figure, Measured, at_least, at_most, per_second, waits
from anaphora.bench.service import Service, service, user_of
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bench.web import Web, connected
from anaphora.errors import MissingExtra
from anaphora.memory import Memory

#: L1: acknowledged messages a second, and milliseconds that one in a hundred waits for longer
PER_SECOND = 600
APPEND_MS = 80.0
#: L5 at this many sessions: milliseconds of a turn
TURN_MS = 150.0
#: L7: seconds after which it is as before, and what of a full load is told to come again
RECOVERED = 10.0
_TOLD = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
#: seconds after which it is given up that it recovers
_PATIENCE = 60.0
#: seconds that the worker gets for what was appended, before live sessions begin
_BACKLOG = 180.0
#: appends in a row that are fast again
_IN_A_ROW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Who asks how much."""

    #: that append, each its next message when the last is acknowledged
    clients: int
    messages: int
    #: live sessions; seconds between two turns of one, and for how long
    sessions: int
    pace: float
    live: float
    #: connections by which three times as much is asked for as was acknowledged, and for how long
    crowd: int
    overload: float


@dataclass(slots=True)
class Taken:
    """What became of requests."""

    waited: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    #: of each user: acknowledged messages
    acknowledged: Counter[str] = field(default_factory=Counter)
    broken: int = 0

    async def append(self, web: Web, user: str, role: str, text: str) -> bool:
        """Append, and note what came of it."""
        began = time.perf_counter()
        try:
            status = await web.post("/v1/sessions/bench/messages", {"role": role, "content": text})
        except OSError:
            self.broken += 1
            raise
        self.statuses[status] += 1
        if status == HTTPStatus.CREATED:
            self.waited.append(time.perf_counter() - began)
            self.acknowledged[user] += 1
        return status == HTTPStatus.CREATED

    @property
    def failed(self) -> int:
        """Requests that were neither done nor told to come again."""
        return self.broken + sum(
            number
            for status, number in self.statuses.items()
            if status >= HTTPStatus.BAD_REQUEST and status not in _TOLD
        )


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Appends as fast as they go, turns of many live sessions, and three times too much."""
    figures: list[Figure] = []
    db = setup.folder / "service.db"
    everything = Taken()
    users = max(sizes.clients, sizes.sessions)
    async with service(setup, db, users=users) as running:
        setup.say(f"{sizes.clients} clients")
        rate = await _appends(sizes, setup, running, everything, figures)
        setup.say("what was said is worked off")
        async with Memory.open(settings=plain_settings(db), worker=False) as memory:
            await memory.idle(_BACKLOG)
        setup.say(f"{sizes.sessions} live sessions")
        await _live(sizes, setup, running, everything, figures)
        setup.say("three times too much")
        await _overload(sizes, setup, running, everything, figures, rate)
        await running.end()
    lost = await _lost(db, everything, users)
    figures.append(Figure(name="acknowledged and lost", value=lost, target=at_most(0)))
    figures.append(Figure(name="ended after SIGTERM", value=round(running.ended, 2), unit=SECONDS, target=at_most(5.0)))
    return Measured(
        figures=tuple(figures),
        notes=(
            "`anaphora serve` is a process, its worker another; a key for each user, durability full.",
            "A scripted embedder is another process. Who asks shares the machine with all of them.",
            "A turn is a context, an append and another append. Live sessions begin when what was appended before is",
            "worked off: who appended goes on with that session, the others begin one, in an order that mixes both.",
            "Three times too much: requests come three times as often as appends were acknowledged before.",
        ),
    )


async def _appends(sizes: Sizes, setup: Setup, running: Service, everything: Taken, figures: list[Figure]) -> float:
    words, taken = setup.words(), Taken(acknowledged=everything.acknowledged)

    async def client(number: int) -> None:
        user = user_of(number)
        async with connected(running.port, running.keys[number]) as web:
            for role, text in islice(words.talk(user), sizes.messages // sizes.clients):
                await taken.append(web, user, role, text)

    async with connected(running.port, running.keys[0]) as web:
        await Taken(acknowledged=everything.acknowledged).append(web, user_of(0), "user", "warm")
    began = time.perf_counter()
    async with anyio.create_task_group() as group:
        for number in range(sizes.clients):
            group.start_soon(client, number)
    case = f"{sizes.clients} clients"
    rate = per_second(len(taken.waited), time.perf_counter() - began)
    figures.append(Figure(name="acknowledged", case=case, value=rate, unit=RATE, target=at_least(PER_SECOND)))
    figures += waits(taken.waited, name="append", case=case, p99=at_most(APPEND_MS))
    figures.append(Figure(name="errors", case=case, value=_not_done(taken), target=at_most(0)))
    return rate


def _not_done(taken: Taken) -> int:
    return taken.broken + sum(taken.statuses.values()) - taken.statuses[HTTPStatus.CREATED]


async def _live(sizes: Sizes, setup: Setup, running: Service, everything: Taken, figures: list[Figure]) -> None:
    words, taken = setup.words(), Taken(acknowledged=everything.acknowledged)
    turns: list[float] = []
    contexts = 0
    end = time.perf_counter() + sizes.live
    # whose turn comes next has nothing to do with how much was said before
    order = random.Random(setup.seed).sample(range(sizes.sessions), sizes.sessions)  # noqa: S311 - no secret is made of it

    async def chat(number: int) -> None:
        nonlocal contexts
        user = user_of(number)
        talk = words.talk(f"{user}/live")
        await anyio.sleep(sizes.pace * order[number] / sizes.sessions)
        async with connected(running.port, running.keys[number]) as web:
            for turn in count():
                (asker, question), (answerer, answer) = islice(talk, 2)
                began = time.perf_counter()
                status = await web.post("/v1/sessions/bench/context", {"query": question, "budget": 2_000})
                contexts += status == HTTPStatus.OK
                await taken.append(web, user, asker, question)
                await taken.append(web, user, answerer, answer)
                ended = time.perf_counter()
                # the first one makes the session
                turns.extend([ended - began][: bool(turn)])
                if turn and ended >= end:
                    return
                await anyio.sleep(max(0.0, began + sizes.pace - ended))

    async with anyio.create_task_group() as group:
        for number in range(sizes.sessions):
            group.start_soon(chat, number)
    case = f"{sizes.sessions} live sessions"
    figures += waits(turns, name="turn", case=case, p99=at_most(TURN_MS))
    errors = _not_done(taken) + len(turns) + sizes.sessions - contexts
    figures.append(Figure(name="errors", case=case, value=errors, target=at_most(0)))


async def _overload(
    sizes: Sizes, setup: Setup, running: Service, everything: Taken, figures: list[Figure], rate: float
) -> None:
    words, taken = setup.words(), Taken(acknowledged=everything.acknowledged)
    pace = sizes.crowd / (3 * max(rate, 1.0))
    end = time.perf_counter() + sizes.overload

    async def client(number: int) -> None:
        whose = number % len(running.keys)
        await anyio.sleep(pace * number / sizes.crowd)
        async with connected(running.port, running.keys[whose]) as web:
            for role, text in words.talk(f"crowd{number}"):
                began = time.perf_counter()
                if began >= end:
                    return
                await taken.append(web, user_of(whose), role, text)
                await anyio.sleep(max(0.0, began + pace - time.perf_counter()))

    async with anyio.create_task_group() as group:
        for number in range(sizes.crowd):
            group.start_soon(client, number)
    recovered = await _recovered(running, everything)
    case = "three times too much"
    told = sum(taken.statuses[status] for status in _TOLD)
    figures.append(
        Figure(name="acknowledged", case=case, value=per_second(len(taken.waited), sizes.overload), unit=RATE)
    )
    figures += waits(taken.waited, name="append", case=case)
    figures.append(Figure(name="told to come again", case=case, value=told))
    figures.append(Figure(name="errors", case=case, value=taken.failed, target=at_most(0)))
    figures.append(Figure(name="recovered", case=case, value=recovered, unit=SECONDS, target=at_most(RECOVERED)))


async def _recovered(running: Service, everything: Taken) -> float:
    """Seconds until appends are as fast again as they should be, some in a row."""
    began = since = time.perf_counter()
    taken = Taken(acknowledged=everything.acknowledged)
    async with connected(running.port, running.keys[0]) as web:
        fast = 0
        while fast < _IN_A_ROW and time.perf_counter() - began < _PATIENCE:
            asked = time.perf_counter()
            done = await taken.append(web, user_of(0), "user", "Is anybody there?")
            fast = fast + 1 if done and time.perf_counter() - asked <= APPEND_MS / 1000 else 0
            since = asked if fast == 1 else since
    return round((since if fast >= _IN_A_ROW else time.perf_counter()) - began, 2)


async def _lost(db: Path, everything: Taken, users: int) -> int:
    """Acknowledged messages that are not in the log."""
    async with Memory.open(settings=plain_settings(db), worker=False) as memory:
        heads: Sequence[int] = [
            sum(row.head for row in await memory.sessions(user=user_of(number), limit=9)) for number in range(users)
        ]
    return sum(max(0, everything.acknowledged[user_of(number)] - head) for number, head in enumerate(heads))


def _needs() -> None:
    for package, extra in (("fastapi", "server"), ("openai", "llm")):
        if find_spec(package) is None:
            raise MissingExtra("a service that is measured", extra)


QUESTION = Question(
    name="serve",
    asks="How many messages a second does the service take, and what do many people feel of each other?",
    full=Sizes(clients=64, messages=24_000, sessions=300, pace=10.0, live=300.0, crowd=768, overload=15.0),
    quick=Sizes(clients=2, messages=8, sessions=2, pace=0.05, live=0.1, crowd=4, overload=0.2),
    measure=measure,
    needs=_needs,
)
