"""Claim, heartbeat, finish or fail: background work that survives its workers (I4, I5, I9)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import anyio

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.errors import AnaphoraError, LeaseLost, ModelUnavailable, StoreError
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.store import Store, Unit
from anaphora.services.settings import Work
from anaphora.worker.handlers import Beside, Handler
from anaphora.worker.manners import Manners
from anaphora.worker.queue import LOOK, Queue
from anaphora.worker.upkeep import Upkeep

log = logging.getLogger("anaphora.worker")

#: longest sleep between two looks at the queue, in seconds
_POLL = 2.0
_MAX_REASON = 300
#: how often it looks again when others took all that it saw
_LOOKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Takes jobs one after another. Any number of workers may share a database."""

    store: Store
    handlers: Mapping[JobKind, Handler]
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    work: Work
    #: who holds the leases; unique to this worker
    owner: str
    with_model: bool
    #: what is done when no job is due
    beside: Beside | None = None
    #: what is to be seen to now and then beside the jobs
    upkeep: Upkeep = field(default_factory=Upkeep)
    #: told after each job: its kind, its session's id, and whether it succeeded
    on_event: Callable[[Job, bool], None] = lambda _job, _ok: None
    #: told after each piece of work beside the jobs whether it succeeded
    on_beside: Callable[[bool], None] = lambda _ok: None
    _queue: Queue = field(default_factory=Queue, init=False)

    async def run(self, stopping: anyio.Event, *, makes_way: bool = False) -> None:
        """Work until told to stop. If cancelled, the job in hand is released and its attempt not counted.

        Args:
            stopping: set when it is to end.
            makes_way: whoever else is busy in this event loop goes first.

        """
        manners = Manners(self.clock)
        while not stopping.is_set():
            try:
                await self.upkeep.see(self.clock.monotonic())
                if makes_way:
                    await manners.make_way(stopping)
                busy = await self.step()
            except StoreError as error:
                log.warning("The store failed: %s", error, extra={"event": "store_failed"})
                busy = False
            except Exception as error:  # noqa: BLE001 - a worker must outlive whatever goes wrong around a job
                what = (type(error).__name__, _where(error))
                log.error("The worker stumbled: %s at %s", *what, extra={"event": "worker_stumbled"})  # noqa: TRY400
                busy = False
            if not busy:
                await self._pause(stopping)

    async def _pause(self, stopping: anyio.Event) -> None:
        """Wait for work, or for the end."""
        async with anyio.create_task_group() as group:

            async def for_work() -> None:
                await self.store.wait_for_work(_POLL)
                group.cancel_scope.cancel()

            group.start_soon(for_work)
            await stopping.wait()
            group.cancel_scope.cancel()

    async def drain(self) -> int:
        """Work until nothing is due; how many jobs were done."""
        count = 0
        await self.upkeep.see(self.clock.monotonic(), at_once=True)
        while await self.step():
            count += 1
        return count

    async def step(self) -> bool:
        """Claim and do one job, or some of what is beside them; False if there is nothing to do."""
        job = await self.claim()
        if job is None:
            return await self._beside()
        await self.do(job)
        return True

    async def _beside(self) -> bool:
        """Do some of what is beside the jobs; False if there is nothing."""
        if self.beside is None:
            return False
        succeeded: bool | None = False
        try:
            succeeded = await self.beside.step()
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - as a job that fails, it must not end the worker
            what = (type(error).__name__, _where(error))
            log.error("The worker stumbled: %s at %s", *what, extra={"event": "worker_stumbled"})  # noqa: TRY400
        if succeeded is not None:
            self.on_beside(succeeded)
        return succeeded is not None

    async def claim(self) -> Job | None:
        """Take the lease of the next due job; None if there is none that others leave to us."""
        queue = self._queue
        if not queue.is_fresh(self.clock.monotonic()):
            await self._look()
        for _ in range(_LOOKS):
            while (wanted := queue.next(self.randomness(1)[0])) is not None:
                job = await self._claim(*wanted)
                if job is not None:
                    queue.won(wanted, job.id)
                    return job
                queue.beaten(wanted)
            if not await self._look():
                break
        return None

    async def _look(self) -> bool:
        """See what is due; False if nothing is."""
        lease = self.work.lease_seconds
        due = await self.store.due_jobs(
            now=None,
            lease_seconds=lease,
            with_model=self.with_model,
            with_embedder=JobKind.EMBED in self.handlers,
            limit=LOOK,
        )
        self._queue.looked(due, self.clock.monotonic())
        return bool(due)

    async def _claim(self, tenant: str, job_ids: Sequence[UUID]) -> Job | None:
        # a claim on disk must come back to be released: cancelled between, it would hold its lease for nobody
        with anyio.CancelScope(shield=True):
            job = await self.store.write(tenant, self._claiming(tenant, job_ids))
        if job is not None:
            self.failpoint("worker.claimed")
            _status(job, JobState.RUNNING)
        return job

    def _claiming(self, tenant: str, job_ids: Sequence[UUID]) -> Callable[[Unit], Job | None]:
        # the clock is read in the transaction: a lease must not be older than its claim; and it is the database's own,
        # by which the workers of other hosts judge it
        return lambda unit: unit.jobs.claim(
            tenant, job_ids, owner=self.owner, now=unit.now(), lease_seconds=self.work.lease_seconds
        )

    async def do(self, job: Job) -> None:
        """Run one claimed job to its end; whatever happens, it does not stay running."""
        fence = Fence(
            tenant=job.tenant,
            job_id=job.id,
            session_id=job.session_id,
            owner=self.owner,
            attempt=job.attempt,
            epoch=job.epoch,
        )
        try:
            error = await self._attempt(job, fence)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.store.write(fence.tenant, lambda unit: unit.jobs.release(fence, now=self.clock.now()))
                self.failpoint("worker.released")
            _status(job, JobState.QUEUED)
            raise
        if isinstance(error, LeaseLost):
            log.info("Job %s is not ours any more", job.id, extra={"event": "lease_lost", "job_id": str(job.id)})
        elif error is not None:
            await self._failed(job, fence, error)
        self.failpoint("worker.done")
        self.on_event(job, error is None)

    async def _attempt(self, job: Job, fence: Fence) -> Exception | None:
        """Run the handler beside a heartbeat; what went wrong, or None."""
        result: Exception | None = LeaseLost(f"job {job.id} is not ours any more")
        async with anyio.create_task_group() as group:
            group.start_soon(self._heartbeat, fence, group.cancel_scope)
            try:
                await self.handlers[job.kind].run(job, fence)
                result = None
            except Exception as error:  # noqa: BLE001 - the one place where any failure must end a job
                result = error
            group.cancel_scope.cancel()
        return result

    async def _heartbeat(self, fence: Fence, scope: anyio.CancelScope) -> None:
        """Keep the lease; a lost lease stops the work."""
        while True:
            await self.clock.sleep(self.work.lease_seconds / 3)
            try:
                kept = await self.store.write(
                    fence.tenant,
                    lambda unit: unit.jobs.heartbeat(fence, now=unit.now(), lease_seconds=self.work.lease_seconds),
                )
            except StoreError as error:
                log.warning("No heartbeat for job %s: %s", fence.job_id, error, extra={"event": "store_failed"})
                continue
            self.failpoint("worker.heartbeat")
            if not kept:
                scope.cancel()
                return

    async def _failed(self, job: Job, fence: Fence, error: Exception) -> None:
        reason = str(error) if isinstance(error, AnaphoraError) else f"unexpected {type(error).__name__}"
        if not isinstance(error, AnaphoraError):
            what = (job.id, type(error).__name__, _where(error))
            log.error("Job %s failed unexpectedly: %s at %s", *what, extra={"event": "job_crashed"})
        reason = reason[:_MAX_REASON]
        now = self.clock.now()
        # a store that fails says nothing about the job: that is tried again for as long as it takes
        if job.attempt >= job.max_attempts and not isinstance(error, StoreError):
            await self.store.write(fence.tenant, lambda unit: self._give_up(unit, job, fence, reason))
            self.failpoint("worker.failed")
            _status(job, JobState.FAILED)
            return
        asked = error.retry_after if isinstance(error, ModelUnavailable) else None
        chance = int.from_bytes(self.randomness(4), "big") / 2**32
        delay = self.work.retry.delay(job.attempt, chance=chance, retry_after=asked)
        run_at = now + timedelta(seconds=delay)
        await self.store.write(
            fence.tenant, lambda unit: unit.jobs.retry_later(fence, run_at=run_at, reason=reason, now=now)
        )
        self.failpoint("worker.retry_planned")
        _status(job, JobState.QUEUED)
        log.info("Job %s will be tried again in %.0f s", job.id, delay, extra={"event": "retry", "job_id": str(job.id)})

    def _give_up(self, unit: Unit, job: Job, fence: Fence, reason: str) -> None:
        if unit.jobs.fail(fence, reason=reason, now=self.clock.now()):
            self.handlers[job.kind].abandon(unit, job)


def _status(job: Job, status: JobState) -> None:
    extra = {"event": "status_changed", "job_id": str(job.id), "status": status.value}
    log.debug("Job %s status updated to %s", job.id, status.value, extra=extra)


def _where(error: Exception) -> str:
    """The innermost places that the error passed; not its text, which may hold what was said."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
