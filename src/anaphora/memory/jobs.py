"""Background work as the public API shows it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anaphora.bootstrap import Services
from anaphora.domain.jobs import Job, JobState
from anaphora.memory.scope import tenant_of


class JobsView:
    """Background work of a memory."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def list(
        self,
        *,
        states: Sequence[JobState] | None = None,
        stuck_seconds: float | None = None,
        user: str | None = None,
        tenant: str | None = None,
        limit: int = 50,
    ) -> Sequence[Job]:
        """Jobs, newest first; with `stuck_seconds`, those that should have moved that long ago.

        With `user`, only those of their sessions.
        """
        whose = tenant_of(self._services, tenant)
        return await self._services.jobs.list(whose, states=states, user=user, stuck_seconds=stuck_seconds, limit=limit)

    async def retry(self, job_id: UUID | None = None, *, user: str | None = None, tenant: str | None = None) -> int:
        """Queue failed jobs again (all of them, or one; with `user`, only of their sessions); how many.

        Raises:
            NotFound: the one has not failed, is not there, or is not theirs.

        """
        return await self._services.jobs.retry(tenant_of(self._services, tenant), job_id, user=user)

    async def live(self) -> int:
        """How many jobs are queued or running."""
        return await self._services.jobs.live()
