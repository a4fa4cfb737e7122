"""I9: work is noticed when it is planned, by whoever plans it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    MOMENT,
    NOW,
    always,
    append,
    claimed,
    fence_of,
    planned,
    soon,
)

#: seconds: longer than anybody's patience, so that a wait which ends was ended
LONG = 600.0


async def waiting(store: Store) -> asyncio.Task[None]:
    """A wait for work that has begun and not ended. One that ends for what happened before it is begun again."""
    for _ in range(10):
        wait = asyncio.create_task(store.wait_for_work(LONG))
        await asyncio.wait([wait], timeout=MOMENT)
        if not wait.done():
            return wait
        await wait
    raise AssertionError("I9: every wait ends at once, though nothing is planned")


class WaitLaws(StoreLaws):
    """Waiting for work."""

    async def test_waiting_ends_when_a_job_was_planned(self, tmp_path: Path) -> None:
        """I9: an append that plans something wakes the worker."""
        async with self.opened(tmp_path, planner=always) as store:
            wait = await waiting(store)
            await store.append(append("a"))
            await soon(wait, "a job was planned")

    async def test_waiting_ends_when_a_job_was_given_back(self, tmp_path: Path) -> None:
        """I9: what a worker releases can be done by another one at once."""
        async with self.opened(tmp_path, planner=always) as store, self.opened(tmp_path) as other:
            await other.append(append("a"))
            assert await planned(other)
            fence = fence_of(await claimed(other))
            wait = await waiting(other)
            await store.write(fence.tenant, lambda unit: unit.jobs.release(fence, now=NOW))
            await soon(wait, "a job was given back")

    async def test_work_planned_just_before_the_wait_is_not_missed(self, tmp_path: Path) -> None:
        """I9: between a look at the queue and the wait there is no gap in which work is overlooked."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            await soon(store.wait_for_work(LONG), "a job was planned before the wait")

    async def test_work_of_another_process_is_noticed(self, tmp_path: Path) -> None:
        """I9: it does not matter who plans: another handle's work ends the wait too."""
        async with self.opened(tmp_path) as store, self.opened(tmp_path, planner=always) as other:
            wait = await waiting(store)
            await other.append(append("a"))
            await soon(wait, "another handle planned a job")

    async def test_every_waiter_is_told(self, tmp_path: Path) -> None:
        """I9: work that one waiter hears of is not kept from the others."""
        async with self.opened(tmp_path, planner=always) as store:
            waits = [await waiting(store) for _ in range(3)]
            await store.append(append("a"))
            await soon(asyncio.gather(*waits), "a job was planned, and three waited")

    async def test_waiting_ends_at_the_time_out_and_not_before(self, tmp_path: Path) -> None:
        """I9: without any work a wait is over when its time is: who waits neither spins nor sleeps for ever."""
        async with self.opened(tmp_path) as store:
            wait = await waiting(store)
            await soon(store.wait_for_work(0.01), "a hundredth of a second")
            assert not wait.done()

    async def test_waiting_ends_when_the_store_is_closed(self, tmp_path: Path) -> None:
        """A worker that waits does not hold up the end."""
        async with self.opened(tmp_path) as store:
            wait = await waiting(store)
            await store.close()
            await soon(asyncio.wait([wait]), "the store was closed")
