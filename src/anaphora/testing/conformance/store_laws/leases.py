"""I5, I9: a job has one worker at a time, and who comes late changes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

from anaphora.domain.jobs import Fence, Job, JobState
from anaphora.domain.keys import SeqRange
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    LEASE,
    NOW,
    TENANT,
    after,
    always,
    append,
    candidates,
    claim,
    claimed,
    due,
    failed,
    fence_of,
    finished,
    holds,
    jobs_of,
    key_of,
    new_id,
    planned,
)


def ends(fence: Fence) -> tuple[Callable[[Unit], bool], ...]:
    """All the ways in which a worker can be rid of its job."""
    return (
        lambda unit: unit.jobs.finish(fence, now=after(3)),
        lambda unit: unit.jobs.fail(fence, reason="no", now=after(3)),
        lambda unit: unit.jobs.retry_later(fence, run_at=after(3), reason="busy", now=after(3)),
        lambda unit: unit.jobs.release(fence, now=after(3)),
    )


def took_on(unit: Unit, fence: Fence, span: SeqRange) -> bool:
    """Write down what a claim took on."""
    return unit.jobs.set_range(fence, span, now=NOW)


async def check_refused(store: Store, fence: Fence) -> None:
    """Whoever holds this fence can change nothing."""
    before = await jobs_of(store)
    assert not await holds(store, fence), "I5: the fence still holds"
    changes: dict[str, Callable[[Unit], bool]] = {
        "heartbeat": lambda unit: unit.jobs.heartbeat(fence, now=NOW, lease_seconds=LEASE),
        "set_range": lambda unit: unit.jobs.set_range(fence, SeqRange(0, 1), now=NOW),
        "finish": lambda unit: unit.jobs.finish(fence, now=NOW),
        "retry_later": lambda unit: unit.jobs.retry_later(fence, run_at=after(9), reason="busy", now=NOW),
        "release": lambda unit: unit.jobs.release(fence, now=NOW),
        "fail": lambda unit: unit.jobs.fail(fence, reason="no", now=NOW),
    }
    for name, change in changes.items():
        assert await store.write(TENANT, change) is False, f"I5: {name} was let through"
        assert await jobs_of(store) == before, f"I5: {name} changed something"


class LeaseLaws(StoreLaws):
    """Claims, leases and fences."""

    async def test_a_claim_takes_the_lease_and_counts(self, tmp_path: Path) -> None:
        """I9: an attempt is counted when it begins, so that crashes count; and the claim says until when it holds."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            job = await claimed(store, owner="w7", now=after(1))
            assert (job.state, job.attempt, job.rearm) == (JobState.RUNNING, 1, False)
            assert (job.lease_owner, job.lease_until, job.updated_at) == ("w7", after(1 + LEASE), after(1))
            assert [job] == await jobs_of(store)
            assert await holds(store, fence_of(job))

    async def test_a_job_that_is_claimed_is_not_there_for_others(self, tmp_path: Path) -> None:
        """I4: while a lease holds nobody else finds or gets the job, not even its own worker again."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            job = await claimed(store)
            for owner, now in (("w2", NOW), ("w1", NOW), ("w2", after(LEASE - 0.001))):
                assert await candidates(store, now=now) == []
                assert await claim(store, TENANT, job.id, owner=owner, now=now) is None
            assert await jobs_of(store) == [job]

    async def test_of_several_jobs_a_claim_takes_the_first_that_is_free(self, tmp_path: Path) -> None:
        """Who is beaten to one gets the next of those that it saw, in the order in which they are due."""
        async with self.opened(tmp_path) as store:
            for name, run_at in (("s1", 3), ("s2", 1), ("s3", 2), ("s4", 30)):
                await store.append(append("a", key=key_of(session=name)))
                await planned(store, key_of(session=name), run_at=after(run_at))
            seen = [job.id for job in await jobs_of(store)]

            async def take(tenant: str, job_ids: Sequence[UUID]) -> str | None:
                def work(unit: Unit) -> Job | None:
                    return unit.jobs.claim(tenant, job_ids, owner="w", now=after(5), lease_seconds=LEASE)

                job = await store.write(tenant, work)
                return job.key.session if job is not None else None

            assert await take(TENANT, ()) is None
            assert await take("t2", seen) is None
            assert [await take(TENANT, seen) for _ in range(4)] == ["s2", "s3", "s1", None]

    async def test_a_claim_that_read_the_clock_before_another_was_done_comes_too_late(self, tmp_path: Path) -> None:
        """I4: who waits for a row has an older time than who held it; that makes no lease one from the future."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            job = await claimed(store, now=after(5))
            for now in (after(4.999), NOW):
                assert await candidates(store, now=now) == []
                assert await claim(store, TENANT, job.id, owner="w2", now=now) is None
            assert await jobs_of(store) == [job]

    async def test_what_is_not_due_or_not_there_cannot_be_claimed(self, tmp_path: Path) -> None:
        """A job that waits, one that is over, one of another tenant (I11), one that never was: nobody gets them."""
        async with self.opened(tmp_path) as store:
            for name, run_at in (("s1", 30), ("s2", 0), ("s3", 0)):
                await store.append(append("a", key=key_of(session=name)))
                await planned(store, key_of(session=name), run_at=after(run_at))
            jobs = {job.key.session: job for job in await jobs_of(store)}
            assert await claim(store, "t2", jobs["s2"].id) is None
            await finished(store, await claimed(store))
            await failed(store, await claimed(store))
            before = await jobs_of(store)
            for job in jobs.values():
                assert await claim(store, TENANT, job.id, now=after(29)) is None
            assert await claim(store, TENANT, new_id()) is None
            assert await jobs_of(store) == before

    async def test_a_lease_that_is_over_can_be_taken_and_counts_again(self, tmp_path: Path) -> None:
        """I9: what a dead worker held is found when its lease is over, and its attempt stays counted."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            await claimed(store)
            assert await candidates(store, now=after(LEASE - 0.001)) == []
            assert len(await candidates(store, now=after(LEASE))) == 1
            taken = await claimed(store, owner="w2", now=after(LEASE))
            assert (taken.lease_owner, taken.attempt, taken.lease_until) == ("w2", 2, after(2 * LEASE))

    async def test_a_lease_longer_than_any_lease_counts_as_over(self, tmp_path: Path) -> None:
        """I9: a worker whose clock ran a day ahead holds nobody up for a day."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            await claimed(store, now=after(86_400))
            again = await claimed(store, owner="w2", now=NOW)
            assert (again.attempt, again.lease_until) == (2, after(LEASE))

    async def test_a_late_worker_changes_nothing(self, tmp_path: Path) -> None:
        """I5: a worker that wakes up after its job was taken over is refused everything; the new one is not."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            late = fence_of(await claimed(store))
            current = fence_of(await claimed(store, owner="w2", now=after(LEASE)))
            await check_refused(store, late)
            assert await holds(store, current)

    async def test_a_worker_whose_job_is_over_changes_nothing(self, tmp_path: Path) -> None:
        """I5: nothing ends twice: not after it was done, not after it failed, not after it was put back."""
        async with self.opened(tmp_path, planner=always) as store:
            for at in range(4):
                await store.append(append("a", now=after(at)))
                job = await claimed(store, now=after(at))
                fence = fence_of(job)
                await store.write(fence.tenant, ends(fence)[at])
                await check_refused(store, fence)

    async def test_a_worker_from_before_a_reset_changes_nothing(self, tmp_path: Path) -> None:
        """I5, I12: what was read before an erasure is never written after it, whatever has been said since."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            late = fence_of(await claimed(store))
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, late.session_id, now=NOW))
            await check_refused(store, late)
            await store.append(append("new life"))
            await check_refused(store, late)
            assert (await claimed(store)).epoch == 1
            await check_refused(store, late)

    async def test_a_fence_holds_only_if_all_of_it_is_the_jobs(self, tmp_path: Path) -> None:
        """I5: tenant, job, session, owner, attempt and epoch: one of them is another, and nothing is let through."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            await store.append(append("b", key=key_of(session="s2")))
            right, other = fence_of(await claimed(store)), fence_of(await claimed(store))
            wrong = (
                dataclasses.replace(right, tenant="t2"),
                dataclasses.replace(right, job_id=other.job_id),
                dataclasses.replace(right, session_id=other.session_id),
                dataclasses.replace(right, owner="w2"),
                dataclasses.replace(right, attempt=right.attempt + 1),
                dataclasses.replace(right, epoch=right.epoch + 1),
            )
            for fence in wrong:
                await check_refused(store, fence)
            assert await holds(store, right)

    async def test_a_heartbeat_keeps_the_lease(self, tmp_path: Path) -> None:
        """I5: a worker that says it is alive keeps its job beyond the first lease."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            fence = fence_of(await claimed(store))
            assert await store.write(
                fence.tenant, lambda unit: unit.jobs.heartbeat(fence, now=after(50), lease_seconds=LEASE)
            )
            (job,) = await jobs_of(store)
            assert (job.lease_until, job.attempt) == (after(50 + LEASE), 1)
            assert await candidates(store, now=after(LEASE + 1)) == []
            assert await holds(store, fence)

    async def test_a_claim_writes_down_what_it_took_on(self, tmp_path: Path) -> None:
        """What a job reads is on the job: of the newest claim."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a", "b", "c"))
            for owner, now, span in (("w1", 0.0, SeqRange(0, 2)), ("w2", LEASE, SeqRange(1, 3))):
                fence = fence_of(await claimed(store, owner=owner, now=after(now)))
                assert await store.write(fence.tenant, partial(took_on, fence=fence, span=span))
                assert [job.range for job in await jobs_of(store)] == [span]

    async def test_a_job_put_back_waits_and_stays_counted(self, tmp_path: Path) -> None:
        """I9: it may not be claimed before its time, it says why, and its attempt is not forgotten."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            fence = fence_of(await claimed(store))
            assert await store.write(
                fence.tenant, lambda unit: unit.jobs.retry_later(fence, run_at=after(30), reason="busy", now=NOW)
            )
            (job,) = await jobs_of(store)
            assert (job.state, job.attempt, job.reason, job.run_at) == (JobState.QUEUED, 1, "busy", after(30))
            assert (job.lease_owner, job.lease_until) == (None, None)
            assert await due(store) == 0
            assert await candidates(store, now=after(29)) == []
            assert (await claimed(store, now=after(30))).attempt == 2

    async def test_a_job_that_is_released_is_free_at_once_and_does_not_count(self, tmp_path: Path) -> None:
        """I9: a worker that stops in good order costs no attempt."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            fence = fence_of(await claimed(store))
            assert await store.write(fence.tenant, lambda unit: unit.jobs.release(fence, now=after(1)))
            (job,) = await jobs_of(store)
            assert (job.state, job.attempt, job.run_at) == (JobState.QUEUED, 0, after(1))
            assert (job.lease_owner, job.lease_until) == (None, None)
            assert (await claimed(store, now=after(1))).attempt == 1

    async def test_a_job_that_has_ended_says_how(self, tmp_path: Path) -> None:
        """I9: done, or failed with its reason; it is held by nobody and never found again."""
        async with self.opened(tmp_path, planner=always) as store:
            for name in ("good", "bad"):
                await store.append(append("a", key=key_of(session=name)))
                job = await claimed(store)
                if name == "good":
                    await finished(store, job, now=after(2))
                else:
                    assert await failed(store, job, reason="the model is gone", now=after(2))
            jobs = {job.key.session: job for job in await jobs_of(store)}
            assert (jobs["good"].state, jobs["good"].reason) == (JobState.DONE, None)
            assert (jobs["bad"].state, jobs["bad"].reason) == (JobState.FAILED, "the model is gone")
            for job in jobs.values():
                assert (job.lease_owner, job.lease_until, job.updated_at) == (None, None, after(2))
            assert await candidates(store, now=after(86_400)) == []
