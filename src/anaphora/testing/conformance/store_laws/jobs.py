"""I4, I9: what is to be done is planned once, and found by those who can do it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.plans import State
from anaphora.ports.rows import Head
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    LEASE,
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
    holds,
    jobs_of,
    key_of,
    move,
    names,
    planned,
    row_of,
    session,
)

SUMMARISE, REBUILD = JobKind.SUMMARISE, JobKind.REBUILD
OTHER = key_of(session="s2")


class JobLaws(StoreLaws):
    """Planning, finding and listing background work."""

    async def test_a_job_comes_back_as_it_was_planned(self, tmp_path: Path) -> None:
        """Everything that a worker must know is on the job, also after the store was closed (I7)."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            row = await session(store)
            assert await planned(store, kind=REBUILD, run_at=after(5), needs_model=True, from_seq=0)
        async with self.opened(tmp_path) as store:
            (job,) = await jobs_of(store)
            assert (job.tenant, job.session_id, job.key) == (TENANT, row.id, row.key)
            assert (job.kind, job.state, job.needs_model, job.from_seq) == (REBUILD, JobState.QUEUED, True, 0)
            assert (job.attempt, job.max_attempts, job.epoch, job.rearm) == (0, 3, 0, False)
            assert (job.range, job.lease_owner, job.lease_until, job.reason) == (None, None, None, None)
            assert (job.run_at, job.created_at, job.updated_at) == (after(5), NOW, NOW)

    async def test_at_most_one_job_of_a_kind_is_live_in_a_session(self, tmp_path: Path) -> None:
        """I4: while one is queued or running no other is planned; when it is over, the next one is."""
        async with self.opened(tmp_path) as store:
            for key in (key_of(), OTHER, key_of(tenant="t2")):
                await store.append(append("a", key=key))
            assert [await planned(store) for _ in range(2)] == [True, False]
            assert [await planned(store, kind=REBUILD, from_seq=0), await planned(store, OTHER)] == [True, True]
            assert await planned(store, key_of(tenant="t2"))
            done = await claimed(store)
            assert not await planned(store, done.key, done.kind)
            await finished(store, done)
            assert await planned(store, done.key, done.kind)
            assert await due(store) == 4

    async def test_an_append_plans_in_its_own_transaction(self, tmp_path: Path) -> None:
        """I8, I9: when an append is acknowledged its work is planned: one job for each session, as configured."""
        async with self.opened(tmp_path, planner=always, max_attempts=7) as store:
            keys = [key_of(session=f"s{number % 3}") for number in range(9)]
            await asyncio.gather(*(store.append(append("a", key=key)) for key in keys))
            jobs = await jobs_of(store)
            assert sorted(job.key.session for job in jobs) == ["s0", "s1", "s2"]
            assert {(job.kind, job.state, job.attempt, job.max_attempts) for job in jobs} == {
                (SUMMARISE, JobState.QUEUED, 0, 7)
            }
            assert {job.run_at for job in jobs} == {NOW}

    async def test_an_append_that_fails_plans_nothing(self, tmp_path: Path) -> None:
        """I8: without messages there is no job for them."""
        async with self.opened(tmp_path, planner=always) as store:
            await asyncio.gather(store.append(append()), return_exceptions=True)
            assert await jobs_of(store) == []
            assert await names(store) == []
            await store.append(append("a", idempotency_key="k"))
            await finished(store, await claimed(store))
            assert (await store.append(append("a", idempotency_key="k"))).repeated
            assert await due(store) == 0

    async def test_the_planner_sees_the_session_after_the_append_from_its_own_readers_head(
        self, tmp_path: Path
    ) -> None:
        """What is due is decided on the log as it now is and the head of the session's own strategy."""
        seen: list[tuple[str | None, State]] = []

        def planner(strategy: str | None, state: State, /) -> JobKind | None:
            seen.append((strategy, state))
            return None

        def heads(unit: Unit) -> None:
            for name, position in (("live:standard", 2), ("rebuild:standard", 1), ("live:mine", 3)):
                for key in (key_of(), OTHER):
                    assert move(unit, Head(), Head(position=position), reader=name, key=key)

        async with self.opened(tmp_path, planner=planner) as store:
            await store.append(append("a", "b", "c"))
            await store.append(append("a", "b", "c", key=OTHER, strategy="mine"))
            await store.write(TENANT, heads)
            for key, strategy, covered in ((key_of(), None, 2), (OTHER, "mine", 3)):
                seen.clear()
                await store.append(append("d", key=key))
                row = await session(store, key)
                assert row.head == 4
                assert seen[-1] == (strategy, row.state_at(Head(position=covered)))
            assert await jobs_of(store) == []

    async def test_messages_that_arrive_while_a_job_runs_make_it_look_again(self, tmp_path: Path) -> None:
        """I9: a running job learns at its end that there is more; when it is over, a new one is planned."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            job = await claimed(store)
            assert not job.rearm
            await store.append(append("b"))
            assert [job.rearm for job in await jobs_of(store)] == [True]
            assert await finished(store, job) is True
            assert [job.state for job in await jobs_of(store)] == [JobState.DONE]
            await store.append(append("c"))
            assert sorted(job.state for job in await jobs_of(store)) == [JobState.DONE, JobState.QUEUED]

    async def test_a_queued_job_is_not_told_to_look_again(self, tmp_path: Path) -> None:
        """What is not begun sees everything anyway."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            await store.append(append("b"))
            assert await finished(store, await claimed(store)) is False

    async def test_what_is_due_is_found_the_oldest_first(self, tmp_path: Path) -> None:
        """A job can be claimed from its time on; those that waited longest come first, as many as asked for."""
        async with self.opened(tmp_path) as store:
            for name, run_at in (("late", 20), ("early", -20), ("middle", 0)):
                await store.append(append("a", key=key_of(session=name)))
                await planned(store, key_of(session=name), run_at=after(run_at), now=after(-30))
            by_id = {job.id: job.key.session for job in await jobs_of(store)}

            async def found(seconds: float, limit: int = 9) -> list[str]:
                return [by_id[uid] for _, uid in await candidates(store, now=after(seconds), limit=limit)]

            assert await found(-1) == ["early"]
            assert await found(0) == ["early", "middle"]
            assert await found(19.999) == ["early", "middle"]
            assert await found(20) == ["early", "middle", "late"]
            assert await found(20, limit=2) == ["early", "middle"]

    async def test_a_job_from_the_future_is_due(self, tmp_path: Path) -> None:
        """I9: when the clock was set back, what was planned before that does not wait until it is as late again."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            await planned(store, now=after(86_400), run_at=after(86_400))
            assert len(await candidates(store)) == 1
            assert await due(store) == 1
            assert (await claimed(store)).attempt == 1

    async def test_a_busy_tenant_does_not_keep_others_waiting(self, tmp_path: Path) -> None:
        """I11: of each tenant the first job comes before anybody's second."""
        async with self.opened(tmp_path, planner=always) as store:
            for number in range(6):
                await store.append(append("a", key=key_of(session=f"s{number}"), now=after(-10)))
            await store.append(append("b", key=key_of(tenant="small")))
            found = await candidates(store, limit=2)
            assert sorted(tenant for tenant, _ in found) == ["small", TENANT]

    async def test_a_worker_without_a_model_leaves_what_needs_one(self, tmp_path: Path) -> None:
        """I17: work that waits for a model is neither found nor counted by those who have none."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            await planned(store, kind=REBUILD, needs_model=True, from_seq=0)
            for with_model, count in ((False, 0), (True, 1)):
                found = await candidates(store, with_model=with_model)
                assert (len(found), await due(store, with_model=with_model)) == (count, count)

    async def test_live_jobs_are_counted(self, tmp_path: Path) -> None:
        """Running ones count, waiting ones from their time on, finished ones never."""
        async with self.opened(tmp_path) as store:
            for name, run_at in (("one", 0), ("two", 0), ("three", 30)):
                await store.append(append("a", key=key_of(session=name)))
                await planned(store, key_of(session=name), run_at=after(run_at), now=after(-30))
            assert [await due(store, now=now) for now in (after(-1), NOW, after(30), None)] == [0, 2, 3, 3]
            one, two = await claimed(store), await claimed(store)
            assert await due(store, now=NOW) == 2
            await finished(store, one)
            await failed(store, two)
            assert [await due(store, now=now) for now in (NOW, None)] == [0, 1]

    async def test_what_waits_for_later_can_be_pulled_forward(self, tmp_path: Path) -> None:
        """I17: of one tenant and one kind, the next ones to come, as many as asked for."""
        async with self.opened(tmp_path) as store:
            for number in range(3):
                await store.append(append("a", key=key_of(session=f"s{number}")))
                await planned(store, key_of(session=f"s{number}"), REBUILD, run_at=after(100 + number), from_seq=0)
            await planned(store, key_of(session="s0"), SUMMARISE, run_at=after(100))
            await store.append(append("a", key=key_of(tenant="t2")))
            await planned(store, key_of(tenant="t2"), REBUILD, run_at=after(100), from_seq=0)

            def pull(unit: Unit) -> int:
                return unit.jobs.pull_forward(TENANT, REBUILD, now=after(1), limit=2)

            assert await due(store, now=after(1)) == 0
            assert await store.write(TENANT, pull) == 2
            jobs = {(job.key.session, job.kind): job.run_at for job in await jobs_of(store)}
            assert jobs["s0", REBUILD] == jobs["s1", REBUILD] == after(1)
            assert jobs["s2", REBUILD] == after(102)
            assert [await store.write(TENANT, pull) for _ in range(2)] == [1, 0]
            assert await due(store, now=after(1)) == 3

    async def test_failed_jobs_can_be_tried_again_but_not_beside_a_live_one(self, tmp_path: Path) -> None:
        """I4, I9: of several failures of one kind in one session the newest is tried again, with fresh attempts."""
        async with self.opened(tmp_path, planner=always) as store:
            for at in range(2):
                await store.append(append("a", now=after(at)))
                await failed(store, await claimed(store, now=after(at)))

            def retry(unit: Unit, tenant: str = TENANT) -> int:
                return unit.jobs.retry_failed(tenant, job_id=None, now=after(5))

            assert await store.write("t2", lambda unit: retry(unit, "t2")) == 0
            assert [await store.write(TENANT, retry) for _ in range(2)] == [1, 0]
            newest, oldest = await jobs_of(store)
            assert (newest.state, newest.attempt, newest.run_at) == (JobState.QUEUED, 0, after(5))
            assert (oldest.state, oldest.attempt) == (JobState.FAILED, 1)

    async def test_one_failed_job_can_be_tried_again(self, tmp_path: Path) -> None:
        """I9: the one that is named, if it has failed and is of this tenant (I11)."""
        async with self.opened(tmp_path, planner=always) as store:
            failures = []
            for name in ("s1", "s2"):
                await store.append(append("a", key=key_of(session=name)))
                failures.append(await claimed(store))
                await failed(store, failures[-1])

            async def retried(tenant: str, at: int) -> int:
                job_id = failures[at].id
                return await store.write(
                    tenant, lambda unit: unit.jobs.retry_failed(tenant, job_id=job_id, now=after(5))
                )

            assert [await retried("t2", 1), await retried(TENANT, 1), await retried(TENANT, 1)] == [0, 1, 0]
            states = {job.id: job.state for job in await jobs_of(store)}
            assert states == {failures[0].id: JobState.FAILED, failures[1].id: JobState.QUEUED}

    async def test_a_retried_job_can_commit_after_a_reset(self, tmp_path: Path) -> None:
        """I5: a job that is tried again is of the session as it is now."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a"))
            job = await claimed(store)
            await failed(store, job)
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, job.session_id, now=NOW))
            await store.write(TENANT, lambda unit: unit.jobs.retry_failed(TENANT, job_id=job.id, now=NOW))
            again = await claimed(store)
            assert (again.id, again.epoch) == (job.id, 1)
            assert await holds(store, fence_of(again))

    async def test_a_list_of_jobs_can_be_narrowed(self, tmp_path: Path) -> None:
        """Newest first; by state, by session, by being stuck, of one tenant (I11), as many as asked for."""
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a", now=after(-200)))
            await claimed(store, now=after(-200))
            await store.append(append("a", key=OTHER, now=after(50)))

            def found(unit: Unit) -> list[list[str]]:
                narrowed = (
                    unit.jobs.list(TENANT),
                    unit.jobs.list(TENANT, states=[JobState.RUNNING]),
                    unit.jobs.list(TENANT, states=[JobState.DONE, JobState.FAILED]),
                    unit.jobs.list(TENANT, session_id=row_of(unit, OTHER).id),
                    unit.jobs.list(TENANT, stuck_before=after(LEASE - 200)),
                    unit.jobs.list(TENANT, stuck_before=NOW),
                    unit.jobs.list(TENANT, stuck_before=after(50)),
                    unit.jobs.list(TENANT, limit=1),
                    unit.jobs.list("t2"),
                )
                return [[job.key.session for job in jobs] for jobs in narrowed]

            every = ["s2", "s1"]
            assert await store.read(TENANT, found) == [every, ["s1"], [], ["s2"], [], ["s1"], every, ["s2"], []]
