"""Workers who want one job at the same moment, on a server (I5, I9): nobody takes it away, nobody stands in the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing, suppress
from datetime import timedelta

import pytest
from tests.databases.sql import open_sql
from tests.faults.nursery import Nursery
from tests.faults.places import Place, on_a_server, rows
from tests.faults.programs import Quarter, settings_for

from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.jobs import Job
from anaphora.errors import StoreBusy
from anaphora.ports.store import Unit
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.faults

LEASE = 30.0


@on_a_server
def test_who_read_the_clock_before_another_claimed_the_job_does_not_take_it_away(
    database: Callable[[int], Place],
) -> None:
    """The other one's lease ends later than the own one would: that does not mean that the clock was set back."""
    place = database(6)
    assert asyncio.run(second(place)) is None, "I5: a job was taken from a worker that had just claimed it"
    assert rows(place, "select state, attempt, lease_owner from jobs") == [("running", 1, "first")]


@on_a_server
def test_a_job_whose_row_is_held_by_somebody_who_stands_still_keeps_nobody_from_the_others(
    nursery: Nursery, new: Callable[..., Place]
) -> None:
    """I9: a process that was stopped inside a transaction, in a heartbeat perhaps, holds the row for a minute."""
    place = new()
    nursery.run("populate", db=str(place), count=3, head=6)
    with closing(open_sql(str(place))) as sql:
        ((oldest,),) = sql.rows("select id from jobs order by run_at, id limit 1")
        sql.change("begin")
        sql.rows("select 1 from jobs where id = ? for update", oldest)
        done = asyncio.run(drained(place))
        sql.change("rollback")
    states = dict(rows(place, "select id, state from jobs"))
    assert states.pop(oldest) == "queued"
    assert list(states.values()) == ["done", "done"], f"{done} jobs were done"


async def drained(place: Place) -> int:
    """How many jobs a worker does that looks for them as often as it would in a few seconds."""
    done = 0
    given = Overrides(chat_model=ScriptedChat(), counter=Quarter())
    async with open_services(settings_for(str(place), patience=0.5), given) as services:
        for _ in range(4):
            with suppress(StoreBusy):
                done += await services.worker.step()
    return done


async def second(place: Place) -> Job | None:
    """What the second worker gets, between whose look at the clock and whose claim the first one claims."""
    async with opened(place) as services:
        ((tenant, job_id),) = await services.store.due_jobs(now=None, lease_seconds=LEASE, with_model=True, limit=8)

        def claiming(unit: Unit) -> Job | None:
            now = unit.now()
            before = threading.Thread(target=lambda: asyncio.run(first(place)))
            before.start()
            before.join()
            return unit.jobs.claim(tenant, [job_id], owner="second", now=now, lease_seconds=LEASE)

        return await services.store.write(tenant, claiming)


async def first(place: Place) -> None:
    """A worker that claims the job."""
    async with opened(place) as services:
        ((tenant, job_id),) = await services.store.due_jobs(now=None, lease_seconds=LEASE, with_model=True, limit=8)
        job = await services.store.write(
            tenant,
            lambda unit: unit.jobs.claim(tenant, [job_id], owner="first", now=unit.now(), lease_seconds=LEASE),
        )
        assert job is not None
        assert job.lease_until is not None
        assert job.lease_until - job.updated_at == timedelta(seconds=LEASE)


def opened(place: Place) -> AbstractAsyncContextManager[Services]:
    """Services with a lease that is long enough."""
    return open_services(settings_for(str(place), lease=LEASE), Overrides(counter=Quarter()))
