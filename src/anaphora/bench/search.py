"""How long a search takes, and whether it matters how much others have said."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from anaphora.bench.filling import fill, key_of, spread
from anaphora.bench.hashing import HashingEmbedder
from anaphora.bench.question import Question
from anaphora.bench.result import RATIO, Figure, Measured, at_most, ratio, waits
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bench.words import Words
from anaphora.bootstrap import Overrides, open_services
from anaphora.memory import Memory
from anaphora.rules.timings import percentile

#: L4: milliseconds
MEDIAN_MS = 20.0
SLOWEST_MS = 100.0

_PER_SESSION = 500
#: searched by words and by meaning; everything else by words alone
_BOTH = "a question, by words and meaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Whose messages are searched, among how many."""

    #: messages of the users who search
    users: tuple[int, ...]
    #: messages of everybody else
    others: int
    #: of each kind, for each user
    queries: int
    limit: int = 10
    #: of the vectors of all messages
    dimensions: int = 384


@dataclass(slots=True)
class Searched:
    """Searches of one user and of one kind."""

    seconds: list[float] = field(default_factory=list)
    #: messages, in all
    found: int = 0

    def add(self, seconds: float, found: int) -> None:
        """One more."""
        self.seconds.append(seconds)
        self.found += found


#: by the size of the user's memory and the kind of the query
Searches = Mapping[tuple[int, str], Searched]


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Searches of users with much and little to search, in turn: in one large store, and each in a store of its own."""
    total = sum(sizes.users) + sizes.others
    crowded, lonely = await _searched(sizes, setup, total)
    figures: list[Figure] = []
    for (user, kind), searched in crowded.items():
        case = f"{user:,} messages of {total:,}"
        median = percentile(searched.seconds, 0.5)
        figures += waits(searched.seconds, name=kind, case=case, p50=at_most(MEDIAN_MS), p99=at_most(SLOWEST_MS))
        figures += [
            Figure(
                name=f"{kind} p50, times that of the user alone",
                case=case,
                value=ratio(median, percentile(lonely[user, kind].seconds, 0.5)),
                unit=RATIO,
            ),
            Figure(name=f"{kind}, messages found", case=case, value=round(searched.found / sizes.queries, 1)),
        ]
    return Measured(
        figures=tuple(figures),
        notes=(
            "Three words each: rare ones that a few messages have, middling ones, and frequent ones that many have.",
            f"A question is six words as they are said. At most {sizes.limit} messages are found.",
            f"By words and meaning the vectors of all messages are compared too, {sizes.dimensions} numbers each.",
            "They are made of hashes: computing what a question means takes no part.",
        ),
    )


def _kinds(words: Words) -> Mapping[str, Callable[[str], str]]:
    """What is searched for, by its name: each makes the query of a place."""
    return {
        "rare words": words.rare,
        "middling words": words.middling,
        "frequent words": words.common,
        "a question": words.question,
    }


async def _searched(sizes: Sizes, setup: Setup, total: int) -> tuple[Searches, Searches]:
    """The searches in the large store, and those in stores of their own."""
    kinds = {**_kinds(setup.words()), _BOTH: setup.words().question}
    crowded = {(user, kind): Searched() for user in sizes.users for kind in kinds}
    lonely = {place: Searched() for place in crowded}
    async with AsyncExitStack() as stores:
        setup.say(f"filling: {total:,} messages")
        large = await stores.enter_async_context(_filled(setup, "crowded", sizes, sizes.users, sizes.others))
        alone: dict[int, _Memories] = {}
        for user in sizes.users:
            setup.say(f"filling: {user:,} messages, nobody else's")
            alone[user] = await stores.enter_async_context(_filled(setup, f"lonely{user}", sizes, (user,), 0))
        setup.say("searching")
        for number in range(-1, sizes.queries):
            for user, kind in crowded:
                query = kinds[kind](f"{kind} {number}")
                for memories, searches in ((large, crowded), (alone[user], lonely)):
                    memory = memories.meaning if kind == _BOTH else memories.words
                    started = time.perf_counter()
                    hits = await memory.search(query, user=f"searcher{user}", limit=sizes.limit)
                    if number >= 0:
                        searches[user, kind].add(time.perf_counter() - started, len(hits))
    return crowded, lonely


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memories:
    """One store, searched in two ways."""

    words: Memory
    meaning: Memory


@asynccontextmanager
async def _filled(setup: Setup, name: str, sizes: Sizes, users: Sequence[int], others: int) -> AsyncIterator[_Memories]:
    """A store with users of these sizes, and with others who have said so much together."""
    words = setup.words()
    settings = plain_settings(setup.folder / f"{name}.db", durability="normal", extraction="none")
    given = Overrides(embedder=HashingEmbedder(sizes.dimensions))
    async with open_services(settings) as services, open_services(settings, given) as with_vectors:
        for user in users:
            parts = spread(user, users=1, sessions=-(-user // _PER_SESSION))
            await fill(services, words, [(key_of(f"searcher{user}", key.session), size) for key, size in parts])
        if others:
            await fill(services, words, spread(others, users=100, sessions=max(100, others // _PER_SESSION)))
        setup.say(f"{name}: vectors")
        await with_vectors.reindex.plan(settings.tenant)
        await with_vectors.worker.drain()
        yield _Memories(words=Memory(services), meaning=Memory(with_vectors))


QUESTION = Question(
    name="search",
    asks="How long does a search take, and does it matter how much others have said?",
    full=Sizes(users=(1_000, 10_000), others=89_000, queries=300),
    quick=Sizes(users=(10, 30), others=20, queries=2),
    measure=measure,
)
