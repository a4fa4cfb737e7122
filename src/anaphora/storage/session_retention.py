"""Sessions that are out of sight: they keep everything, and nothing finds it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.messages import Trust
from anaphora.ports.rows import SessionRow
from anaphora.storage.effects import Effects
from anaphora.storage.fact_tables import fact_sources, facts
from anaphora.storage.session_rows import SESSION_COLUMNS, session_row
from anaphora.storage.tables import sessions

_LIVING = fact_sources.alias("living")


class SqlExpiry:
    """The part of `ports.store.Sessions` that lets sessions expire, over one transaction."""

    _connection: sa.Connection
    _effects: Effects

    def longest_unused(
        self, tenant: str, *, before: datetime | None, after: SessionRow | None, limit: int
    ) -> Sequence[SessionRow]:
        """Sessions in sight that were last used before that, or have a time of their own, the longest unused first."""
        own = sessions.c.keep_days.is_not(None)
        meant = own if before is None else sa.or_(own, sessions.c.updated_at <= before)
        query = sa.select(*SESSION_COLUMNS).where(
            sessions.c.tenant_id == tenant, sessions.c.expired_at.is_(None), meant
        )
        if after is not None:
            place = sa.tuple_(sessions.c.updated_at, sessions.c.id)
            types = (sessions.c.updated_at.type, sessions.c.id.type)
            query = query.where(place > sa.tuple_(after.updated_at, after.id, types=types))
        return self._rows(query.order_by(sessions.c.updated_at, sessions.c.id).limit(limit))

    def expired(self, tenant: str, *, limit: int, user: str | None = None, first: bool = False) -> Sequence[SessionRow]:
        """Sessions out of sight, of one user or of all, the last that expired first; with `first`, the first."""
        query = sa.select(*SESSION_COLUMNS).where(sessions.c.tenant_id == tenant, sessions.c.expired_at.is_not(None))
        if user is not None:
            query = query.where(sessions.c.user_id == user)
        order = (sessions.c.expired_at, sessions.c.id)
        return self._rows(query.order_by(*(order if first else (each.desc() for each in order))).limit(limit))

    def keep_for(self, tenant: str, session_id: UUID, days: float | None) -> None:
        """Note after how many silent days the session expires; None: after those of its agent."""
        self._connection.execute(sa.update(sessions).where(*_this(tenant, session_id)).values(keep_days=days))

    def expire(self, row: SessionRow, *, now: datetime) -> None:
        """Put a session out of sight, and the facts that only sessions out of sight have told."""
        tenant = row.key.tenant
        self._touch(row)
        self._connection.execute(sa.update(sessions).where(*_this(tenant, row.id)).values(expired_at=now))
        in_sight = (
            sa.select(sa.literal(1))
            .join(sessions, (sessions.c.tenant_id == _LIVING.c.tenant_id) & (sessions.c.id == _LIVING.c.session_uid))
            .where(
                _LIVING.c.tenant_id == facts.c.tenant_id,
                _LIVING.c.fact_id == facts.c.id,
                sessions.c.expired_at.is_(None),
            )
            .exists()
        )
        told = sa.update(facts).where(*_told_by(row), facts.c.trust != Trust.OWNER_CONFIRMED.value, ~in_sight)
        self._connection.execute(told.values(expired_at=now))

    def revive(self, row: SessionRow, *, now: datetime | None = None) -> None:
        """Bring a session back into sight, with what it has told; `now`: as if it had been used then."""
        self._touch(row)
        values = {"expired_at": None} if now is None else {"expired_at": None, "updated_at": now}
        self._connection.execute(sa.update(sessions).where(*_this(row.key.tenant, row.id)).values(**values))
        self._connection.execute(sa.update(facts).where(*_told_by(row)).values(expired_at=None))

    def _touch(self, row: SessionRow) -> None:
        for kind in (ChangeKind.MESSAGES, ChangeKind.FACTS):
            self._effects.touch(row.key.tenant, row.key.user, kind, row.id)

    def _rows(self, query: sa.Select[Any]) -> Sequence[SessionRow]:
        return [session_row(row) for row in self._connection.execute(query)]


def _told_by(row: SessionRow) -> tuple[sa.ColumnElement[bool], ...]:
    told = sa.select(fact_sources.c.fact_id).where(
        fact_sources.c.tenant_id == row.key.tenant, fact_sources.c.session_uid == row.id
    )
    return facts.c.tenant_id == row.key.tenant, facts.c.id.in_(told)


def _this(tenant: str, session_id: UUID) -> tuple[sa.ColumnElement[bool], ...]:
    return sessions.c.tenant_id == tenant, sessions.c.id == session_id
