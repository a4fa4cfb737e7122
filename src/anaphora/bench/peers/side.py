"""What is asked of each system, and how it is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from anaphora.bench.peers.embedding import TimedEmbedder
from anaphora.bench.words import Words

#: in how many parts the systems take each kind of work, in turn
PARTS = 10

#: role and text
Said = tuple[str, str]


class Side(Protocol):
    """A system that takes part, open and empty."""

    def append(self, user: str, said: Said) -> None:
        """Take one message."""
        ...

    def append_many(self, user: str, said: Sequence[Said]) -> None:
        """Take several messages of one conversation in one call."""
        ...

    def search(self, user: str, query: str, limit: int) -> int:
        """Look for messages of this user; how many were found."""
        ...

    def facts(self) -> Mapping[str, str]:
        """What it does for an append and a search, and how safe an append is, in a few words each."""
        ...


class OpenSide(Protocol):
    """Opens a system in an empty folder."""

    def __call__(self, folder: Path, embedder: TimedEmbedder, /) -> AbstractContextManager[Side]:
        """The system, closed at the end; all its files are in the folder."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What each system is given."""

    seed: int
    users: int
    #: messages that are appended one by one
    single: int
    #: calls with several messages, and how many each has
    calls: int
    per_call: int
    queries: int
    limit: int

    @property
    def messages(self) -> int:
        """All of them."""
        return self.single + self.calls * self.per_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A part of the plan: which of its appends or searches come next."""

    #: `single`, `many` or `search`
    what: str
    start: int
    stop: int


def orders(plan: Plan, parts: int = PARTS) -> Iterator[Order]:
    """The whole plan in so many parts of each kind.

    The systems take them in turn, so that what slows the machine down for a while slows down all of them.
    """
    for what, total in (("single", plan.single), ("many", plan.calls), ("search", plan.queries)):
        for part in range(parts):
            start, stop = total * part // parts, total * (part + 1) // parts
            if start < stop:
                yield Order(what=what, start=start, stop=stop)


class Run:
    """What one system is asked to do, and how long it took: pairs of seconds, in all and in the embedder."""

    def __init__(self, side: Side, plan: Plan, embedder: TimedEmbedder) -> None:
        self._side = side
        self._plan = plan
        self._embedder = embedder
        self._words = Words(plan.seed)
        self._users = [f"user{number}" for number in range(plan.users)]
        self._talks = {user: self._words.talk(user) for user in self._users}
        self.taken: dict[str, list[tuple[float, float]]] = {"single": [], "many": [], "search": []}
        #: messages, by all searches together
        self.found = 0

    def warm_up(self) -> None:
        """What every system does once, and what is not counted."""
        self._side.append("warm", ("user", "The first message is not counted."))
        self._side.search("warm", "message", self._plan.limit)

    def do(self, order: Order) -> None:
        """One part of the plan."""
        for number in range(order.start, order.stop):
            user = self._users[number % len(self._users)]
            act = self._act(order.what, number, user)
            embedded, started = self._embedder.seconds, time.perf_counter()
            act()
            self.taken[order.what].append((time.perf_counter() - started, self._embedder.seconds - embedded))

    def _act(self, what: str, number: int, user: str) -> Callable[[], None]:
        """What is timed, with everything made ready for it."""
        if what == "search":
            query = " ".join(self._words.sentence(f"{user}/{2 * (number % 50)}").split()[:6])
            return partial(self._search, user, query)
        said = list(islice(self._talks[user], self._plan.per_call if what == "many" else 1))
        if what == "many":
            return partial(self._side.append_many, user, said)
        return partial(self._side.append, user, said[0])

    def _search(self, user: str, query: str) -> None:
        self.found += self._side.search(user, query, self._plan.limit)


def measured(
    open_side: OpenSide, plan: Plan, folder: Path, embedder: TimedEmbedder, given: Iterable[Order]
) -> Mapping[str, Any]:
    """Do what is ordered, close the system and weigh its files."""
    with open_side(folder, embedder) as side:
        run = Run(side, plan, embedder)
        run.warm_up()
        for order in given:
            run.do(order)
        facts = dict(side.facts())
    words, each = Words(plan.seed), plan.messages // plan.users
    said = chain.from_iterable(islice(words.talk(f"user{number}"), each) for number in range(plan.users))
    return {
        **run.taken,
        "found": run.found,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        "text_bytes": sum(len(text.encode()) for _, text in said),
        "facts": facts,
    }
