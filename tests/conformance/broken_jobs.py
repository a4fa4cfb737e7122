"""Stores that break the laws of jobs, leases and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Receipt
from anaphora.domain.plans import State
from anaphora.errors import AnaphoraError
from anaphora.ports.rows import Append, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import NOW, TENANT, new_id, row_of

LIVE = (JobState.QUEUED, JobState.RUNNING)
DAY = timedelta(days=1)


def every(unit: Unit) -> Sequence[Job]:
    return [job for tenant in ("t", "t2", "small") for job in unit.jobs.list(tenant, limit=1000)]


# -- jobs ----------------------------------------------------------------------------------------------------------


@caught_by("test_a_job_comes_back_as_it_was_planned", "test_a_worker_without_a_model_leaves_what_needs_one")
class ForgetsWhatNeedsAModel(Broken):
    def jobs_plan(self, unit: Unit, *args: Any, **how: Any) -> bool:
        return unit.jobs.plan(*args, **how | {"needs_model": False})


@caught_by("test_at_most_one_job_of_a_kind_is_live_in_a_session", "test_sixty_four_plans_at_once_make_one_live_job")
class PlansBesideALiveJob(Broken):
    """A session's second plan is a job of another kind, so that the schema does not mind."""

    def jobs_plan(self, unit: Unit, row: SessionRow, kind: JobKind, **how: Any) -> bool:
        return unit.jobs.plan(row, kind, **how) or unit.jobs.plan(
            row, JobKind.REBUILD, **how | {"job_id": new_id(), "from_seq": 0}
        )


@caught_by("test_an_append_plans_in_its_own_transaction")
class PlansTooFewAttempts(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "max_attempts": 1}


@caught_by(
    "test_an_append_plans_in_its_own_transaction",
    "test_messages_that_arrive_while_a_job_runs_make_it_look_again",
    "test_waiting_ends_when_a_job_was_planned",
)
class NeverPlans(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "planner": lambda *_: None}


@caught_by("test_an_append_that_fails_plans_nothing")
class PlansForRetries(Broken):
    async def append(self, append: Append) -> Receipt:
        receipt = await self.real.append(append)
        if receipt.repeated:
            how = {"job_id": new_id(), "run_at": NOW, "now": NOW, "max_attempts": 3}
            await self.real.write(
                TENANT,
                lambda unit: unit.jobs.plan(row_of(unit), JobKind.SUMMARISE, **how),  # type: ignore[arg-type]
            )
        return receipt


@caught_by("test_the_planner_sees_the_session_after_the_append_from_its_own_readers_head")
class PlansFromTheStart(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        def planner(strategy: str | None, state: State, /) -> bool:
            due: bool = how["planner"](strategy, replace(state, covered_to=0))
            return due

        return {**how, "planner": planner}


@caught_by("test_the_planner_sees_the_session_after_the_append_from_its_own_readers_head")
class TakesAnotherStrategysHead(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "reader_of": lambda _: "live:standard"}


@caught_by(
    "test_messages_that_arrive_while_a_job_runs_make_it_look_again",
    "test_no_append_beside_the_end_of_a_job_is_overlooked",
)
class OverlooksWhatArrives(Broken):
    def jobs_finish(self, unit: Unit, *args: Any, **how: Any) -> bool:
        unit.jobs.finish(*args, **how)
        return False


@caught_by("test_a_queued_job_is_not_told_to_look_again")
class AlwaysLooksAgain(Broken):
    def jobs_finish(self, unit: Unit, *args: Any, **how: Any) -> bool:
        unit.jobs.finish(*args, **how)
        return True


@caught_by("test_what_is_due_is_found_the_oldest_first")
class FindsTheNewestFirst(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return list(reversed(await self.real.due_jobs(**how)))


@caught_by("test_what_is_due_is_found_the_oldest_first", "test_a_job_put_back_waits_and_stays_counted")
class FindsWhatWaits(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return await self.real.due_jobs(**{**how, "now": how["now"] + DAY})


@caught_by("test_a_job_from_the_future_is_due")
class WaitsForTheClock(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        later = {job.id for job in await self.real.read(TENANT, every) if job.run_at > how["now"]}
        return [found for found in await self.real.due_jobs(**how) if found[1] not in later]


@caught_by("test_a_busy_tenant_does_not_keep_others_waiting")
class ServesTheBusiest(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        found = await self.real.due_jobs(**{**how, "limit": 1000})
        return sorted(found, key=lambda one: one[0] != "t")[: how["limit"]]


@caught_by("test_live_jobs_are_counted")
class CountsOnlyWhatWaits(Broken):
    async def due_count(self, **how: Any) -> int:
        running = [job for job in await self.real.read(TENANT, every) if job.state is JobState.RUNNING]
        return await self.real.due_count(**how) - len(running)


@caught_by("test_what_waits_for_later_can_be_pulled_forward")
class PullsEverythingForward(Broken):
    def jobs_pull_forward(self, unit: Unit, tenant: str, _kind: JobKind, *, now: datetime, limit: int) -> int:
        return sum(unit.jobs.pull_forward(tenant, kind, now=now, limit=limit) for kind in JobKind)


@caught_by(
    "test_failed_jobs_can_be_tried_again_but_not_beside_a_live_one",
    "test_one_failed_job_can_be_tried_again",
)
class RetriesForAnybody(Broken):
    def jobs_retry_failed(self, unit: Unit, _tenant: str, **how: Any) -> int:
        return unit.jobs.retry_failed("t", **how)


@caught_by("test_one_failed_job_can_be_tried_again")
class RetriesThemAll(Broken):
    def jobs_retry_failed(self, unit: Unit, tenant: str, *, now: datetime, **_: Any) -> int:
        return unit.jobs.retry_failed(tenant, job_id=None, now=now)


@caught_by("test_a_list_of_jobs_can_be_narrowed")
class ListsWhatIsNotStuck(Broken):
    def jobs_list(self, unit: Unit, tenant: str, *, stuck_before: datetime | None = None, **how: Any) -> Sequence[Job]:
        if stuck_before is not None:
            how["states"] = LIVE
        return unit.jobs.list(tenant, **how)


# -- leases --------------------------------------------------------------------------------------------------------


@caught_by("test_a_claim_takes_the_lease_and_counts", "test_a_lease_that_is_over_can_be_taken_and_counts_again")
class CountsOnlyEnds(Broken):
    def jobs_claim(self, unit: Unit, *args: Any, **how: Any) -> Job | None:
        job = unit.jobs.claim(*args, **how)
        return replace(job, attempt=0) if job else None


@caught_by("test_a_job_that_is_claimed_is_not_there_for_others", "test_one_job_is_claimed_by_one_worker")
class GivesAJobToTwoWorkers(Broken):
    def jobs_claim(
        self, unit: Unit, tenant: str, job_ids: Sequence[UUID], *, owner: str, now: datetime, **how: Any
    ) -> Job | None:
        job = unit.jobs.claim(tenant, job_ids, owner=owner, now=now, **how)
        running = [one for one in every(unit) if one.id in job_ids and one.state is JobState.RUNNING]
        return job or (replace(running[0], lease_owner=owner) if running else None)


@caught_by("test_of_several_jobs_a_claim_takes_the_first_that_is_free")
class TriesOneOnly(Broken):
    def jobs_claim(self, unit: Unit, tenant: str, job_ids: Sequence[UUID], **how: Any) -> Job | None:
        return unit.jobs.claim(tenant, job_ids[:1], **how)


@caught_by("test_what_is_not_due_or_not_there_cannot_be_claimed")
class GivesJobsTooEarly(Broken):
    def jobs_claim(self, unit: Unit, tenant: str, job_ids: Sequence[UUID], *, now: datetime, **how: Any) -> Job | None:
        return unit.jobs.claim(tenant, job_ids, now=now + DAY, **how)


@caught_by("test_a_lease_that_is_over_can_be_taken_and_counts_again", "test_one_job_is_claimed_by_one_worker")
class LeasesForEver(Broken):
    def jobs_claim(self, unit: Unit, tenant: str, job_ids: Sequence[UUID], *, now: datetime, **how: Any) -> Job | None:
        return unit.jobs.claim(tenant, job_ids, now=min(now, NOW), **how)


@caught_by("test_a_claim_that_read_the_clock_before_another_was_done_comes_too_late")
class KnowsNoOlderClock(Broken):
    """A lease that is longer than its own, by however little, is from the future."""

    def jobs_claim(self, unit: Unit, tenant: str, job_ids: Sequence[UUID], *, now: datetime, **how: Any) -> Job | None:
        longest = now + timedelta(seconds=how["lease_seconds"])
        for held in unit.jobs.list(tenant):
            if held.id in job_ids and held.lease_until is not None and held.lease_until > longest:
                now = held.lease_until
        return unit.jobs.claim(tenant, job_ids, now=now, **how)


@caught_by("test_a_lease_longer_than_any_lease_counts_as_over")
class BelievesAnyLease(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return await self.real.due_jobs(**{**how, "lease_seconds": 1000 * how["lease_seconds"] + 86_400})


@caught_by(
    "test_a_late_worker_changes_nothing",
    "test_a_worker_whose_job_is_over_changes_nothing",
    "test_a_worker_from_before_a_reset_changes_nothing",
    "test_a_fence_holds_only_if_all_of_it_is_the_jobs",
)
class HoldsEveryFence(Broken):
    def jobs_holds(self, _unit: Unit, _fence: Fence) -> bool:
        return True


class Mends(Broken):
    """Accepts fences after it has mended them."""

    def mended(self, unit: Unit, fence: Fence) -> Fence:
        for job in every(unit):
            if job.id == fence.job_id and job.lease_owner is not None:
                return replace(fence, owner=job.lease_owner, attempt=job.attempt)
        return fence


@caught_by("test_a_late_worker_changes_nothing", "test_a_fence_holds_only_if_all_of_it_is_the_jobs")
class AcceptsALateFence(Mends):
    def jobs_fail(self, unit: Unit, fence: Fence, **how: Any) -> bool:
        return unit.jobs.fail(self.mended(unit, fence), **how)


@caught_by("test_a_fence_holds_only_if_all_of_it_is_the_jobs")
class DoesNotLookAtTheEpoch(Broken):
    def jobs_holds(self, unit: Unit, fence: Fence) -> bool:
        row = unit.sessions.get(fence.tenant, fence.session_id)
        return row is not None and unit.jobs.holds(replace(fence, epoch=row.epoch))


@caught_by("test_a_worker_whose_job_is_over_changes_nothing")
class EndsTwice(Broken):
    def jobs_finish(self, unit: Unit, fence: Fence, *, now: datetime) -> bool:
        return unit.jobs.finish(fence, now=now) or fence.attempt == 1


@caught_by("test_a_heartbeat_keeps_the_lease")
class HearsNoHeart(Broken):
    def jobs_heartbeat(self, unit: Unit, fence: Fence, **_: Any) -> bool:
        return unit.jobs.holds(fence)


@caught_by("test_a_claim_writes_down_what_it_took_on")
class WritesTheRangeOnce(Broken):
    def jobs_set_range(self, unit: Unit, fence: Fence, span: SeqRange, *, now: datetime) -> bool:
        if fence.attempt > 1:
            return unit.jobs.holds(fence)
        return unit.jobs.set_range(fence, span, now=now)


@caught_by("test_a_job_put_back_waits_and_stays_counted")
class PutsBackUncounted(Broken):
    def jobs_retry_later(self, unit: Unit, fence: Fence, *, now: datetime, **_: Any) -> bool:
        return unit.jobs.release(fence, now=now)


@caught_by("test_a_job_that_is_released_is_free_at_once_and_does_not_count")
class CountsWhatIsReleased(Broken):
    def jobs_release(self, unit: Unit, fence: Fence, *, now: datetime) -> bool:
        return unit.jobs.retry_later(fence, run_at=now, reason="", now=now)


@caught_by("test_a_job_that_has_ended_says_how")
class KeepsTheReasonToItself(Broken):
    def jobs_fail(self, unit: Unit, fence: Fence, *, now: datetime, **_: Any) -> bool:
        return unit.jobs.fail(fence, reason="", now=now)


# -- waiting -------------------------------------------------------------------------------------------------------


@caught_by("test_waiting_ends_at_the_time_out_and_not_before", "test_waiting_ends_when_a_job_was_planned")
class NeverWaits(Broken):
    async def wait_for_work(self, timeout: float) -> None:
        await asyncio.sleep(min(timeout, 0))


@caught_by(
    "test_work_planned_just_before_the_wait_is_not_missed",
    "test_waiting_ends_when_a_job_was_planned",
    "test_waiting_ends_when_the_store_is_closed",
)
class Sleeps(Broken):
    async def wait_for_work(self, timeout: float) -> None:
        await asyncio.sleep(timeout)


class HearsItself(Broken):
    """Hears only what this process plans, while somebody listens."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.waiters: list[asyncio.Event] = []

    async def append(self, append: Append) -> Receipt:
        receipt = await self.real.append(append)
        self.tell()
        return receipt

    def tell(self) -> None:
        for waiter in self.waiters:
            waiter.set()

    async def wait_for_work(self, timeout: float) -> None:
        self.waiters.append(asyncio.Event())
        await asyncio.wait_for(self.waiters[-1].wait(), timeout)


@caught_by(
    "test_work_of_another_process_is_noticed",
    "test_waiting_ends_when_a_job_was_given_back",
    "test_work_planned_just_before_the_wait_is_not_missed",
)
class HearsOnlyItself(HearsItself):
    pass


@caught_by("test_every_waiter_is_told")
class TellsOneWaiter(HearsItself):
    def tell(self) -> None:
        for waiter in self.waiters[:1]:
            waiter.set()


@caught_by("test_waiting_ends_at_the_time_out_and_not_before")
class WaitsForEver(Broken):
    async def wait_for_work(self, timeout: float) -> None:
        await self.real.wait_for_work(timeout + 600)


@caught_by("test_waiting_ends_when_the_store_is_closed")
class WaitsBeyondTheEnd(Broken):
    async def wait_for_work(self, timeout: float) -> None:
        try:
            await self.real.wait_for_work(timeout)
            await self.real.wait_for_work(0)
        except AnaphoraError:
            await asyncio.sleep(timeout)
