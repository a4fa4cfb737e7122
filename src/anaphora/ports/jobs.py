"""Background work, as a store keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange
from anaphora.ports.rows import SessionRow


class Jobs(Protocol):
    """The job table."""

    def plan(
        self,
        row: SessionRow,
        kind: JobKind,
        *,
        job_id: UUID,
        run_at: datetime,
        now: datetime,
        max_attempts: int,
        needs_model: bool = False,
        from_seq: int | None = None,
    ) -> bool:
        """Queue a job unless one is live; a running one is told to look again. True if queued."""
        ...

    def claim(
        self, tenant: str, job_ids: Sequence[UUID], *, owner: str, now: datetime, lease_seconds: float
    ) -> Job | None:
        """Take the lease of the first of these that is due and free, count the attempt; None if others were faster.

        The first is the one that is due longest. Nobody waits for one that somebody else is just claiming.
        """
        ...

    def set_range(self, fence: Fence, span: SeqRange, *, now: datetime) -> bool:
        """Write down what the claim took on. False if the fence is broken."""
        ...

    def heartbeat(self, fence: Fence, *, now: datetime, lease_seconds: float) -> bool:
        """Extend the lease; False if it is lost."""
        ...

    def holds(self, fence: Fence) -> bool:
        """The job is running, ours, at this attempt, and the session's epoch is unchanged (I5)."""
        ...

    def finish(self, fence: Fence, *, now: datetime) -> bool:
        """Mark as done; returns whether messages arrived meanwhile (`rearm`). Check `holds` first."""
        ...

    def retry_later(self, fence: Fence, *, run_at: datetime, reason: str, now: datetime) -> bool:
        """Put back into the queue for later; False if the fence is broken."""
        ...

    def release(self, fence: Fence, *, now: datetime) -> bool:
        """Put back at once and do not count the attempt: the worker stops."""
        ...

    def fail(self, fence: Fence, *, reason: str, now: datetime) -> bool:
        """End as failed; False if the fence is broken."""
        ...

    def withdraw(self, tenant: str, job_id: UUID, *, now: datetime) -> bool:
        """End a live job because what it works on was changed: its worker loses the fence. False if it is over."""
        ...

    def pull_forward(self, tenant: str, kind: JobKind, *, now: datetime, limit: int) -> int:
        """Queued jobs of this kind that wait for later may run now."""
        ...

    def retry_failed(self, tenant: str, *, job_id: UUID | None, now: datetime, user: str | None = None) -> int:
        """Queue failed jobs again with fresh attempts; how many. With `user`, only of their sessions."""
        ...

    def list(
        self,
        tenant: str,
        *,
        states: Sequence[JobState] | None = None,
        session_id: UUID | None = None,
        user: str | None = None,
        stuck_before: datetime | None = None,
        with_model: bool = True,
        with_embedder: bool = True,
        limit: int = 50,
    ) -> Sequence[Job]:
        """Jobs, newest first. `stuck_before`: running with a lease that ended before then, or queued and due.

        With `user`, only of their sessions; without a model or an embedder, not those that need one.
        """
        ...
