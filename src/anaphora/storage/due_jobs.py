"""Which jobs a worker could take, in which order."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from anaphora.domain.jobs import JobKind, JobState
from anaphora.storage.tables import jobs

_QUEUED, _RUNNING = JobState.QUEUED.value, JobState.RUNNING.value
#: word for word the condition of the partial index, so that what is done costs nothing
LIVE = sa.text(f"state IN ('{_QUEUED}', '{_RUNNING}')")
NOW = sa.bindparam("now", type_=jobs.c.run_at.type)
#: how far ahead of ours a clock may be: of another host, or of who held the row for which we waited
_AHEAD = sa.bindparam("ahead", type_=jobs.c.run_at.type)
#: where a lease that was taken by such a clock ends at the latest
_HORIZON = sa.bindparam("horizon", type_=jobs.c.run_at.type)
#: queued and due (or written in the future: the clock was set back, and nobody knows how long to wait); or running
#: with a lease that is over, or that reaches further than any lease could
CLAIMABLE = sa.or_(
    sa.and_(jobs.c.state == _QUEUED, sa.or_(jobs.c.run_at <= NOW, jobs.c.updated_at > _AHEAD)),
    sa.and_(jobs.c.state == _RUNNING, sa.or_(jobs.c.lease_until <= NOW, jobs.c.lease_until > _HORIZON)),
)


def _fair(*, with_model: bool, with_embedder: bool) -> sa.Select[Any]:
    """What a worker could take, oldest first; of every tenant its first before anybody's second."""
    turn = sa.func.row_number().over(partition_by=jobs.c.tenant_id, order_by=(jobs.c.run_at, jobs.c.id))
    query = sa.select(jobs.c.tenant_id, jobs.c.id, jobs.c.run_at, turn.label("place")).where(LIVE, CLAIMABLE)
    ranked = doable(query, with_model=with_model, with_embedder=with_embedder).subquery()
    return (
        sa.select(ranked.c.tenant_id, ranked.c.id)
        .order_by(ranked.c.place, ranked.c.run_at, ranked.c.tenant_id)
        .limit(sa.bindparam("most", type_=sa.Integer))
    )


def doable(query: sa.Select[Any], *, with_model: bool, with_embedder: bool) -> sa.Select[Any]:
    """Only jobs for which a worker has what they need."""
    if not with_model:
        query = query.where(sa.not_(jobs.c.needs_model))
    if not with_embedder:
        query = query.where(jobs.c.kind != JobKind.EMBED.value)
    return query


#: made once: workers ask all the time
FAIR = {
    (model, embedder): _fair(with_model=model, with_embedder=embedder)
    for model in (False, True)
    for embedder in (False, True)
}
