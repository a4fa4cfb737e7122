"""Noting what changed: where heads went and which states versions reached, each with the time and the log's length.

`storage.history` reads it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.summaries import SummaryStatus
from anaphora.ports.rows import Head, SessionRow
from anaphora.storage.tables import head_moves, summaries, summary_states
from anaphora.storage.upsert import insert_if_absent

_OF_READER = (
    head_moves.c.tenant_id == sa.bindparam("b_tenant"),
    head_moves.c.session_uid == sa.bindparam("b_uid"),
    head_moves.c.reader == sa.bindparam("b_reader"),
)
_LAST = sa.select(sa.func.coalesce(sa.func.max(head_moves.c.number), 0)).where(*_OF_READER)
_MOVED = sa.insert(head_moves)
_FORGET = sa.delete(head_moves).where(*_OF_READER)
_REACHED = insert_if_absent(summary_states)


class Moves:
    """What the repositories of one transaction note."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def moved(self, row: SessionRow, reader: str, head: Head, *, now: datetime) -> None:
        """The reader's head stands there now."""
        this = {"b_tenant": row.key.tenant, "b_uid": row.id, "b_reader": reader}
        number = self._connection.execute(_LAST, this).scalar_one() + 1
        self._connection.execute(
            _MOVED,
            {
                "tenant_id": row.key.tenant,
                "session_uid": row.id,
                "reader": reader,
                "number": number,
                "position": head.position,
                "summary_id": head.summary_id,
                "at": now,
                "log_head": row.head,
            },
        )

    def forget(self, tenant: str, session_id: UUID, reader: str) -> None:
        """Forget where a reader ever was."""
        self._connection.execute(_FORGET, {"b_tenant": tenant, "b_uid": session_id, "b_reader": reader})

    def reached(self, row: SessionRow, summary_id: UUID, status: SummaryStatus, *, now: datetime) -> None:
        """A version has this status now."""
        self._connection.execute(
            _REACHED[self._connection.dialect.name],
            {
                "tenant_id": row.key.tenant,
                "summary_id": summary_id,
                "status": status.value,
                "at": now,
                "log_head": row.head,
            },
        )

    def all_reached(
        self, row: SessionRow, which: Sequence[sa.ColumnElement[bool]], status: SummaryStatus, *, now: datetime
    ) -> None:
        """Every version for which that holds has this status from now on. Call it before the rows are changed."""
        state = summary_states.c
        reached = sa.select(
            summaries.c.tenant_id,
            summaries.c.id,
            sa.literal(status.value, type_=state.status.type),
            sa.literal(now, type_=state.at.type),
            sa.literal(row.head, type_=state.log_head.type),
        ).where(*which)
        names = [column.name for column in summary_states.columns]
        self._connection.execute(sa.insert(summary_states).from_select(names, reached))
