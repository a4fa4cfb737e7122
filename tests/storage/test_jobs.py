"""I4, I5, I9: one live job, one owner, and who comes late changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from tests.storage.bench import (
    KEY,
    LEASE,
    NOW,
    after,
    always,
    append,
    claimed,
    fence_of,
    key_of,
    new_id,
    opened,
    queued,
    row_of,
)

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange
from anaphora.ports.store import Unit
from anaphora.storage.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio


async def candidates(
    store: SqliteStore, *, now: datetime = NOW, with_model: bool = True, limit: int = 9
) -> Sequence[tuple[str, UUID]]:
    return await store.read(
        lambda unit: unit.jobs.candidates(now=now, lease_seconds=LEASE, with_model=with_model, limit=limit)
    )


def fails(fence: Fence) -> Callable[[Unit], bool]:
    return lambda unit: unit.jobs.fail(fence, reason="no", now=NOW)


async def states(store: SqliteStore) -> list[str]:
    return [job.state for job in await store.read(lambda unit: unit.jobs.list("t"))]


async def test_sixty_four_plans_at_once_make_one_live_job(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as one, opened(tmp_path / "m.db") as two:
        await one.append(append("a"))
        made = await asyncio.gather(*(queued(store) for _ in range(32) for store in (one, two)))
        assert made.count(True) == 1
        assert await states(one) == [JobState.QUEUED]


async def test_an_append_plans_in_its_own_transaction(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await asyncio.gather(*(store.append(append(str(n), key=key_of(session=f"s{n % 3}"))) for n in range(9)))
        jobs = await store.read(lambda unit: unit.jobs.list("t"))
        assert {job.key.session for job in jobs} == {"s0", "s1", "s2"}
        assert {(job.kind, job.state, job.attempt, job.max_attempts) for job in jobs} == {
            (JobKind.SUMMARISE, JobState.QUEUED, 0, 5)
        }


async def test_the_planner_sees_the_session_after_the_append_from_its_own_readers_head(tmp_path: Path) -> None:
    seen = []

    def planner(strategy: str | None, state: object, /) -> bool:
        seen.append((strategy, state))
        return False

    async with opened(tmp_path / "m.db", planner=planner) as store:
        await store.append(append("a", "b"))
        row = await store.read(row_of)

        def move(unit: Unit) -> bool:
            head = unit.summaries.head("t", row.id, "live:standard")
            other = unit.summaries.head("t", row.id, "rebuild:standard")
            new = type(head)(position=2)
            unit.summaries.move_head("t", row.id, "rebuild:standard", old=other, new=type(head)(position=1), now=NOW)
            return unit.summaries.move_head("t", row.id, "live:standard", old=head, new=new, now=NOW)

        assert await store.write(move)
        await store.append(append("c"))
        row = await store.read(row_of)
        assert seen[-1] == (None, row.state(covered_to=2))


async def test_messages_that_arrive_while_a_job_runs_make_it_look_again(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        job = await claimed(store)
        assert not job.rearm
        await store.append(append("b"))
        assert await store.write(lambda unit: unit.jobs.finish(fence_of(job), now=NOW)) is True
        assert await states(store) == [JobState.DONE]
        await store.append(append("c"))
        assert sorted(await states(store)) == [JobState.DONE, JobState.QUEUED]


async def test_a_queued_job_is_not_told_to_look_again(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        await store.append(append("b"))
        job = await claimed(store)
        assert await store.write(lambda unit: unit.jobs.finish(fence_of(job), now=NOW)) is False


async def test_one_job_is_claimed_by_one_worker(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        ((tenant, job_id),) = await candidates(store)

        def claim(owner: str, unit: Unit) -> Job | None:
            return unit.jobs.claim(tenant, job_id, owner=owner, now=NOW, lease_seconds=LEASE)

        claims = await asyncio.gather(*(store.write(partial(claim, f"w{n}")) for n in range(8)))
        winners = [job for job in claims if job is not None]
        assert [(job.attempt, job.lease_until) for job in winners] == [(1, after(LEASE))]


async def test_a_lease_that_is_over_can_be_taken_and_counts_again(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        await claimed(store)
        assert await candidates(store, now=after(LEASE - 0.001)) == []
        assert len(await candidates(store, now=after(LEASE))) == 1
        taken = await claimed(store, owner="w2", now=after(LEASE))
        assert (taken.lease_owner, taken.attempt) == ("w2", 2)


async def test_a_lease_longer_than_any_lease_counts_as_over(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        await claimed(store, now=after(86_400))  # the clock was a day ahead, then was set right
        again = await claimed(store, owner="w2", now=NOW)
        assert again.attempt == 2


async def test_a_late_worker_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        late = fence_of(await claimed(store))
        current = fence_of(await claimed(store, owner="w2", now=after(LEASE)))
        await check_refused(store, late)
        assert await store.read(lambda unit: unit.jobs.holds(current))


async def test_a_worker_from_before_a_reset_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        late = fence_of(await claimed(store))
        await store.write(lambda unit: unit.sessions.reset("t", late.session_id, now=NOW))
        await check_refused(store, late)
        await store.append(append("new life"))
        await claimed(store)
        await check_refused(store, late)


async def test_the_fence_breaks_when_the_epoch_was_raised_though_the_job_still_runs(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        fence = fence_of(await claimed(store))
        assert await store.read(lambda unit: unit.jobs.holds(fence))
        raised = Fence(
            tenant=fence.tenant,
            job_id=fence.job_id,
            session_id=fence.session_id,
            owner=fence.owner,
            attempt=fence.attempt,
            epoch=fence.epoch + 1,
        )
        assert not await store.read(lambda unit: unit.jobs.holds(raised))


async def check_refused(store: SqliteStore, fence: Fence) -> None:
    before = await store.read(lambda unit: unit.jobs.list("t"))
    assert not await store.read(lambda unit: unit.jobs.holds(fence))
    changes: tuple[Callable[[Unit], bool], ...] = (
        lambda unit: unit.jobs.heartbeat(fence, now=NOW, lease_seconds=LEASE),
        lambda unit: unit.jobs.set_range(fence, SeqRange(0, 1), now=NOW),
        lambda unit: unit.jobs.finish(fence, now=NOW),
        lambda unit: unit.jobs.retry_later(fence, run_at=after(9), reason="busy", now=NOW),
        lambda unit: unit.jobs.release(fence, now=NOW),
        fails(fence),
    )
    for change in changes:
        assert await store.write(change) is False
    assert await store.read(lambda unit: unit.jobs.list("t")) == before


async def test_a_heartbeat_keeps_the_lease_and_a_claim_writes_down_its_range(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        fence = fence_of(await claimed(store))
        assert await store.write(lambda unit: unit.jobs.set_range(fence, SeqRange(0, 1), now=NOW))
        assert await store.write(lambda unit: unit.jobs.heartbeat(fence, now=after(50), lease_seconds=LEASE))
        (job,) = await store.read(lambda unit: unit.jobs.list("t"))
        assert (job.range, job.lease_until) == (SeqRange(0, 1), after(50 + LEASE))


async def test_a_job_put_back_waits_and_one_released_does_not_count(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        fence = fence_of(await claimed(store))
        await store.write(lambda unit: unit.jobs.retry_later(fence, run_at=after(30), reason="busy", now=NOW))
        (job,) = await store.read(lambda unit: unit.jobs.list("t"))
        assert (job.state, job.attempt, job.reason, job.lease_owner) == (JobState.QUEUED, 1, "busy", None)
        assert await due(store, with_model=True) == 0
        fence = fence_of(await claimed(store, now=after(30)))
        await store.write(lambda unit: unit.jobs.release(fence, now=after(31)))
        (job,) = await store.read(lambda unit: unit.jobs.list("t"))
        assert (job.state, job.attempt, job.run_at) == (JobState.QUEUED, 1, after(31))


async def due(store: SqliteStore, *, with_model: bool) -> int:
    return await store.read(lambda unit: unit.jobs.due_count(now=NOW, with_model=with_model))


async def test_a_worker_without_a_model_leaves_what_needs_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("a"))
        await store.write(
            lambda unit: unit.jobs.plan(
                row_of(unit),
                JobKind.REBUILD,
                job_id=new_id(),
                run_at=NOW,
                now=NOW,
                max_attempts=3,
                needs_model=True,
                from_seq=0,
            )
        )
        for with_model, count in ((False, 0), (True, 1)):
            found = await candidates(store, with_model=with_model)
            assert (len(found), await due(store, with_model=with_model)) == (count, count)


async def test_a_busy_tenant_does_not_keep_others_waiting(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        for number in range(6):
            await store.append(append("a", key=key_of(session=f"s{number}"), now=after(-10)))
        await store.append(append("b", key=key_of(tenant="small")))
        found = await candidates(store, limit=2)
        assert sorted(tenant for tenant, _ in found) == ["small", "t"]


async def test_what_waits_for_later_can_be_pulled_forward(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        for number in range(3):
            await store.append(append("a", key=key_of(session=f"s{number}"), now=after(100 + number)))

        def pull(unit: Unit) -> int:
            return unit.jobs.pull_forward("t", JobKind.SUMMARISE, now=NOW, limit=2)

        assert [await store.write(pull) for _ in range(3)] == [2, 1, 0]
        assert await due(store, with_model=True) == 3


async def test_failed_jobs_can_be_tried_again_but_not_beside_a_live_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        for _ in range(2):
            await store.append(append("a"))
            fence = fence_of(await claimed(store))
            await store.write(fails(fence))

        def retry(unit: Unit) -> int:
            return unit.jobs.retry_failed("t", job_id=None, now=after(5))

        assert [await store.write(retry) for _ in range(2)] == [1, 0]
        jobs = await store.read(lambda unit: unit.jobs.list("t"))
        assert sorted((job.state.value, job.attempt) for job in jobs) == [("failed", 1), ("queued", 0)]


async def test_a_retried_job_can_commit_after_a_reset(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        fence = fence_of(await claimed(store))
        await store.write(fails(fence))
        await store.write(lambda unit: unit.sessions.reset("t", fence.session_id, now=NOW))
        await store.write(lambda unit: unit.jobs.retry_failed("t", job_id=fence.job_id, now=NOW))
        again = fence_of(await claimed(store))
        assert again.epoch == 1
        assert await store.read(lambda unit: unit.jobs.holds(again))


async def test_a_list_of_jobs_can_be_narrowed(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a", key=KEY, now=after(-200)))
        await claimed(store, now=after(-200))
        await store.append(append("a", key=key_of(session="s2"), now=after(50)))

        def names(unit: Unit) -> list[list[str]]:
            found = (
                unit.jobs.list("t"),
                unit.jobs.list("t", states=[JobState.RUNNING]),
                unit.jobs.list("t", session_id=row_of(unit, key_of(session="s2")).id),
                unit.jobs.list("t", stuck_before=NOW),
                unit.jobs.list("t", limit=1),
                unit.jobs.list("other"),
            )
            return [[job.key.session for job in jobs] for jobs in found]

        assert await store.read(names) == [["s2", "s1"], ["s1"], ["s2"], ["s1"], ["s2"], []]


async def test_waiting_for_work_ends_when_a_job_was_planned(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        waiting = asyncio.ensure_future(store.wait_for_work(60))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await store.append(append("a"))
        await asyncio.wait_for(waiting, 5)


async def test_work_planned_just_before_the_wait_is_not_missed(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await store.append(append("a"))
        waiting = asyncio.ensure_future(store.wait_for_work(60))
        await asyncio.wait([waiting], timeout=5)
        assert waiting.done()


async def test_work_of_another_process_is_noticed(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store, opened(tmp_path / "m.db", planner=always) as other:
        waiting = asyncio.ensure_future(store.wait_for_work(60))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await other.append(append("a"))
        await asyncio.wait([waiting], timeout=5)
        assert waiting.done()


async def test_waiting_for_work_ends_at_the_time_out_and_when_the_store_closes(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await asyncio.wait_for(store.wait_for_work(0.01), 5)
        waiting = asyncio.ensure_future(store.wait_for_work(60))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await store.close()
        await asyncio.wait([waiting], timeout=5)
        assert waiting.done()
