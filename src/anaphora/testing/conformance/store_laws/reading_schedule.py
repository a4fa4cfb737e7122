"""I4, I17: when sessions are read for facts is decided in the append that makes it due."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.keys import SessionKey
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    LEASE,
    MAX_ATTEMPTS,
    NOW,
    TENANT,
    after,
    always,
    append,
    candidates,
    claimed,
    due,
    failed,
    fence_of,
    finished,
    jobs_of,
    key_of,
    move,
    planned,
    session,
)

READER = "live:reading"
THEIRS = key_of(tenant="t2")


@dataclass
class Timetable:
    """A schedule that says what it is told to, and notes what it was asked."""

    #: seconds after `NOW`, by the name of the session; None, or no entry: nothing is to be read
    times: dict[str, float | None] = field(default_factory=dict)
    #: the head of the session, the position of the reader, the time
    asked: list[tuple[SessionKey, int, int, datetime]] = field(default_factory=list)
    reader: str = READER

    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        """What it was told."""
        self.asked.append((row.key, row.head, position, now))
        seconds = self.times.get(row.key.session)
        return None if seconds is None else after(seconds)


async def readings(store: Store, *, tenant: str = TENANT) -> list[Job]:
    """The jobs that read sessions for facts, newest first."""
    return [job for job in await jobs_of(store, tenant) if job.kind is JobKind.EXTRACT]


async def reading(store: Store) -> Job:
    """The one job that there is, which reads for facts."""
    jobs = await jobs_of(store)
    assert [job.kind for job in jobs] == [JobKind.EXTRACT]
    return jobs[0]


class ScheduleLaws(StoreLaws):
    """The jobs that read sessions for facts."""

    async def test_an_append_plans_reading_when_the_schedule_says(self, tmp_path: Path) -> None:
        """I17: a job that is not offered before that time; now means at once, and never that there is none."""
        table = Timetable({"now": 0, "later": 30, "never": None})
        async with self.opened(tmp_path, schedule=table) as store:
            for name in ("never", "later", "now"):
                await store.append(append("a", key=key_of(session=name)))
            await store.append(append("a", key=key_of(session="now", tenant="t2")))
            jobs = {job.key.session: job for job in await jobs_of(store)}
            assert {name: job.run_at for name, job in jobs.items()} == {"now": NOW, "later": after(30)}
            for job in jobs.values():
                assert (job.kind, job.state, job.attempt) == (JobKind.EXTRACT, JobState.QUEUED, 0)
                assert (job.max_attempts, job.needs_model, job.created_at) == (MAX_ATTEMPTS, False, NOW)
            theirs = {("t2", job.id) for job in await readings(store, tenant="t2")}
            assert len(theirs) == 1
            for now in (NOW, after(29)):
                assert set(await candidates(store, now=now)) == {(TENANT, jobs["now"].id), *theirs}
            assert (TENANT, jobs["later"].id) in await candidates(store, now=after(30))

    async def test_without_a_schedule_no_session_is_read(self, tmp_path: Path) -> None:
        """Who has none plans no reading, whatever else is planned."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            assert [job.kind for job in await jobs_of(store)] == [JobKind.SUMMARISE]

    async def test_the_schedule_sees_the_session_after_the_append_and_how_far_it_was_read(self, tmp_path: Path) -> None:
        """I6: the head of its own reader, whoever else reads; the time is that of the newest append."""
        table = Timetable()
        async with self.opened(tmp_path, planner=always, schedule=table) as store:
            await store.append(append("a", "b"))
            await store.write(TENANT, lambda unit: move(unit, Head(), Head(position=1)))
            await store.append(append("c", now=after(5)))
            await store.write(TENANT, lambda unit: move(unit, Head(), Head(position=2), reader=READER))
            await store.append(append("d", now=after(9)))
            await store.append(append("e", key=THEIRS, now=after(9)))
            assert table.asked == [
                (KEY, 2, 0, NOW),
                (KEY, 3, 0, after(5)),
                (KEY, 4, 2, after(9)),
                (THEIRS, 1, 0, after(9)),
            ]
            assert {job.kind for job in await jobs_of(store)} == {JobKind.SUMMARISE}

    async def test_a_reading_that_waits_is_pulled_forward_when_it_becomes_due(self, tmp_path: Path) -> None:
        """I17: to the time that the schedule now says, if that is earlier; never back."""
        table = Timetable({"s1": 900})
        async with self.opened(tmp_path, schedule=table) as store:
            await store.append(append("a"))
            first = await reading(store)
            for seconds, expected in ((1800, 900), (None, 900), (10, 10), (400, 10)):
                table.times["s1"] = seconds
                await store.append(append("b", now=after(10)))
                assert (await reading(store)).run_at == after(expected), seconds
            assert (await reading(store)).id == first.id
            assert await candidates(store, now=after(9)) == []
            assert await candidates(store, now=after(10)) == [(TENANT, first.id)]

    async def test_a_reading_that_is_pulled_forward_is_not_offered_before_its_time(self, tmp_path: Path) -> None:
        """I17: earlier than it was is not yet now, however far away that is."""
        table = Timetable({"s1": 20 * LEASE})
        async with self.opened(tmp_path, schedule=table) as store:
            await store.append(append("a"))
            table.times["s1"] = 10 * LEASE
            await store.append(append("b", now=after(1)))
            job = await reading(store)
            assert job.run_at == after(10 * LEASE)
            for now in (after(1), after(5 * LEASE), after(10 * LEASE - 1)):
                assert await candidates(store, now=now) == []
                assert await due(store, now=now) == 0
            assert await candidates(store, now=job.run_at) == [(TENANT, job.id)]

    async def test_only_readings_are_pulled_forward_by_the_schedule(self, tmp_path: Path) -> None:
        """I17: other work that waits for later waits on, and so do readings of other sessions and tenants."""
        table = Timetable({"s1": 900})
        async with self.opened(tmp_path, planner=always, schedule=table) as store:
            await store.append(append("x", key=key_of(session="s2")))
            for key in (KEY, THEIRS):
                await store.append(append("a", key=key))
            for job in [await claimed(store) for _ in range(3)]:
                await finished(store, job)
            await planned(store, run_at=after(700))
            await planned(store, key_of(session="s2"), JobKind.EXTRACT, run_at=after(800))
            table.times["s1"] = 0
            await store.append(append("b"))
            waiting = {
                (job.key.session, job.kind): job.run_at for job in await jobs_of(store) if job.state is JobState.QUEUED
            }
            assert waiting == {
                ("s1", JobKind.EXTRACT): NOW,
                ("s1", JobKind.SUMMARISE): after(700),
                ("s2", JobKind.EXTRACT): after(800),
            }
            assert [job.run_at for job in await readings(store, tenant="t2")] == [after(900)]

    async def test_a_reading_that_was_tried_keeps_its_pause_whatever_the_schedule_says(self, tmp_path: Path) -> None:
        """I9: an append does not hasten what failed and waits to be tried again."""
        table = Timetable({"s1": 0})
        async with self.opened(tmp_path, schedule=table) as store:
            await store.append(append("a"))
            job = await claimed(store)

            assert await store.write(
                TENANT,
                lambda unit: unit.jobs.retry_later(fence_of(job), run_at=after(500), reason="busy", now=after(1)),
            )
            await store.append(append("b", now=after(2)))
            again = await reading(store)
            assert (again.id, again.attempt, again.run_at) == (job.id, 1, after(500))
            assert await candidates(store, now=after(499)) == []
            assert await candidates(store, now=after(500)) == [(TENANT, job.id)]

    async def test_a_session_has_one_live_reading_whatever_the_schedule_says(self, tmp_path: Path) -> None:
        """I4, I9: one that runs is told to look again; when it is over there can be another."""
        table = Timetable({"s1": 0})
        async with self.opened(tmp_path, schedule=table) as one, self.opened(tmp_path, schedule=table) as two:
            await asyncio.gather(*(store.append(append("a")) for _ in range(8) for store in (one, two)))
            job = await claimed(one)
            assert job == await reading(two)
            assert not job.rearm
            await two.append(append("b", now=after(1)))
            assert (await reading(one)).rearm
            assert await finished(one, job)
            table.times["s1"] = 40
            await two.append(append("c", now=after(2)))
            jobs = await readings(one)
            assert len(jobs) == 2
            newest, oldest = jobs
            assert (newest.state, newest.run_at) == (JobState.QUEUED, after(40))
            assert (oldest.id, oldest.state) == (job.id, JobState.DONE)
            await failed(one, await claimed(one, now=after(40)))
            await two.append(append("d", now=after(50)))
            assert [job.state for job in await readings(one)] == [JobState.QUEUED, JobState.FAILED, JobState.DONE]

    async def test_sessions_that_are_written_together_get_each_what_the_schedule_says(self, tmp_path: Path) -> None:
        """I4, I17: appends that share a transaction share nothing else."""
        table = Timetable({f"s{number}": 10 * number if number % 3 else None for number in range(12)})
        async with self.opened(tmp_path, planner=always, schedule=table) as store:
            for _ in range(2):
                await asyncio.gather(
                    *(store.append(append("a", "b", key=key_of(session=name))) for name in table.times for _ in "ab")
                )
            expected = {name: after(seconds) for name, seconds in table.times.items() if seconds is not None}
            jobs = await readings(store)
            assert {job.key.session: job.run_at for job in jobs} == expected
            assert len(jobs) == len(expected)
            assert len(await jobs_of(store)) == len(expected) + 12

    async def test_a_reading_that_the_schedule_planned_is_of_the_session_as_it_is(self, tmp_path: Path) -> None:
        """I5, I12: a reset takes it along; what is planned after that is of the new life."""
        table = Timetable({"s1": 30})
        async with self.opened(tmp_path, schedule=table) as store:
            await store.append(append("a", "b"))
            await store.write(TENANT, lambda unit: move(unit, Head(), Head(position=2), reader=READER))
            uid = (await session(store)).id
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, uid, now=after(1)))
            assert await jobs_of(store) == []
            await store.append(append("c", now=after(2)))
            assert table.asked[-1] == (KEY, 1, 0, after(2))
            assert (await reading(store)).epoch == 1
