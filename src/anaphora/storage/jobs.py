"""The job table: single flight, leases and fences."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, uuid7
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Planner
from anaphora.storage.due_jobs import CLAIMABLE, FAIR, LIVE, NOW, doable
from anaphora.storage.effects import Effects
from anaphora.storage.job_rows import (
    JOB_COLUMNS,
    Place,
    Wanted,
    fence_parameters,
    job_from,
    lease_of,
    new_job,
    place_of,
    taken,
)
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.summaries import HEADS_BY_KEY, head_from
from anaphora.storage.tables import jobs, sessions
from anaphora.storage.upsert import insert_if_absent

log = logging.getLogger("anaphora.jobs")

#: where a reader is that never ran
_START = Head()

_QUEUED, _RUNNING, _DONE, _FAILED = (state.value for state in JobState)
_SESSION = (sessions.c.tenant_id == jobs.c.tenant_id) & (sessions.c.id == jobs.c.session_uid)
_SELECT = sa.select(*JOB_COLUMNS).join(sessions, _SESSION)
_INSERT = insert_if_absent(jobs)
_THIS = (jobs.c.tenant_id == sa.bindparam("b_tenant"), jobs.c.id == sa.bindparam("b_id"))
_FIRST_OF = (
    _SELECT.where(jobs.c.tenant_id == sa.bindparam("b_tenant"), LIVE, CLAIMABLE)
    .order_by(jobs.c.run_at, jobs.c.id)
    .limit(1)
)
#: the first that could be claimed of some jobs; where many write, locked: those that somebody else has are passed
#: over, who wants one does not wait for them
_FREE_ONE: Mapping[str, sa.Select[Any]] = MappingProxyType(
    {
        "sqlite": _FIRST_OF.where(jobs.c.id.in_(sa.bindparam("b_ids", expanding=True))),
        "postgresql": _FIRST_OF.where(
            jobs.c.id == sa.any_(sa.bindparam("b_ids", type_=postgresql.ARRAY(sa.Uuid)))
        ).with_for_update(of=jobs, skip_locked=True),
    }
)
#: the live jobs of sessions, locked: nobody claims a queued one before our messages are there to be seen
_LIVE_OF = by_keys(
    (jobs.c.tenant_id, jobs.c.session_uid, jobs.c.kind, jobs.c.state, jobs.c.rearm, jobs.c.run_at),
    (jobs.c.tenant_id, jobs.c.session_uid, jobs.c.kind),
    LIVE,
    lock=True,
)
_REARM = (
    sa.update(jobs)
    .where(
        jobs.c.tenant_id == sa.bindparam("b_tenant"),
        jobs.c.session_uid == sa.bindparam("b_uid"),
        jobs.c.kind == sa.bindparam("b_kind"),
        jobs.c.state == _RUNNING,
    )
    .values(rearm=True)
)
_HURRY = (
    sa.update(jobs)
    .where(
        jobs.c.tenant_id == sa.bindparam("b_tenant"),
        jobs.c.session_uid == sa.bindparam("b_uid"),
        jobs.c.kind == sa.bindparam("b_kind"),
        jobs.c.state == _QUEUED,
        jobs.c.attempt == 0,
        sa.not_(jobs.c.needs_model),
    )
    .values(run_at=sa.bindparam("later", type_=jobs.c.run_at.type), updated_at=NOW)
)
_CLAIM = (
    sa.update(jobs)
    .where(*_THIS, CLAIMABLE)
    .values(
        state=_RUNNING,
        attempt=jobs.c.attempt + 1,
        lease_owner=sa.bindparam("owner"),
        lease_until=sa.bindparam("until"),
        rearm=False,
        updated_at=NOW,
    )
)
#: the fence, but for the epoch of the session
_FENCED = (
    *_THIS,
    jobs.c.session_uid == sa.bindparam("b_uid"),
    jobs.c.state == _RUNNING,
    jobs.c.lease_owner == sa.bindparam("b_owner"),
    jobs.c.attempt == sa.bindparam("b_attempt"),
    jobs.c.epoch == sa.bindparam("b_epoch"),
)
_ITS_SESSION = sa.select(sessions.c.epoch).where(
    sessions.c.tenant_id == sa.bindparam("b_tenant"), sessions.c.id == sa.bindparam("b_uid")
)


def _holds(*, lock: bool) -> sa.Select[Any]:
    """The job of a fence, if it holds. Whoever locks both locks the session first, as appends do."""
    session = (_ITS_SESSION.with_for_update() if lock else _ITS_SESSION).cte("its_session")
    query = sa.select(jobs.c.id).join(session, session.c.epoch == sa.bindparam("b_epoch")).where(*_FENCED)
    return query.with_for_update(of=jobs) if lock else query


_HOLDS, _HOLDS_LOCKED = _holds(lock=False), _holds(lock=True)
_FENCED_UPDATE = sa.update(jobs).where(*_FENCED)
_FREE = {"lease_owner": None, "lease_until": None}
_SET_RANGE = _FENCED_UPDATE.values(start=sa.bindparam("at"), stop=sa.bindparam("end"), updated_at=NOW)
_HEARTBEAT = _FENCED_UPDATE.values(lease_until=sa.bindparam("until"), updated_at=NOW)
_FINISH = _FENCED_UPDATE.values(state=_DONE, **_FREE, updated_at=NOW).returning(jobs.c.rearm)
_RETRY_LATER = _FENCED_UPDATE.values(
    state=_QUEUED, run_at=sa.bindparam("later"), reason=sa.bindparam("why"), rearm=False, **_FREE, updated_at=NOW
)
_RELEASE = _FENCED_UPDATE.values(
    state=_QUEUED, run_at=NOW, attempt=jobs.c.attempt - 1, rearm=False, **_FREE, updated_at=NOW
)
_WITHDRAW = (
    sa.update(jobs).where(*_THIS, LIVE).values(state=_DONE, reason="its messages changed", **_FREE, updated_at=NOW)
)
_FAIL = _FENCED_UPDATE.values(state=_FAILED, reason=sa.bindparam("why"), **_FREE, updated_at=NOW)


class SqlJobs:
    """`ports.store.Jobs` over one transaction."""

    def __init__(self, connection: sa.Connection, policy: AppendPolicy, effects: Effects, *, writing: bool) -> None:
        self._holds = _HOLDS_LOCKED if writing else _HOLDS
        self._connection = connection
        self._run = connection.execute
        self._policy = policy
        self._effects = effects

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
        job = partial(
            new_job,
            row,
            kind,
            job_id=job_id,
            run_at=run_at,
            now=now,
            max_attempts=max_attempts,
            needs_model=needs_model,
            from_seq=from_seq,
        )
        return self._queue({(row.key.tenant, row.id, kind.value): Wanted(run_at, now, job)}) > 0

    def plan_due(self, rows: Sequence[SessionRow], planner: Planner) -> None:
        """Queue what the sessions need, as they now are: what their strategy wants, vectors, and reading for facts."""
        policy, schedule = self._policy, self._policy.schedule
        keys = [(row.key.tenant, row.id, policy.reader_of(row.strategy)) for row in rows]
        if schedule is not None:
            keys = list(dict.fromkeys([*keys, *((row.key.tenant, row.id, schedule.reader) for row in rows)]))
        found = self._run(HEADS_BY_KEY[self._connection.dialect.name], key_parameters(keys))
        at = {(tenant, uid, reader): head_from(head) for tenant, uid, reader, *head in found}
        wanted: dict[Place, Wanted] = {}

        def want(row: SessionRow, kind: JobKind, run_at: datetime) -> None:
            job = partial(self._new, row, kind, run_at)
            wanted[row.key.tenant, row.id, kind.value] = Wanted(run_at, row.updated_at, job)

        for row in rows:
            covered = at.get((row.key.tenant, row.id, policy.reader_of(row.strategy)), _START)
            due = planner(row.strategy, row.state_at(covered))
            if due is not None:
                want(row, due, row.updated_at)
            if policy.embeds:
                want(row, JobKind.EMBED, row.updated_at)
            if schedule is not None:
                read = at.get((row.key.tenant, row.id, schedule.reader), _START)
                run_at = schedule.run_at(row, read.position, row.updated_at)
                if run_at is not None:
                    want(row, JobKind.EXTRACT, run_at)
        if wanted:
            self._queue(wanted)

    def _new(self, row: SessionRow, kind: JobKind, run_at: datetime) -> dict[str, Any]:
        return new_job(
            row,
            kind,
            job_id=uuid7(row.updated_at, self._policy.randomness(10)),
            run_at=run_at,
            now=row.updated_at,
            max_attempts=self._policy.max_attempts,
        )

    def _queue(self, wanted: Mapping[Place, Wanted]) -> int:
        """Queue the jobs of sessions that have no live one of the kind, tell running ones to look again.

        One that waits for later, and was never tried, is pulled forward: what it waited for has come. How many are new.
        """
        dialect = self._connection.dialect.name
        found = self._run(_LIVE_OF[dialect], key_parameters(wanted))
        live = {(tenant, uid, kind): (state, rearm, run_at) for tenant, uid, kind, state, rearm, run_at in found}
        new = [each.job() for place, each in wanted.items() if place not in live]
        running = [key for key, (state, rearm, _) in live.items() if state == _RUNNING and not rearm]
        early = [
            {**place_of(place), "later": wanted[place].run_at, "now": wanted[place].now}
            for place, (state, _, run_at) in live.items()
            if state == _QUEUED and place[2] == JobKind.EXTRACT.value and wanted[place].run_at < run_at
        ]
        if log.isEnabledFor(logging.DEBUG):
            for _, uid, kind in live:
                extra = {"event": "already_in_progress", "session_id": str(uid), "kind": kind}
                log.debug("A %s job is in progress already for %s", kind, uid, extra=extra)
        if running:
            self._run(_REARM, list(map(place_of, running)))
        if early:
            self._run(_HURRY, early)
            self._effects.planned = True
        if not new:
            return 0
        self._effects.planned |= any(job["run_at"] <= job["updated_at"] for job in new)
        queued = self._run(_INSERT[dialect], new).rowcount
        if queued != len(new):  # somebody else planned the same at the same time, and may run it already
            self._run(_REARM, [place_of((job["tenant_id"], job["session_uid"], job["kind"])) for job in new])
        return queued

    def candidates(
        self, *, now: datetime, lease_seconds: float, with_model: bool, limit: int, with_embedder: bool = True
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of jobs that could be claimed now, oldest first, fair between tenants."""
        fair = FAIR[with_model, with_embedder]
        return [(tenant, uid) for tenant, uid in self._run(fair, {**lease_of(now, lease_seconds), "most": limit})]

    def claim(
        self, tenant: str, job_ids: Sequence[UUID], *, owner: str, now: datetime, lease_seconds: float
    ) -> Job | None:
        """Take the lease of the first of these that is due and free, count the attempt; None if others were faster."""
        until = now + timedelta(seconds=lease_seconds)
        lease = lease_of(now, lease_seconds)
        free = _FREE_ONE[self._connection.dialect.name]
        found = self._run(free, {"b_tenant": tenant, "b_ids": list(job_ids), **lease}).first()
        if found is None:
            return None
        this = {"b_tenant": tenant, "b_id": found.id}
        claimed = self._run(_CLAIM, {**this, "owner": owner, "until": until, **lease}).rowcount
        return taken(job_from(found), owner=owner, until=until, now=now) if claimed else None

    def set_range(self, fence: Fence, span: SeqRange, *, now: datetime) -> bool:
        """Write down what the claim took on. False if the fence is broken."""
        return self._change(_SET_RANGE, fence, at=span.start, end=span.stop, now=now)

    def heartbeat(self, fence: Fence, *, now: datetime, lease_seconds: float) -> bool:
        """Extend the lease; False if it is lost."""
        return self._change(_HEARTBEAT, fence, until=now + timedelta(seconds=lease_seconds), now=now)

    def holds(self, fence: Fence) -> bool:
        """The job is running, ours, at this attempt, and the session's epoch is unchanged (I5)."""
        return self._run(self._holds, fence_parameters(fence)).first() is not None

    def finish(self, fence: Fence, *, now: datetime) -> bool:
        """Mark as done; returns whether messages arrived meanwhile (`rearm`). Check `holds` first."""
        row = self._run(_FINISH, {**fence_parameters(fence), "now": now}).first()
        return bool(row is not None and row.rearm)

    def retry_later(self, fence: Fence, *, run_at: datetime, reason: str, now: datetime) -> bool:
        """Put back into the queue for later; False if the fence is broken."""
        return self._change(_RETRY_LATER, fence, later=run_at, why=reason, now=now)

    def release(self, fence: Fence, *, now: datetime) -> bool:
        """Put back at once and do not count the attempt: the worker stops."""
        released = self._change(_RELEASE, fence, now=now)
        self._effects.planned |= released
        return released

    def fail(self, fence: Fence, *, reason: str, now: datetime) -> bool:
        """End as failed; False if the fence is broken."""
        return self._change(_FAIL, fence, why=reason, now=now)

    def withdraw(self, tenant: str, job_id: UUID, *, now: datetime) -> bool:
        """End a live job because what it works on was changed: its worker loses the fence. False if it is over."""
        return self._run(_WITHDRAW, {"b_tenant": tenant, "b_id": job_id, "now": now}).rowcount > 0

    def pull_forward(self, tenant: str, kind: JobKind, *, now: datetime, limit: int) -> int:
        """Queued jobs of this kind that wait for later may run now."""
        waiting = (
            sa.select(jobs.c.id)
            .where(
                jobs.c.tenant_id == tenant,
                jobs.c.kind == kind.value,
                jobs.c.state == _QUEUED,
                jobs.c.run_at > now,
            )
            .order_by(jobs.c.run_at, jobs.c.id)
            .limit(limit)
        )
        pulled = self._run(
            sa.update(jobs)
            .where(jobs.c.tenant_id == tenant, jobs.c.state == _QUEUED, jobs.c.id.in_(waiting))
            .values(run_at=now, updated_at=now)
        ).rowcount
        self._effects.planned |= pulled > 0
        return pulled

    def retry_failed(self, tenant: str, *, job_id: UUID | None, now: datetime, user: str | None = None) -> int:
        """Queue failed jobs again with fresh attempts; how many.

        Of several failures of one kind in one session the newest is tried again, and none beside a live job.
        """
        other = jobs.alias("other")
        same = (
            other.c.tenant_id == tenant,
            other.c.session_uid == jobs.c.session_uid,
            other.c.kind == jobs.c.kind,
        )
        ahead = sa.or_(
            other.c.state.in_([_QUEUED, _RUNNING]), sa.and_(other.c.state == _FAILED, other.c.id > jobs.c.id)
        )
        if job_id is not None:
            ahead = other.c.state.in_([_QUEUED, _RUNNING])
        epoch = sa.select(sessions.c.epoch).where(sessions.c.tenant_id == tenant, _SESSION).scalar_subquery()
        change = sa.update(jobs).where(
            jobs.c.tenant_id == tenant, jobs.c.state == _FAILED, ~sa.exists().where(*same, ahead)
        )
        if job_id is not None:
            change = change.where(jobs.c.id == job_id)
        if user is not None:
            change = change.where(sa.exists().where(_SESSION, sessions.c.user_id == user))
        queued = self._run(
            change.values(state=_QUEUED, attempt=0, run_at=now, rearm=False, epoch=epoch, updated_at=now)
        ).rowcount
        self._effects.planned |= queued > 0
        return queued

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
        """Jobs, newest first. `stuck_before`: running with a lease that ended before then, or queued and due."""
        query: sa.Select[Any] = _SELECT.where(jobs.c.tenant_id == tenant)
        if states is not None:
            query = query.where(jobs.c.state.in_([state.value for state in states]))
        if session_id is not None:
            query = query.where(jobs.c.session_uid == session_id)
        if user is not None:
            query = query.where(sessions.c.user_id == user)
        query = doable(query, with_model=with_model, with_embedder=with_embedder)
        if stuck_before is not None:
            query = query.where(
                sa.or_(
                    sa.and_(jobs.c.state == _RUNNING, jobs.c.lease_until < stuck_before),
                    sa.and_(jobs.c.state == _QUEUED, jobs.c.run_at <= stuck_before),
                )
            )
        query = query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
        return [job_from(row) for row in self._run(query)]

    def due_count(self, *, now: datetime | None, with_model: bool, with_embedder: bool = True) -> int:
        """Live jobs a worker could take at `now` (None: at any time), running ones included."""
        query = sa.select(sa.func.count()).select_from(jobs).where(LIVE)
        if now is not None:
            query = query.where(sa.or_(jobs.c.state == _RUNNING, jobs.c.run_at <= now, jobs.c.updated_at > now))
        query = doable(query, with_model=with_model, with_embedder=with_embedder)
        return int(self._run(query).scalar_one())

    def _change(self, statement: sa.Update, fence: Fence, **values: object) -> bool:
        changed = self._run(statement, {**fence_parameters(fence), **values}).rowcount
        return bool(changed)
