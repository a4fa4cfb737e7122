"""Stores that break the laws of when sessions are read for facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Receipt
from anaphora.ports.rows import Append, SessionRow
from anaphora.ports.store import Schedule, Unit
from anaphora.testing.conformance.store_laws.tools import MAX_ATTEMPTS, after, new_id, row_of


@dataclass
class Twisted:
    """A schedule that asks another one, and twists what it asks or what it hears."""

    real: Schedule
    heard: dict[object, datetime | None] = field(default_factory=dict)

    @property
    def reader(self) -> str:
        return self.real.reader

    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        return self.real.run_at(row, position, now)


class Twists(Broken):
    """Is opened with a twisted schedule."""

    schedule: ClassVar[type[Twisted]]

    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "schedule": how["schedule"] and cls.schedule(how["schedule"])}


class _AtOnce(Twisted):
    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        return None if self.real.run_at(row, position, now) is None else now


@caught_by(
    "test_an_append_plans_reading_when_the_schedule_says",
    "test_sessions_that_are_written_together_get_each_what_the_schedule_says",
)
class ReadsAtOnce(Twists):
    schedule = _AtOnce


class _Always(Twisted):
    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        return self.real.run_at(row, position, now) or now


@caught_by("test_an_append_plans_reading_when_the_schedule_says")
class ReadsEverySession(Twists):
    schedule = _Always


@caught_by("test_an_append_plans_reading_when_the_schedule_says")
class NeverReads(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "schedule": None}


class _Own:
    reader = "live:own"

    def run_at(self, _row: SessionRow, _position: int, now: datetime) -> datetime | None:
        return now


@caught_by("test_without_a_schedule_no_session_is_read")
class HasAScheduleOfItsOwn(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "schedule": how["schedule"] or _Own()}


class _LiveReader(Twisted):
    @property
    def reader(self) -> str:
        return "live:standard"


@caught_by("test_the_schedule_sees_the_session_after_the_append_and_how_far_it_was_read")
class LooksAtAnotherReader(Twists):
    schedule = _LiveReader


class _FromTheStart(Twisted):
    def run_at(self, row: SessionRow, _position: int, now: datetime) -> datetime | None:
        return self.real.run_at(row, 0, now)


@caught_by("test_the_schedule_sees_the_session_after_the_append_and_how_far_it_was_read")
class AsksFromTheStart(Twists):
    schedule = _FromTheStart


class _FirstTime(Twisted):
    def run_at(self, row: SessionRow, position: int, _now: datetime) -> datetime | None:
        return self.real.run_at(row, position, row.created_at)


@caught_by("test_the_schedule_sees_the_session_after_the_append_and_how_far_it_was_read")
class AsksForTheFirstTime(Twists):
    schedule = _FirstTime


class _Remembers(Twisted):
    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        return self.heard.setdefault(row.key, self.real.run_at(row, position, now))


@caught_by("test_a_reading_that_waits_is_pulled_forward_when_it_becomes_due")
class AsksOnce(Twists):
    """What waits waits for what was said first."""

    schedule = _Remembers


@caught_by("test_a_reading_that_waits_is_pulled_forward_when_it_becomes_due")
class WaitsLongerWithEachAppend(Broken):
    """A job for each append, in the place of the one before."""

    async def append(self, append: Append) -> Receipt:
        receipt = await self.real.append(append)

        def anew(unit: Unit) -> None:
            row = row_of(unit, append.key)
            for job in unit.jobs.list(append.key.tenant, session_id=row.id):
                unit.jobs.withdraw(append.key.tenant, job.id, now=append.now)
            unit.jobs.plan(
                row,
                JobKind.EXTRACT,
                job_id=new_id(),
                run_at=after(1800),
                now=append.now,
                max_attempts=MAX_ATTEMPTS,
            )

        await self.real.write(append.key.tenant, anew)
        return receipt


class Hurries(Broken):
    """What waits need not wait any longer once something is said."""

    kinds: ClassVar[Sequence[JobKind]] = (JobKind.EXTRACT,)

    async def append(self, append: Append) -> Receipt:
        receipt = await self.real.append(append)

        def hurry(unit: Unit) -> None:
            for kind in self.kinds:
                unit.jobs.pull_forward(append.key.tenant, kind, now=append.now, limit=99)

        await self.real.write(append.key.tenant, hurry)
        return receipt


@caught_by(
    "test_a_reading_that_is_pulled_forward_is_not_offered_before_its_time",
    "test_a_reading_that_was_tried_keeps_its_pause_whatever_the_schedule_says",
    "test_only_readings_are_pulled_forward_by_the_schedule",
)
class HurriesAllReadings(Hurries):
    kinds = (JobKind.EXTRACT,)


@caught_by("test_only_readings_are_pulled_forward_by_the_schedule")
class HurriesSummaries(Hurries):
    kinds = (JobKind.SUMMARISE,)


@caught_by("test_a_reading_that_is_pulled_forward_is_not_offered_before_its_time")
class OffersWhatWaits(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return await self.real.due_jobs(**how | {"now": after(100_000)})


class _Once(Twisted):
    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        if row.key in self.heard:
            return None
        return self.heard.setdefault(row.key, self.real.run_at(row, position, now))


@caught_by("test_a_session_has_one_live_reading_whatever_the_schedule_says")
class ReadsOnce(Twists):
    """Messages that arrive while it reads are not looked at."""

    schedule = _Once


@caught_by("test_a_session_has_one_live_reading_whatever_the_schedule_says")
class ReadsTwiceAtOnce(Broken):
    """A second reading is a job of another kind, so that the schema does not mind."""

    async def append(self, append: Append) -> Receipt:
        receipt = await self.real.append(append)

        def again(unit: Unit) -> None:
            unit.jobs.plan(
                row_of(unit, append.key),
                JobKind.REEXTRACT,
                job_id=new_id(),
                run_at=append.now,
                now=append.now,
                max_attempts=MAX_ATTEMPTS,
            )

        await self.real.write(append.key.tenant, again)
        return receipt


class _ForAll(Twisted):
    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        return self.heard.setdefault(now, self.real.run_at(row, position, now))


@caught_by("test_sessions_that_are_written_together_get_each_what_the_schedule_says")
class AsksOnceForAll(Twists):
    schedule = _ForAll


@dataclass
class _Furthest(Twisted):
    furthest: dict[SessionKey, int] = field(default_factory=dict)

    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        self.furthest[row.key] = max(position, self.furthest.get(row.key, 0), min(row.head, 2))
        return self.real.run_at(row, self.furthest[row.key], now)


@caught_by("test_a_reading_that_the_schedule_planned_is_of_the_session_as_it_is")
class RemembersHowFarItRead(Twists):
    schedule = _Furthest


@caught_by("test_a_reading_that_the_schedule_planned_is_of_the_session_as_it_is")
class ReadsWhatWasReset(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, *, now: datetime) -> int:
        row = unit.sessions.get(tenant, session_id)
        gone = unit.sessions.reset(tenant, session_id, now=now)
        assert row is not None
        unit.jobs.plan(row, JobKind.EXTRACT, job_id=new_id(), run_at=now, now=now, max_attempts=MAX_ATTEMPTS)
        return gone
