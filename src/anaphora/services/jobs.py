"""Background work as operators handle it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from anaphora.domain.figures import Figures
from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.keys import check_limit
from anaphora.errors import NotFound
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Lists jobs and queues failed ones again."""

    store: Store
    clock: Clock
    failpoint: Failpoint
    with_model: bool
    with_embedder: bool = True

    async def list(
        self,
        tenant: str,
        *,
        states: Sequence[JobState] | None = None,
        stuck_seconds: float | None = None,
        limit: int = 50,
    ) -> Sequence[Job]:
        """Jobs, newest first; with `stuck_seconds`, those that should have moved that long ago.

        Without a model or an embedder, what waits for one is not stuck.
        """
        check_limit(limit)
        before = None if stuck_seconds is None else self.clock.now() - timedelta(seconds=stuck_seconds)
        found = await self.store.read(
            tenant, lambda unit: unit.jobs.list(tenant, states=states, stuck_before=before, limit=limit)
        )
        if before is None:
            return found
        return [job for job in found if self._can(job)]

    def _can(self, job: Job) -> bool:
        """Whether what the job needs is here."""
        if job.kind is JobKind.EMBED:
            return self.with_embedder
        return self.with_model or not job.needs_model

    async def retry(self, tenant: str, job_id: UUID | None = None) -> int:
        """Queue failed jobs again, with fresh attempts.

        Returns:
            How many; failed jobs whose session has a live one of that kind again are left as they are.

        Raises:
            NotFound: the job is not there or has not failed.

        """
        count = await self.store.write(
            tenant, lambda unit: unit.jobs.retry_failed(tenant, job_id=job_id, now=self.clock.now())
        )
        self.failpoint("jobs.retried")
        if job_id is not None and not count:
            raise NotFound(f"there is no failed job {job_id} that could be tried again")
        return count

    async def due(self) -> int:
        """How many live jobs could be worked on now."""
        now = self.clock.now()
        return await self.store.due_count(now=now, with_model=self.with_model, with_embedder=self.with_embedder)

    async def figures(self, *, stuck_seconds: float) -> Figures:
        """What operators watch, of all tenants together."""
        return await self.store.figures(
            stuck_before=self.clock.now() - timedelta(seconds=stuck_seconds),
            with_model=self.with_model,
            with_embedder=self.with_embedder,
        )

    async def live(self) -> int:
        """How many jobs are queued or running at all."""
        return await self.store.due_count(now=None, with_model=True)
