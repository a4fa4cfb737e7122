"""Pauses over one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from anaphora.domain.pauses import Pause
from anaphora.storage.pause_tables import pauses
from anaphora.storage.types import AnyRow
from anaphora.storage.upsert import insert_if_absent

_THIS = (pauses.c.tenant_id == sa.bindparam("b_tenant"), pauses.c.user_id == sa.bindparam("b_user"))
_LASTS = pauses.c.ended_at.is_(None)
_LASTING = sa.select(pauses).where(*_THIS, _LASTS)
_BETWEEN = (
    sa.select(pauses)
    .where(
        *_THIS,
        pauses.c.started_at <= sa.bindparam("last"),
        sa.or_(_LASTS, pauses.c.ended_at > sa.bindparam("first")),
    )
    .order_by(pauses.c.started_at)
)
_BEGIN = insert_if_absent(pauses)
_END = sa.update(pauses).where(*_THIS, _LASTS).values(ended_at=sa.bindparam("b_now"))


class SqlPauses:
    """`ports.pauses.Pauses` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._run = connection.execute
        self._dialect = connection.dialect.name

    def lasting(self, tenant: str, user: str) -> Pause | None:
        """The user's pause that lasts, if one does."""
        row = self._run(_LASTING, {"b_tenant": tenant, "b_user": user}).one_or_none()
        return None if row is None else _pause(row)

    def between(self, tenant: str, user: str, first: datetime, last: datetime) -> Sequence[Pause]:
        """The user's pauses in which a moment between these two may lie, the earliest first."""
        found = self._run(_BETWEEN, {"b_tenant": tenant, "b_user": user, "first": first, "last": last})
        return [_pause(row) for row in found]

    def begin(self, tenant: str, user: str, *, now: datetime) -> None:
        """Let a pause begin; nothing if one lasts."""
        self._run(_BEGIN[self._dialect], {"tenant_id": tenant, "user_id": user, "started_at": now, "ended_at": None})

    def end(self, tenant: str, user: str, *, now: datetime) -> None:
        """Let the pause that lasts end; nothing if none does."""
        self._run(_END, {"b_tenant": tenant, "b_user": user, "b_now": now})


def _pause(row: AnyRow) -> Pause:
    return Pause(started_at=row.started_at, ended_at=row.ended_at)
