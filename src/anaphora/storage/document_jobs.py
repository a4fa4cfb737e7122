"""Which documents wait for vectors, and who makes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.ports.documents import DocumentLease
from anaphora.storage.document_tables import document_jobs as jobs
from anaphora.storage.effects import Effects
from anaphora.storage.upsert import insert_if_absent

_INSERT = insert_if_absent(jobs)
_THIS = (jobs.c.tenant_id == sa.bindparam("b_tenant"), jobs.c.document_id == sa.bindparam("b_id"))
_NOW = sa.bindparam("now", type_=jobs.c.run_at.type)
#: where a lease ends at the latest: one that reaches further was taken by a clock that went wrong
_HORIZON = sa.bindparam("horizon", type_=jobs.c.run_at.type)
_FREE = jobs.c.lease_until.is_(None)
_DUE = sa.or_(
    sa.and_(_FREE, jobs.c.run_at <= _NOW),
    jobs.c.lease_until <= _NOW,
    jobs.c.lease_until > _HORIZON,
)
#: what was changed while somebody works on it is to be looked at again: their lease is void
_AGAIN = sa.update(jobs).where(*_THIS).values(run_at=_NOW, attempt=0, lease_owner=None, lease_until=None, reason=None)
_NOT_HELD = sa.select(jobs.c.document_id).where(*_THIS).with_for_update(skip_locked=True)
_CLAIM = (
    sa.update(jobs)
    .where(*_THIS, _DUE)
    .values(lease_owner=sa.bindparam("owner"), lease_until=sa.bindparam("until"), attempt=jobs.c.attempt + 1)
)
_ATTEMPT = sa.select(jobs.c.attempt).where(*_THIS)
_FENCED = (*_THIS, jobs.c.lease_owner == sa.bindparam("b_owner"), jobs.c.attempt == sa.bindparam("b_attempt"))
_HOLDS = sa.select(jobs.c.document_id).where(*_FENCED)
_DONE = sa.delete(jobs).where(*_FENCED)
_LATER = (
    sa.update(jobs)
    .where(*_FENCED)
    .values(run_at=sa.bindparam("later"), reason=sa.bindparam("why"), lease_owner=None, lease_until=None)
)


class DocumentQueue:
    """What `ports.documents.Documents` says of waiting documents, over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects, *, writing: bool) -> None:
        self._connection = connection
        self._run = connection.execute
        self._effects = effects
        self._holds = _HOLDS.with_for_update() if writing else _HOLDS
        self._locks = writing

    def plan(self, tenant: str, document_id: UUID, *, now: datetime) -> bool:
        """The document waits for vectors; False if it waited already: then it waits from now on."""
        self._effects.planned = True
        row = {"tenant_id": tenant, "document_id": document_id, "run_at": now, "attempt": 0, "created_at": now}
        if self._run(_INSERT[self._connection.dialect.name], row).rowcount:
            return True
        self._run(_AGAIN, {"b_tenant": tenant, "b_id": document_id, "now": now})
        return False

    def due(self, *, now: datetime, lease_seconds: float, limit: int) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of documents of all tenants that somebody could take on, fair between tenants."""
        turn = sa.func.row_number().over(partition_by=jobs.c.tenant_id, order_by=(jobs.c.run_at, jobs.c.document_id))
        ranked = sa.select(jobs.c.tenant_id, jobs.c.document_id, jobs.c.run_at, turn.label("place")).where(_DUE)
        waiting = ranked.subquery()
        fair = (
            sa.select(waiting.c.tenant_id, waiting.c.document_id)
            .order_by(waiting.c.place, waiting.c.run_at, waiting.c.tenant_id)
            .limit(limit)
        )
        rows = self._run(fair, _clock(now, lease_seconds))
        return [(row.tenant_id, row.document_id) for row in rows]

    def due_count(self, *, now: datetime | None) -> int:
        """How many documents of all tenants wait: due at `now`, or being worked on; None: at any time."""
        query = sa.select(sa.func.count()).select_from(jobs)
        if now is not None:
            query = query.where(sa.or_(jobs.c.lease_until.is_not(None), jobs.c.run_at <= now))
        return int(self._run(query).scalar_one())

    def claim(
        self, tenant: str, document_id: UUID, *, owner: str, now: datetime, lease_seconds: float
    ) -> DocumentLease | None:
        """Take it on, if it waits and nobody else has."""
        this = {"b_tenant": tenant, "b_id": document_id}
        if self._locks and self._run(_NOT_HELD, this).first() is None:
            return None
        until = now + timedelta(seconds=lease_seconds)
        if not self._run(_CLAIM, {**this, "owner": owner, "until": until, **_clock(now, lease_seconds)}).rowcount:
            return None
        return DocumentLease(document_id, owner, int(self._run(_ATTEMPT, this).scalar_one()))

    def holds(self, tenant: str, lease: DocumentLease) -> bool:
        """Whether it is still ours."""
        return self._run(self._holds, _fence(tenant, lease)).first() is not None

    def done(self, tenant: str, lease: DocumentLease) -> bool:
        """It waits no more; False if it is not ours."""
        return self._run(_DONE, _fence(tenant, lease)).rowcount > 0

    def later(self, tenant: str, lease: DocumentLease, *, run_at: datetime, reason: str) -> bool:
        """Give it back for later; False if it is not ours."""
        return self._run(_LATER, {**_fence(tenant, lease), "later": run_at, "why": reason}).rowcount > 0


def _fence(tenant: str, lease: DocumentLease) -> dict[str, Any]:
    return {"b_tenant": tenant, "b_id": lease.document_id, "b_owner": lease.owner, "b_attempt": lease.attempt}


def _clock(now: datetime, lease_seconds: float) -> dict[str, datetime]:
    return {"now": now, "horizon": now + timedelta(seconds=2 * lease_seconds)}
