"""Telling those who wait that a memory changed: one look at the store for all of them, every half second.

A look costs the same however long the history is, and however many listen to the same user: of each part of a memory
the store keeps one stamp, which the transaction that changes it renews.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from anaphora.domain.changes import Change, ChangeKind, Stamp, mark_of, numbers_of
from anaphora.domain.keys import checked_id
from anaphora.errors import StoreClosed, StoreError
from anaphora.ports.clock import Clock
from anaphora.ports.store import Store

#: seconds between two looks
_EVERY: Final = 0.5
#: users who are looked after with one statement
_AT_ONCE: Final = 500

_Stamps = Mapping[ChangeKind, Stamp]


@dataclass(slots=True, eq=False)
class _Watched:
    """One user to whose memory somebody listens."""

    stamps: _Stamps = field(default_factory=dict)
    listeners: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, stamps: _Stamps) -> None:
        """What was seen now; whoever waits is woken if it is news."""
        if stamps != self.stamps:
            self.stamps = stamps
            self.wake()

    def wake(self) -> None:
        woken, self.news = self.news, asyncio.Event()
        woken.set()


class Changes:
    """Watches the stamps of the users to whom somebody listens, and of nobody else."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._watched: dict[tuple[str, str], _Watched] = {}
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def watched(self) -> int:
        """How many users are looked after."""
        return len(self._watched)

    def close(self) -> None:
        """Let all who listen come to their end."""
        self._closed = True
        for watched in self._watched.values():
            watched.wake()

    async def listen(self, tenant: str, user: str, *, since: str | None = None) -> AsyncGenerator[Change]:
        """The changes of a user's memory from now on, or since a mark, until `close`.

        Raises:
            InvalidInput: a name that cannot be one.
            StoreError: the store cannot be asked at the beginning; later failures only delay the news.

        """
        checked_id(tenant, "tenant")
        checked_id(user, "user")
        with self._listening(tenant, user) as watched:
            stamps = (await self._seen(tenant, [user])).get(user, {})
            watched.take(stamps)
            known = _numbers(stamps) if since is None else numbers_of(since)
            while not self._closed:
                stamps = watched.stamps
                for change in _news(known, stamps):
                    yield change
                if watched.stamps is stamps and not self._closed:
                    await watched.news.wait()

    async def mark(self, tenant: str, user: str) -> str:
        """The mark of now: whoever listens since then misses nothing."""
        return mark_of(_numbers((await self._seen(tenant, [user])).get(user, {})))

    @contextmanager
    def _listening(self, tenant: str, user: str) -> Iterator[_Watched]:
        watched = self._watched.setdefault((tenant, user), _Watched())
        watched.listeners += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="anaphora-changes")
        try:
            yield watched
        finally:
            watched.listeners -= 1
            if not watched.listeners:
                del self._watched[tenant, user]
            if not self._watched:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        with suppress(StoreClosed):
            while True:
                await self._clock.sleep(_EVERY)
                for tenant in {tenant for tenant, _ in self._watched}:
                    users = [user for of, user in self._watched if of == tenant]
                    for start in range(0, len(users), _AT_ONCE):
                        await self._take(tenant, users[start : start + _AT_ONCE])
        self.close()

    async def _take(self, tenant: str, users: Collection[str]) -> None:
        try:
            seen = await self._seen(tenant, users)
        except StoreClosed:
            raise
        except StoreError:  # the next look brings what this one could not
            return
        for user in users:
            if (tenant, user) in self._watched:
                self._watched[tenant, user].take(seen.get(user, {}))

    async def _seen(self, tenant: str, users: Collection[str]) -> Mapping[str, _Stamps]:
        return await self._store.read(tenant, lambda unit: unit.changes.stamps(tenant, users))


def _numbers(stamps: _Stamps) -> dict[ChangeKind, int]:
    return {kind: stamp.number for kind, stamp in stamps.items()}


def _news(known: dict[ChangeKind, int], stamps: _Stamps) -> Iterator[Change]:
    """What is not as it was known; it is known from then on."""
    gone = [kind for kind in known if kind not in stamps]
    for kind in gone:
        del known[kind]
    if gone:  # stamps never go but with all that there was of a user
        yield Change(kind=ChangeKind.ERASED, mark=mark_of(known))
    for kind in ChangeKind:
        stamp = stamps.get(kind)
        if stamp is not None and known.get(kind) != stamp.number:
            known[kind] = stamp.number
            yield Change(kind=kind, agent=stamp.agent, session=stamp.session, mark=mark_of(known))
