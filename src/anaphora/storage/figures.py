"""Counts of all tenants together, in a handful of statements."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from anaphora.domain.figures import Figures
from anaphora.domain.jobs import JobKind, JobState
from anaphora.storage.tables import heads, jobs, sessions, summaries

_OF_HEAD = (sessions.c.tenant_id == heads.c.tenant_id) & (sessions.c.id == heads.c.session_uid)
_SERVED = (summaries.c.tenant_id == heads.c.tenant_id) & (summaries.c.id == heads.c.summary_id)
_TIMED = sa.case((summaries.c.generation_ms > 0, summaries.c.generation_ms))


def _sum(column: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    return sa.cast(sa.func.coalesce(sa.func.sum(column), 0), sa.BigInteger)


_LOGS = sa.select(sa.func.count(), _sum(sessions.c.head)).select_from(sessions)
_VERSIONS = sa.select(
    summaries.c.status,
    summaries.c.method,
    sa.func.count(),
    sa.func.count(_TIMED),
    _sum(_TIMED),
    sa.func.coalesce(sa.func.max(_TIMED), 0),
).group_by(summaries.c.status, summaries.c.method)
_WORK = sa.select(jobs.c.kind, jobs.c.state, sa.func.count()).group_by(jobs.c.kind, jobs.c.state)
_HEADS = (
    sa.select(
        sessions.c.strategy,
        heads.c.reader,
        _sum(heads.c.position),
        _sum(sa.case((heads.c.summary_id.is_not(None), heads.c.tokens), else_=0)),
        _sum(summaries.c.tokens),
    )
    .select_from(heads.join(sessions, _OF_HEAD).outerjoin(summaries, _SERVED))
    .group_by(sessions.c.strategy, heads.c.reader)
)


def figures(
    connection: sa.Connection,
    *,
    reader_of: Callable[[str | None], str],
    stuck_before: datetime,
    with_model: bool,
    with_embedder: bool,
) -> Figures:
    """What `ports.store.Store.figures` says."""
    count, messages = connection.execute(_LOGS).one()
    versions = connection.execute(_VERSIONS).all()
    served = [row for row in connection.execute(_HEADS) if row.reader == reader_of(row.strategy)]
    return Figures(
        sessions=count,
        messages=messages,
        summaries={(row[0], row[1]): row[2] for row in versions},
        timed=sum(row[3] for row in versions),
        generation_ms=sum(row[4] for row in versions),
        slowest_ms=max((row[5] for row in versions), default=0),
        jobs={(row[0], row[1]): row[2] for row in connection.execute(_WORK)},
        stuck=connection.execute(_stuck(stuck_before, with_model, with_embedder)).scalar_one(),
        gap=messages - sum(row[2] for row in served),
        summarised_tokens=sum(row[3] for row in served),
        summary_tokens=sum(row[4] for row in served),
    )


def _stuck(before: datetime, with_model: bool, with_embedder: bool) -> sa.Select[Any]:  # noqa: FBT001
    running = sa.and_(jobs.c.state == JobState.RUNNING.value, jobs.c.lease_until < before)
    waiting = sa.and_(jobs.c.state == JobState.QUEUED.value, jobs.c.run_at <= before)
    query = sa.select(sa.func.count()).select_from(jobs).where(sa.or_(running, waiting))
    if not with_model:
        query = query.where(sa.not_(jobs.c.needs_model))
    if not with_embedder:
        query = query.where(jobs.c.kind != JobKind.EMBED.value)
    return query
