"""For operators: background work, what failed and why, the account of changes. Nothing that anybody said."""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

from fastapi import Query
from starlette.responses import Response

from anaphora.domain.jobs import JobState
from anaphora.server.page.rendering import many
from anaphora.server.page.visits import Mending, Operating, pages

router = pages()

_MANY: Final = 100


@router.get("/operator")
async def jobs_page(visit: Operating, state: JobState | None = None) -> Response:
    """Jobs, newest first; those that failed, with why."""
    tenant = visit.principal.tenant
    states = None if state is None else (state,)
    return visit.show(
        "jobs.html",
        state=state,
        states=list(JobState),
        jobs=await visit.memory.jobs.list(states=states, limit=_MANY, tenant=tenant),
        failed=len(await visit.memory.jobs.list(states=(JobState.FAILED,), limit=1000, tenant=tenant)),
        stuck=await visit.memory.jobs.list(stuck_seconds=600, limit=20, tenant=tenant),
    )


@router.post("/operator/retry")
async def retry_jobs(change: Mending) -> Response:
    """Queue everything again that failed."""
    queued = await change.memory.jobs.retry(tenant=change.principal.tenant)
    return change.back("/operator", f"{many(queued, 'job')} queued again.")


@router.post("/operator/jobs/{job_id}/retry")
async def retry_job(change: Mending, job_id: UUID) -> Response:
    """Queue one job again."""
    queued = await change.memory.jobs.retry(job_id, tenant=change.principal.tenant)
    return change.back("/operator", f"{many(queued, 'job')} queued again.")


@router.get("/operator/audit")
async def audit_page(visit: Operating, before: Annotated[int | None, Query(ge=1, le=2**53)] = None) -> Response:
    """What was changed, and in whose name."""
    tenant = visit.principal.tenant
    entries = await visit.memory.audit.list(before=before, limit=_MANY, tenant=tenant)
    return visit.show(
        "audit.html",
        entries=entries,
        broken=await visit.memory.audit.broken_at(tenant=tenant) if before is None else None,
        older=entries[-1].number if len(entries) == _MANY else None,
    )


@router.get("/operator/erasures")
async def erasures_page(visit: Operating) -> Response:
    """Who asked for what to be erased, and how far it is."""
    return visit.show("erasures.html", erasures=await visit.memory.erasures(limit=_MANY, tenant=visit.principal.tenant))
