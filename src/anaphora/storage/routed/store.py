"""`ports.store.Store` over several stores: a tenant's business is its own store's, what concerns all is every one's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from anaphora.domain.figures import Figures, together
from anaphora.domain.messages import Receipt
from anaphora.errors import StoreClosed, StoreError
from anaphora.ports.clock import Clock
from anaphora.ports.rows import Append
from anaphora.ports.store import Store, Unit
from anaphora.storage.routed.placement import Placement
from anaphora.storage.routed.queue import Due, merged

T = TypeVar("T")

log = logging.getLogger("anaphora.storage")

#: seconds for which a server that failed is not asked for work: each such question takes as long as its patience
_UNWELL = 30.0
_PAGE = 1000


class RoutedStore:
    """Several stores, each with the tenants that the placement gives it.

    A server that fails takes nobody with it but its own tenants; its errors say its name. Transactions are of one
    tenant, so of one server: nothing has to be committed on two.

    Args:
        stores: the open stores by the names of their servers; closed with this one.
        placement: over the same names.
        secret: of all of them together: it must not change when a server is added.
        clock: the time for waiting.

    """

    def __init__(self, stores: Mapping[str, Store], placement: Placement, *, secret: bytes, clock: Clock) -> None:
        self._stores = stores
        self._placement = placement
        self._secret = secret
        self._clock = clock
        self._first = 0
        self._well_again: dict[str, float] = {}
        self._closed = False

    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        """Run in one snapshot of the tenant's server."""
        self._check_open()
        server = self._placement.server_of(tenant)
        with named(server):
            return await self._stores[server].read(tenant, work)

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        """Run in a transaction of the tenant's server."""
        self._check_open()
        server = self._placement.server_of(tenant)
        with named(server):
            return await self._stores[server].write(tenant, work)

    async def append(self, append: Append) -> Receipt:
        """Append; callers with tenants of one server may share one transaction."""
        self._check_open()
        server = self._placement.server_of(append.key.tenant)
        with named(server):
            return await self._stores[server].append(append)

    async def due_jobs(
        self, *, now: datetime | None, lease_seconds: float, with_model: bool, limit: int, with_embedder: bool = True
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of jobs that could be claimed: fair between tenants, and servers take turns in being first.

        What is due on a server that fails is left out, and that server left alone for a while.

        Raises:
            StoreError: every server fails.

        """
        self._check_open()
        names = self._in_turn()

        async def ask(name: str) -> Sequence[Due]:
            with named(name):
                return await self._due_on(
                    name, now, lease_seconds, limit, with_model=with_model, with_embedder=with_embedder
                )

        answers = await asyncio.gather(*map(ask, names), return_exceptions=True)
        queues = list(self._of_the_well(names, answers))
        return merged(queues, limit=limit)

    async def due_documents(
        self, *, now: datetime | None, lease_seconds: float, limit: int
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of documents that wait for vectors, on servers that take turns in being first.

        Raises:
            StoreError: every server fails.

        """
        self._check_open()
        names = self._in_turn()

        async def ask(name: str) -> Sequence[Due]:
            with named(name):
                return await self._waiting_on(name, now, lease_seconds, limit)

        answers = await asyncio.gather(*map(ask, names), return_exceptions=True)
        return merged(list(self._of_the_well(names, answers)), limit=limit)

    async def due_count(self, *, now: datetime | None, with_model: bool, with_embedder: bool = True) -> int:
        """Live jobs of all tenants of all servers.

        Raises:
            StoreError: a server fails: without it the number is not known.

        """
        return sum(
            await self._of_each(
                lambda store: store.due_count(now=now, with_model=with_model, with_embedder=with_embedder)
            )
        )

    async def figures(self, *, stuck_before: datetime, with_model: bool, with_embedder: bool = True) -> Figures:
        """Counts of all tenants of all servers.

        Raises:
            StoreError: a server fails: without it the figures are not known.

        """
        return together(
            await self._of_each(
                lambda store: store.figures(
                    stuck_before=stuck_before, with_model=with_model, with_embedder=with_embedder
                )
            )
        )

    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        """Who keeps anything here, all servers together: names behind `after`, the first `limit`.

        A tenant is there if it is on the server that is asked for it.

        Raises:
            StoreError: a server fails: without it the list has holes.

        """
        self._check_open()

        async def on(name: str) -> list[str]:
            found: list[str] = []
            async for tenant in tenants_on(name, self._stores[name], after=after, page=max(1, limit)):
                if self._placement.server_of(tenant) == name:
                    found.append(tenant)
                if len(found) >= limit:
                    break
            return found

        pages = await asyncio.gather(*map(on, self._stores))
        return sorted(tenant for page in pages for tenant in page)[:limit]

    async def unfinished(self, *, limit: int) -> Sequence[str]:
        """The tenants of which something is still to be erased, on the servers that are asked for them.

        Raises:
            StoreError: a server fails.

        """

        async def on(name: str) -> Sequence[str]:
            with named(name):
                found = await self._stores[name].unfinished(limit=limit)
            return [tenant for tenant in found if self._placement.server_of(tenant) == name]

        self._check_open()
        return [tenant for page in await asyncio.gather(*map(on, self._stores)) for tenant in page][:limit]

    async def has_keys(self) -> bool:
        """Whether any tenant has a key, on the servers that are asked for them.

        Raises:
            StoreError: a server fails.

        """

        async def on(name: str) -> bool:
            with named(name):
                return await self._stores[name].has_keys()

        self._check_open()
        return any(await asyncio.gather(*map(on, self._stores)))

    async def wait_for_work(self, timeout: float) -> None:
        """Return when one of the servers calls, or after the time-out.

        Raises:
            StoreError: every server fails.

        """
        self._check_open()
        waits = [asyncio.ensure_future(store.wait_for_work(timeout)) for store in self._stores.values()]
        try:
            waiting = set(waits)
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if any(wait.exception() is None for wait in done):
                    return
            self._check_open()
            await waits[0]
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def secret(self) -> bytes:
        """The secret of all servers together."""
        return self._secret

    async def close(self) -> None:
        """Finish what was handed in, then close every store. Twice is harmless."""
        self._closed = True
        await asyncio.gather(*(store.close() for store in self._stores.values()))

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed: open it again")

    def _in_turn(self) -> list[str]:
        """The servers that are asked for work, another one first each time; all of them if none is well."""
        now, every = self._clock.monotonic(), list(self._stores)
        self._first = (self._first + 1) % len(every)
        turned = every[self._first :] + every[: self._first]
        return [name for name in turned if self._well_again.get(name, now) <= now] or turned

    def _of_the_well(
        self, names: Sequence[str], answers: Sequence[Sequence[Due] | BaseException]
    ) -> Iterator[Sequence[Due]]:
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        for name, answer in zip(names, answers, strict=True):
            if not isinstance(answer, BaseException):
                self._well_again.pop(name, None)
                yield answer
                continue
            if not isinstance(answer, StoreError) or len(failed) == len(answers):
                raise answer
            self._well_again[name] = self._clock.monotonic() + _UNWELL
            extra = {"event": "store_failed", "server": name}
            log.warning("Its work waits for %.0f s: %s", _UNWELL, answer, extra=extra)

    async def _due_on(
        self,
        name: str,
        now: datetime | None,
        lease_seconds: float,
        limit: int,
        *,
        with_model: bool,
        with_embedder: bool,
    ) -> Sequence[Due]:
        """The queue of one server, without tenants that are asked for elsewhere: nobody could claim theirs."""
        asked = limit
        while True:
            found = await self._stores[name].due_jobs(
                now=now,
                lease_seconds=lease_seconds,
                with_model=with_model,
                with_embedder=with_embedder,
                limit=asked,
            )
            ours = [due for due in found if self._placement.server_of(due[0]) == name]
            if len(ours) >= limit or len(found) < asked:
                return ours[:limit]
            asked *= 4

    async def _waiting_on(self, name: str, now: datetime | None, lease_seconds: float, limit: int) -> Sequence[Due]:
        """The documents that wait on one server, without those of tenants that are asked for elsewhere."""
        asked = limit
        while True:
            found = await self._stores[name].due_documents(now=now, lease_seconds=lease_seconds, limit=asked)
            ours = [due for due in found if self._placement.server_of(due[0]) == name]
            if len(ours) >= limit or len(found) < asked:
                return ours[:limit]
            asked *= 4

    async def _of_each(self, ask: Callable[[Store], Awaitable[T]]) -> Sequence[T]:
        self._check_open()

        async def one(name: str, store: Store) -> T:
            with named(name):
                return await ask(store)

        return await asyncio.gather(*(one(name, store) for name, store in self._stores.items()))


async def tenants_on(name: str, store: Store, *, after: str = "", page: int = _PAGE) -> AsyncIterator[str]:
    """Every tenant of one server behind `after`, wherever it is asked for."""
    while True:
        with named(name):
            found = await store.tenants(after=after, limit=page)
        for tenant in found:
            yield tenant
        if len(found) < page:
            return
        after = found[-1]


@contextmanager
def named(server: str) -> Iterator[None]:
    """What a store says went wrong leaves this block with the name of its server."""
    try:
        yield
    except StoreClosed:
        raise
    except StoreError as error:
        raise type(error)(f"server {server!r}: {error}") from error
