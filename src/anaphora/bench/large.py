"""Whether a search is fast among a million memories of a thousand tenants."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from anaphora.bench.question import Question
from anaphora.bench.result import RATE, Figure, Measured, at_most, per_second, waits
from anaphora.bench.servers import check_installed, server
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bench.words import Words
from anaphora.bootstrap import Services, open_services
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.vectors import Space
from anaphora.errors import NotFound
from anaphora.ports.rows import PassageVector
from anaphora.ports.store import Unit
from anaphora.rules.admission import new_message
from anaphora.rules.query_words import query_words

MEDIAN_MS, SLOWEST_MS = 20.0, 250.0
_LIMIT = 10
#: passages that a search compares, as `anaphora search` does
_CANDIDATES = 300
#: messages of a session
_SESSION = 500
#: vectors lie around so many directions, as those of texts do
_TOPICS = 200
_SPREAD = 0.8
#: from one tenant to the next: a prime, so that all have their turn
_STRIDE = 7919
#: what the server may keep in memory
_SERVER: Mapping[str, str] = {"shared_buffers": "1GB", "synchronous_commit": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much there is, and how often it is searched."""

    tenants: int
    #: memories of each tenant, all of one user
    memories: int
    dimensions: int
    searches: int


@dataclass(slots=True)
class _Searched:
    """Searches of one kind: how long each took, and how much it found."""

    seconds: list[float] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Directions:
    """Vectors around a few topics, by a seed."""

    dimensions: int
    chance: random.Random
    topics: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.topics = [self._around(0.0, None) for _ in range(_TOPICS)]

    def next(self) -> list[float]:
        return self._around(_SPREAD, self.chance.choice(self.topics))

    def _around(self, spread: float, topic: Sequence[float] | None) -> list[float]:
        gauss: Callable[[float, float], float] = self.chance.gauss
        if topic is None:
            return [gauss(0.0, 1.0) for _ in range(self.dimensions)]
        return [value + gauss(0.0, spread) for value in topic]


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Fill a server, then search as many tenants in turn: by meaning, by words, and by both in one snapshot."""
    total = sizes.tenants * sizes.memories
    async with AsyncExitStack() as stack:
        setup.say("starting PostgreSQL")
        running = await stack.enter_async_context(server(setup, _SERVER))
        services = await stack.enter_async_context(open_services(plain_settings(running.dsn(), durability="normal")))
        directions = _Directions(sizes.dimensions, random.Random(setup.seed))  # noqa: S311 - no secret is made of it
        space = Space(profile="bench", dimensions=sizes.dimensions)
        started = time.perf_counter()
        for number in range(sizes.tenants):
            setup.say(f"filling: tenant {number + 1:,} of {sizes.tenants:,}")
            await _fill(services, setup.words(), _tenant(number), sizes.memories, space, directions)
        filled = per_second(total, time.perf_counter() - started)
        setup.say(f"{sizes.searches:,} searches of each kind")
        found = await _searched(sizes, setup.words(), services, space, directions)
    few = sum(hits < min(_LIMIT, sizes.memories) for hits in found["by meaning"].hits)
    return Measured(
        figures=(
            Figure(name="memories", value=total),
            *(
                figure
                for name, searched in found.items()
                for figure in waits(searched.seconds, case=name, p50=at_most(MEDIAN_MS), p99=at_most(SLOWEST_MS))
            ),
            Figure(name="answers with too few hits", case="by meaning", value=few, target=at_most(0)),
            Figure(name="filled", value=filled, unit=RATE),
        ),
        notes=(
            f"Each tenant has {sizes.memories:,} messages, each with a vector of {sizes.dimensions} numbers.",
            "Every search is of another tenant than the one before.",
            f"Vectors lie around {_TOPICS} topics; making one of the question takes no part.",
            f"The server keeps {_SERVER['shared_buffers']} in its own memory; the rest is the system's.",
        ),
    )


async def _searched(
    sizes: Sizes, words: Words, services: Services, space: Space, directions: _Directions
) -> Mapping[str, _Searched]:
    found = {name: _Searched() for name in _SEARCHES}
    for number in range(sizes.searches):
        tenant = _tenant((number * _STRIDE) % sizes.tenants)
        asked = query_words(words.question(f"question {number}")).terms
        vector = directions.next()
        for name, search in _SEARCHES.items():
            begun = time.perf_counter()
            found[name].hits.append(await services.store.read(tenant, partial(search, tenant, asked, space, vector)))
            found[name].seconds.append(time.perf_counter() - begun)
    return found


async def _fill(
    services: Services, words: Words, tenant: str, memories: int, space: Space, directions: _Directions
) -> None:
    """Messages of one tenant with their vectors, through the same log and index as all others."""
    for key, size in _sessions(tenant, memories):
        talk = words.talk(f"{tenant}/{key.session}")
        said = [new_message(role, text) for role, text in islice(talk, size)]
        await services.ingest.append(key, said)
        vectors = [directions.next() for _ in range(size)]
        await services.store.write(tenant, partial(_embed, key, space, vectors))


def _embed(key: SessionKey, space: Space, vectors: Sequence[Sequence[float]], unit: Unit) -> None:
    row = unit.sessions.find(key)
    if row is None:
        raise NotFound(f"{key} was filled, and is not there")
    log = unit.messages.range(key.tenant, row.id, SeqRange(0, row.head), limit=len(vectors))
    unit.vectors.put(
        row,
        space,
        [
            PassageVector(seq=message.seq, part=0, message_id=message.id, version=message.version, vector=vector)
            for message, vector in zip(log, vectors, strict=True)
        ],
    )


def _sessions(tenant: str, memories: int) -> Iterator[tuple[SessionKey, int]]:
    for number, start in enumerate(range(0, memories, _SESSION)):
        key = SessionKey(tenant=tenant, user="user", agent="default", session=f"session{number}")
        yield key, min(_SESSION, memories - start)


def _tenant(number: int) -> str:
    return f"tenant{number}"


def _by_meaning(tenant: str, _asked: Sequence[str], space: Space, vector: Sequence[float], unit: Unit) -> int:
    return len(
        unit.vectors.nearest(tenant, "user", agent=None, session_id=None, space=space, vector=vector, limit=_LIMIT)
    )


def _by_words(tenant: str, asked: Sequence[str], _space: Space, _vector: Sequence[float], unit: Unit) -> int:
    found = unit.words.find(
        tenant, "user", agent=None, session_id=None, terms=asked, pieces=(), limit=_CANDIDATES
    ).found
    return min(_LIMIT, len(found))


def _by_both(tenant: str, asked: Sequence[str], space: Space, vector: Sequence[float], unit: Unit) -> int:
    return _by_meaning(tenant, asked, space, vector, unit) + _by_words(tenant, asked, space, vector, unit)


_SEARCHES: Mapping[str, Callable[[str, Sequence[str], Space, Sequence[float], Unit], int]] = {
    "by meaning": _by_meaning,
    "by words": _by_words,
    "by words and meaning": _by_both,
}


QUESTION = Question(
    name="large",
    asks="Is a search fast among a million memories of a thousand tenants?",
    full=Sizes(tenants=1_000, memories=1_000, dimensions=384, searches=1_000),
    quick=Sizes(tenants=3, memories=20, dimensions=8, searches=5),
    measure=measure,
    needs=check_installed,
    long=True,
)
