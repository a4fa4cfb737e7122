"""Background work as operators handle it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from anaphora.domain.figures import Figures
from anaphora.domain.jobs import Job, JobState
from anaphora.domain.keys import check_limit
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.store import Store, Unit


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
        user: str | None = None,
        stuck_seconds: float | None = None,
        limit: int = 50,
    ) -> Sequence[Job]:
        """Jobs, newest first; with `stuck_seconds`, those that should have moved that long ago.

        Without a model or an embedder, what waits for one is not stuck. With `user`, only jobs of their sessions.

        Raises:
            InvalidInput: a limit out of range, or seconds that lead to no time.

        """
        check_limit(limit)
        before = None if stuck_seconds is None else self._ago(stuck_seconds)

        def read(unit: Unit) -> Sequence[Job]:
            return unit.jobs.list(
                tenant,
                states=states,
                user=user,
                stuck_before=before,
                with_model=before is None or self.with_model,
                with_embedder=before is None or self.with_embedder,
                limit=limit,
            )

        return await self.store.read(tenant, read)

    def _ago(self, seconds: float) -> datetime:
        try:
            return self.clock.now() - timedelta(seconds=seconds)
        except (OverflowError, ValueError):
            raise InvalidInput("stuck_seconds must be a number of seconds that lies in the past") from None

    async def retry(self, tenant: str, job_id: UUID | None = None, *, user: str | None = None) -> int:
        """Queue failed jobs again, with fresh attempts; with `user`, only of their sessions.

        Returns:
            How many; failed jobs whose session has a live one of that kind again are left as they are.

        Raises:
            NotFound: the job is not there or has not failed.

        """
        count = await self.store.write(
            tenant, lambda unit: unit.jobs.retry_failed(tenant, job_id=job_id, now=self.clock.now(), user=user)
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
