"""Background work: a person sees that of their own sessions, an operator that of the tenant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from anaphora.domain.jobs import Job, JobState
from anaphora.server.deps import Remembered
from anaphora.server.gate import ReaderOrOperator, WriterOrOperator
from anaphora.server.inputs import Limit

router = APIRouter(prefix="/jobs", tags=["jobs"])

#: seconds of a hundred years
_LONGEST = 3_155_760_000


@router.get("")
async def list_jobs(
    memory: Remembered,
    principal: ReaderOrOperator,
    state: Annotated[
        list[JobState] | None, Query(max_length=len(JobState), description="Only in these states.")
    ] = None,
    stuck_seconds: Annotated[
        float | None, Query(ge=0, le=_LONGEST, description="Only those that should have moved that long ago.")
    ] = None,
    limit: Limit = 50,
) -> Sequence[Job]:
    """Jobs, newest first."""
    return await memory.jobs.list(
        states=state, stuck_seconds=stuck_seconds, user=principal.user, tenant=principal.tenant, limit=limit
    )


@router.post("/retry")
async def retry_jobs(memory: Remembered, principal: WriterOrOperator) -> int:
    """Queue all failed jobs again; how many."""
    return await memory.jobs.retry(user=principal.user, tenant=principal.tenant)


@router.post("/{job}/retry")
async def retry_job(memory: Remembered, principal: WriterOrOperator, job: UUID) -> int:
    """Queue a failed job again."""
    return await memory.jobs.retry(job, user=principal.user, tenant=principal.tenant)
