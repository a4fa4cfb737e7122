"""Jobs as rows, and rows as jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.ports.rows import SessionRow
from anaphora.storage.tables import jobs, sessions
from anaphora.storage.types import AnyRow

JOB_COLUMNS = (
    jobs.c.id,
    jobs.c.tenant_id,
    jobs.c.session_uid,
    sessions.c.user_id,
    sessions.c.agent_id,
    sessions.c.session_id,
    jobs.c.kind,
    jobs.c.state,
    jobs.c.start,
    jobs.c.stop,
    jobs.c.attempt,
    jobs.c.max_attempts,
    jobs.c.run_at,
    jobs.c.lease_owner,
    jobs.c.lease_until,
    jobs.c.rearm,
    jobs.c.needs_model,
    jobs.c.from_seq,
    jobs.c.epoch,
    jobs.c.reason,
    jobs.c.created_at,
    jobs.c.updated_at,
)


#: tenant, session and kind of a live job
Place = tuple[str, UUID, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job that is to be queued if none is live: nearly always one is, and it is not made."""

    run_at: datetime
    now: datetime
    job: Callable[[], dict[str, Any]]


def new_job(
    row: SessionRow,
    kind: JobKind,
    *,
    job_id: UUID,
    run_at: datetime,
    now: datetime,
    max_attempts: int,
    needs_model: bool = False,
    from_seq: int | None = None,
) -> dict[str, Any]:
    """A queued job of the session as a row to insert."""
    return {
        "tenant_id": row.key.tenant,
        "id": job_id,
        "session_uid": row.id,
        "kind": kind.value,
        "state": JobState.QUEUED.value,
        "start": None,
        "stop": None,
        "attempt": 0,
        "max_attempts": max_attempts,
        "run_at": run_at,
        "lease_owner": None,
        "lease_until": None,
        "rearm": False,
        "needs_model": needs_model,
        "from_seq": from_seq,
        "epoch": row.epoch,
        "reason": None,
        "created_at": now,
        "updated_at": now,
    }


def fence_parameters(fence: Fence) -> dict[str, Any]:
    """The fence as the parameters of a statement that checks it."""
    return {
        "b_tenant": fence.tenant,
        "b_id": fence.job_id,
        "b_uid": fence.session_id,
        "b_owner": fence.owner,
        "b_attempt": fence.attempt,
        "b_epoch": fence.epoch,
    }


def job_from(row: AnyRow) -> Job:
    """The job in a row of `JOB_COLUMNS`."""
    return Job(
        id=row.id,
        tenant=row.tenant_id,
        session_id=row.session_uid,
        key=SessionKey(tenant=row.tenant_id, user=row.user_id, agent=row.agent_id, session=row.session_id),
        kind=JobKind(row.kind),
        state=JobState(row.state),
        range=SeqRange(row.start, row.stop) if row.start is not None else None,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        run_at=row.run_at,
        lease_owner=row.lease_owner,
        lease_until=row.lease_until,
        rearm=row.rearm,
        needs_model=row.needs_model,
        from_seq=row.from_seq,
        epoch=row.epoch,
        reason=row.reason,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def taken(job: Job, *, owner: str, until: datetime, now: datetime) -> Job:
    """The job as its claim leaves it."""
    return replace(
        job,
        state=JobState.RUNNING,
        attempt=job.attempt + 1,
        lease_owner=owner,
        lease_until=until,
        rearm=False,
        updated_at=now,
    )


def place_of(key: Place) -> dict[str, Any]:
    """The parameters that name the live job of a kind of a session."""
    tenant, uid, kind = key
    return {"b_tenant": tenant, "b_uid": uid, "b_kind": kind}


def lease_of(now: datetime, seconds: float) -> dict[str, datetime]:
    """The parameters of a claim: from when to when its lease goes, and what is too far ahead to be believed."""
    lease = timedelta(seconds=seconds)
    return {"now": now, "ahead": now + lease, "horizon": now + 2 * lease}
