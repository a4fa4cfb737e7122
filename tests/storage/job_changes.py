"""What can happen to a job, on one connection to an empty database in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from tests.storage.bench import LEASE, NOW, after, fence_of, key_of, never, new_id

from anaphora.bootstrap.system import system_randomness
from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.ports.rows import SessionRow
from anaphora.storage import columns, tables
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.sqlite.document_search import FtsDocuments
from anaphora.storage.sqlite.engine import Database, Durability
from anaphora.storage.sqlite.search import FtsWords
from anaphora.storage.sqlite.vectors import BlobVectors
from anaphora.storage.unit import SqlUnit

SUMMARISE, REBUILD = JobKind.SUMMARISE, JobKind.REBUILD
QUEUED, RUNNING, DONE, FAILED = JobState.QUEUED, JobState.RUNNING, JobState.DONE, JobState.FAILED


@contextmanager
def in_memory() -> Iterator[sa.Connection]:
    """A connection to an empty database, which is gone when it is closed."""
    database = Database(path=None, durability=Durability.NORMAL, read_only=False)
    with closing(database.writer(timeout=1)) as connection:
        columns.metadata.create_all(connection)
        yield connection


def unit_of(connection: sa.Connection) -> SqlUnit:
    policy = AppendPolicy(planner=never, reader_of=lambda name: f"live:{name}", randomness=system_randomness)
    index = FtsWords(connection), BlobVectors(connection), FtsDocuments(connection)
    return SqlUnit(connection, *index, policy, now=lambda: NOW)


def session(
    unit: SqlUnit,
    name: str = "s1",
    tenant: str = "t",
    *,
    session_id: UUID | None = None,
    strategy: str | None = None,
) -> SessionRow:
    """The session of this name, made if it is not there."""
    key: SessionKey = key_of(session=name, tenant=tenant)
    return unit.sessions.create(key, session_id=session_id or new_id(), strategy=strategy, subject=None, now=NOW)


def planned(
    unit: SqlUnit,
    row: SessionRow,
    kind: JobKind = SUMMARISE,
    *,
    run_at: datetime = NOW,
    job_id: UUID | None = None,
    **needs: bool,
) -> Job:
    job_id = job_id or new_id()
    assert unit.jobs.plan(row, kind, job_id=job_id, run_at=run_at, now=NOW, max_attempts=3, **needs)
    return job_of(unit, job_id, row.key.tenant)


def job_of(unit: SqlUnit, job_id: UUID, tenant: str = "t") -> Job:
    (job,) = (job for job in unit.jobs.list(tenant) if job.id == job_id)
    return job


def claimed(unit: SqlUnit, job: Job, *, owner: str = "w1", now: datetime = NOW) -> Job | None:
    return unit.jobs.claim(job.tenant, [job.id], owner=owner, now=now, lease_seconds=LEASE)


def taken(unit: SqlUnit, job: Job) -> Fence:
    found = claimed(unit, job)
    assert found is not None
    return fence_of(found)


def found(unit: SqlUnit, *, now: datetime = NOW, limit: int = 99) -> list[UUID]:
    rows = unit.jobs.candidates(now=now, lease_seconds=LEASE, with_model=True, limit=limit)
    return [job_id for _, job_id in rows]


def put(connection: sa.Connection, job: Job, **values: object) -> None:
    """Change a row behind the back of the store."""
    this = (tables.jobs.c.tenant_id == job.tenant) & (tables.jobs.c.id == job.id)
    change = sa.update(tables.jobs).where(this).values(**values)
    assert connection.execute(change).rowcount == 1


#: the id of a job, and of one of another tenant: ids are a tenant's own
JOB = new_id()


def others(unit: SqlUnit) -> dict[str, Job]:
    """Jobs that are none of this job's business; the one of another tenant has its id, in a session of the same id."""
    row = session(unit, "s1")
    jobs = {
        "of another kind": planned(unit, row, REBUILD),
        "of another session": planned(unit, session(unit, "s2")),
        "of another tenant": planned(unit, session(unit, "s1", "t2", session_id=row.id), job_id=JOB),
        "running": planned(unit, session(unit, "s3")),
        "failed": planned(unit, session(unit, "s4")),
        "done": planned(unit, session(unit, "s5")),
    }
    taken(unit, jobs["running"])
    assert unit.jobs.fail(taken(unit, jobs["failed"]), reason="no", now=NOW)
    unit.jobs.finish(taken(unit, jobs["done"]), now=NOW)
    return {name: job_of(unit, job.id, job.tenant) for name, job in jobs.items()}


def plan_beside(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    """Whether a job is planned beside this one."""
    row = unit.sessions.get(fence.tenant, fence.session_id)
    assert row is not None
    return unit.jobs.plan(row, SUMMARISE, job_id=new_id(), run_at=now, now=now, max_attempts=3)


def retry(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    return unit.jobs.retry_failed(fence.tenant, job_id=fence.job_id, now=now) > 0


def pull(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    return unit.jobs.pull_forward(fence.tenant, SUMMARISE, now=now, limit=9) > 0


def claim_again(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    return unit.jobs.claim(fence.tenant, [fence.job_id], owner="w2", now=now, lease_seconds=30) is not None


FREE = {"lease_owner": None, "lease_until": None}
Change = Callable[[SqlUnit, Fence, datetime], bool]
#: what is done to a job in a state; what it answers; and what of the job is another thing then, beside its last change
CHANGES: dict[str, tuple[JobState, Change, bool, dict[str, Any]]] = {
    "taken over": (
        RUNNING,
        claim_again,
        True,
        {"attempt": 2, "lease_owner": "w2", "lease_until": after(LEASE + 30), "rearm": False},
    ),
    "sized": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.set_range(fence, SeqRange(1, 4), now=now),
        True,
        {"range": SeqRange(1, 4)},
    ),
    "alive": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.heartbeat(fence, now=now, lease_seconds=30),
        True,
        {"lease_until": after(LEASE + 30)},
    ),
    "finished": (RUNNING, lambda unit, fence, now: unit.jobs.finish(fence, now=now), True, {"state": DONE, **FREE}),
    "put back": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.retry_later(fence, run_at=after(999), reason="busy", now=now),
        True,
        {"state": QUEUED, "run_at": after(999), "reason": "busy", "rearm": False, **FREE},
    ),
    "released": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.release(fence, now=now),
        True,
        {"state": QUEUED, "run_at": after(LEASE), "attempt": 0, "rearm": False, **FREE},
    ),
    "given up": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.fail(fence, reason="no", now=now),
        True,
        {"state": FAILED, "reason": "no", **FREE},
    ),
    "withdrawn while it runs": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.withdraw(fence.tenant, fence.job_id, now=now),
        True,
        {"state": DONE, "reason": "its messages changed", **FREE},
    ),
    "withdrawn while it waits": (
        QUEUED,
        lambda unit, fence, now: unit.jobs.withdraw(fence.tenant, fence.job_id, now=now),
        True,
        {"state": DONE, "reason": "its messages changed"},
    ),
    "pulled forward": (QUEUED, pull, True, {"run_at": after(LEASE)}),
    "tried again": (FAILED, retry, True, {"state": QUEUED, "attempt": 0, "run_at": after(LEASE), "rearm": False}),
}
#: what a job in a state is proof against
REFUSED: dict[str, tuple[JobState, Change]] = {
    "withdrawn when it is done": (DONE, CHANGES["withdrawn while it waits"][1]),
    "withdrawn when it failed": (FAILED, CHANGES["withdrawn while it waits"][1]),
    "planned beside a queued one": (QUEUED, plan_beside),
    "pulled forward while it runs": (RUNNING, pull),
    "pulled forward when it failed": (FAILED, pull),
    "tried again when it is done": (DONE, retry),
    "tried again while it runs": (RUNNING, retry),
    "tried again while it waits": (QUEUED, retry),
    **{f"{name}, when it was put back": (QUEUED, CHANGES[name][1]) for name in ("sized", "alive", "finished")},
    **{f"{name}, when it is done": (DONE, CHANGES[name][1]) for name in ("put back", "released", "given up")},
}


def brought_to(unit: SqlUnit, connection: sa.Connection, state: JobState) -> tuple[Job, Fence]:
    """A job in this state, with as many marks of an eventful life as it can have; and the fence of its last claim."""
    job = planned(unit, session(unit), job_id=JOB)
    fence = taken(unit, job)
    put(connection, job, state=state.value, run_at=after(LEASE + 9), rearm=True, reason="before", start=0, stop=2)
    if state is not RUNNING:
        put(connection, job, **FREE)
    return job_of(unit, job.id), fence


#: what is done, and whether there may be something to claim afterwards
WAKES: dict[str, tuple[JobState | None, Change, bool]] = {
    "a job is planned": (None, plan_beside, True),
    "a job is planned beside a queued one": (QUEUED, plan_beside, False),
    "a job is planned beside a running one": (RUNNING, plan_beside, False),
    "a job is pulled forward": (QUEUED, pull, True),
    "nothing is there to be pulled forward": (RUNNING, pull, False),
    "a job is tried again": (FAILED, retry, True),
    "nothing is there to be tried again": (DONE, retry, False),
    "a job is released": (RUNNING, CHANGES["released"][1], True),
    "a job that is over is released": (DONE, CHANGES["released"][1], False),
    "a job is put back for later": (RUNNING, CHANGES["put back"][1], False),
    "a job is finished": (RUNNING, CHANGES["finished"][1], False),
}
