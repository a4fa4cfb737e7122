"""Versions of summaries, their points, and the heads of the readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.summaries import Summary, SummaryStatus
from anaphora.ports.rows import Head, SessionRow
from anaphora.storage.effects import Effects
from anaphora.storage.keyed import by_keys
from anaphora.storage.moves import Moves
from anaphora.storage.summary_rows import SUMMARY_COLUMNS, with_points
from anaphora.storage.tables import heads, messages, points, sessions, summaries
from anaphora.storage.types import AnyRow
from anaphora.storage.upsert import insert_if_absent

_TENANT = summaries.c.tenant_id == sa.bindparam("tenant")
_OF_STRATEGY = (
    _TENANT,
    summaries.c.session_uid == sa.bindparam("uid"),
    summaries.c.strategy == sa.bindparam("strategy"),
)
_GET = sa.select(*SUMMARY_COLUMNS).where(_TENANT, summaries.c.id == sa.bindparam("summary"))
_BASE_FOR = (
    sa.select(*SUMMARY_COLUMNS)
    .where(
        *_OF_STRATEGY,
        summaries.c.status == SummaryStatus.COMPLETED.value,
        summaries.c.stop <= sa.bindparam("at_most", type_=sa.Integer),
    )
    .order_by(summaries.c.version.desc())
    .limit(1)
)
_HIGHEST = sa.select(sa.func.coalesce(sa.func.max(summaries.c.version), 0)).where(*_OF_STRATEGY)
_INSERT = sa.insert(summaries)
_INSERT_POINTS = sa.insert(points)

_THIS_HEAD = (
    heads.c.tenant_id == sa.bindparam("b_tenant"),
    heads.c.session_uid == sa.bindparam("b_uid"),
    heads.c.reader == sa.bindparam("b_reader"),
)


def head_columns(tenant: sa.ColumnElement[str]) -> Sequence[sa.ColumnElement[Any]]:
    """What `head_from` reads of `heads`, and how large the version is that a head serves.

    Args:
        tenant: whose heads they are; as a parameter it lets a sharded server ask one shard alone.

    """
    served = (
        sa.select(summaries.c.tokens)
        .where(summaries.c.tenant_id == tenant, summaries.c.id == heads.c.summary_id)
        .scalar_subquery()
    )
    return (heads.c.position, heads.c.summary_id, heads.c.aim, heads.c.tokens, heads.c.seen, served)


_HEAD = sa.select(*head_columns(sa.bindparam("b_tenant"))).where(*_THIS_HEAD)
#: a head and the version that it serves, at once: every prompt asks for both
_SERVED = (
    sa.select(
        *SUMMARY_COLUMNS,
        heads.c.position,
        heads.c.summary_id,
        heads.c.aim,
        heads.c.tokens.label("gone_over"),
        heads.c.seen,
    )
    .select_from(
        heads.outerjoin(
            summaries, (summaries.c.tenant_id == sa.bindparam("b_tenant")) & (summaries.c.id == heads.c.summary_id)
        )
    )
    .where(*_THIS_HEAD)
)
_HEAD_KEY = (heads.c.tenant_id, heads.c.session_uid, heads.c.reader)
HEADS_BY_KEY = {
    dialect: by_keys((*_HEAD_KEY, *head_columns(tenant)), _HEAD_KEY)[dialect]
    for dialect, tenant in (("sqlite", heads.c.tenant_id), ("postgresql", sa.bindparam("keys_tenant")))
}
#: of the messages from `start` on and before `stop`; those that were deleted have none
_TOKENS_BETWEEN = sa.select(sa.func.coalesce(sa.func.sum(messages.c.tokens), 0)).where(
    messages.c.tenant_id == sa.bindparam("tenant"),
    messages.c.session_uid == sa.bindparam("uid"),
    messages.c.seq >= sa.bindparam("start", type_=sa.Integer),
    messages.c.seq < sa.bindparam("stop", type_=sa.Integer),
)
_MOVE_HEAD = (
    sa.update(heads)
    .where(
        *_THIS_HEAD,
        heads.c.position == sa.bindparam("old_position", type_=sa.Integer),
        heads.c.summary_id.is_not_distinct_from(sa.bindparam("old_summary", type_=sa.Uuid)),
    )
    .values(
        position=sa.bindparam("position"),
        summary_id=sa.bindparam("summary_id"),
        updated_at=sa.bindparam("now"),
        aim=sa.bindparam("aim"),
        tokens=sa.bindparam("tokens"),
        seen=sa.bindparam("seen"),
    )
)
_FIRST_HEAD = insert_if_absent(heads)
_DROP_HEAD = sa.delete(heads).where(*_THIS_HEAD)


class SqlSummaries:
    """`ports.store.Summaries` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._connection = connection
        self._effects = effects
        self._moves = Moves(connection)

    def head(self, tenant: str, session_id: UUID, reader: str) -> Head:
        """How far the reader is; the start if it never ran."""
        row = self._connection.execute(
            _HEAD, {"b_tenant": tenant, "b_uid": session_id, "b_reader": reader}
        ).one_or_none()
        return head_from(row) if row is not None else Head()

    def served(self, tenant: str, session_id: UUID, reader: str) -> tuple[Head, Summary | None]:
        """The head, and the version that it serves."""
        row = self._connection.execute(
            _SERVED, {"b_tenant": tenant, "b_uid": session_id, "b_reader": reader}
        ).one_or_none()
        if row is None:
            return Head(), None
        head = head_from((row.position, row.summary_id, row.aim, row.gone_over, row.seen, row.tokens))
        return head, None if row.id is None else self._with_points(tenant, (row,))[0]

    def move_head(
        self, row: SessionRow, reader: str, *, old: Head, new: Head, now: datetime, counts: bool = False
    ) -> bool:
        """Compare and swap, noted for `History`: False, and nothing changed, if the head is not `old` any more.

        With `counts`, the tokens of the messages that it went over are counted.
        """
        if not self._swap_head(row, reader, old=old, new=new, now=now, counts=counts):
            return False
        self._moves.moved(row, reader, new, now=now)
        return True

    def _counted(self, row: SessionRow, reader: str, old: Head, new: Head) -> int:
        """Tokens of the messages before the new place: those before the old one were counted, unless it never was."""
        before = self.head(row.key.tenant, row.id, reader)
        start, base = (old.position, before.tokens) if before.seen else (0, 0)
        low, high = min(start, new.position), max(start, new.position)
        if low == high:
            return base
        where = {"tenant": row.key.tenant, "uid": row.id, "start": low, "stop": high}
        between = int(self._connection.execute(_TOKENS_BETWEEN, where).scalar_one())
        return base + between if new.position > start else base - between

    def _swap_head(self, row: SessionRow, reader: str, *, old: Head, new: Head, now: datetime, counts: bool) -> bool:
        known = {
            "aim": new.aim,
            "tokens": self._counted(row, reader, old, new) if counts else 0,
            "seen": row.tokens if counts else 0,
        }
        moved = self._connection.execute(
            _MOVE_HEAD,
            {
                "b_tenant": row.key.tenant,
                "b_uid": row.id,
                "b_reader": reader,
                "old_position": old.position,
                "old_summary": old.summary_id,
                "position": new.position,
                "summary_id": new.summary_id,
                "now": now,
                **known,
            },
        ).rowcount
        if moved or old != Head():
            return bool(moved)
        inserted = self._connection.execute(
            _FIRST_HEAD[self._connection.dialect.name],
            {
                "tenant_id": row.key.tenant,
                "session_uid": row.id,
                "reader": reader,
                "position": new.position,
                "summary_id": new.summary_id,
                "updated_at": now,
                **known,
            },
        ).rowcount
        return bool(inserted)

    def drop_head(self, tenant: str, session_id: UUID, reader: str) -> None:
        """Forget a reader and where it ever was."""
        self._moves.forget(tenant, session_id, reader)
        self._connection.execute(_DROP_HEAD, {"b_tenant": tenant, "b_uid": session_id, "b_reader": reader})

    def get(self, tenant: str, summary_id: UUID) -> Summary | None:
        """A version with its points."""
        found = self._with_points(tenant, self._connection.execute(_GET, {"tenant": tenant, "summary": summary_id}))
        return found[0] if found else None

    def chain(
        self, tenant: str, session_id: UUID, *, strategy: str, limit: int, before: int | None = None
    ) -> Sequence[Summary]:
        """Versions, newest first; with `before`, those with a smaller version number."""
        query = sa.select(*SUMMARY_COLUMNS).where(*_OF_STRATEGY)
        if before is not None:
            query = query.where(summaries.c.version < before)
        rows = self._connection.execute(
            query.order_by(summaries.c.version.desc()).limit(limit),
            {"tenant": tenant, "uid": session_id, "strategy": strategy},
        )
        return self._with_points(tenant, rows)

    def base_for(self, tenant: str, session_id: UUID, *, strategy: str, stop: int) -> Summary | None:
        """The newest completed version that ends at or before `stop`."""
        rows = self._connection.execute(
            _BASE_FOR, {"tenant": tenant, "uid": session_id, "strategy": strategy, "at_most": stop}
        )
        found = self._with_points(tenant, rows)
        return found[0] if found else None

    def next_version(self, tenant: str, session_id: UUID, strategy: str) -> int:
        """One more than the highest version number."""
        highest = self._connection.execute(
            _HIGHEST, {"tenant": tenant, "uid": session_id, "strategy": strategy}
        ).scalar_one()
        return int(highest) + 1

    def insert(self, row: SessionRow, summary: Summary, *, now: datetime) -> None:
        """Store a version with its points."""
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.SUMMARY, row.id)
        tenant = row.key.tenant
        self._connection.execute(
            _INSERT,
            {
                "tenant_id": tenant,
                "id": summary.id,
                "session_uid": row.id,
                "strategy": summary.strategy,
                "version": summary.version,
                "base_id": summary.base_id,
                "start": summary.range.start,
                "stop": summary.range.stop,
                "status": summary.status.value,
                "method": summary.method.value,
                "model": summary.model,
                "prompt_version": summary.prompt_version,
                "trust": summary.trust.value,
                "tokens": summary.tokens,
                "generation_ms": summary.generation_ms,
                "epoch": row.epoch,
                "created_at": summary.created_at,
                "expires_at": None,
                "structure": summary.structure.to_dict(),
            },
        )
        self._connection.execute(
            _INSERT_POINTS,
            [
                {
                    "tenant_id": tenant,
                    "summary_id": summary.id,
                    "ordinal": ordinal,
                    "start": point.range.start,
                    "stop": point.range.stop,
                    "text": point.text,
                    "elided": [[gap.start, gap.stop] for gap in point.elided],
                    "method": point.method.value,
                    "tokens": point.tokens,
                }
                for ordinal, point in enumerate(summary.points)
            ],
        )
        self._moves.reached(row, summary.id, summary.status, now=now)

    def mark_stale(self, row: SessionRow, seq: int, *, now: datetime) -> int:
        """Completed versions whose range holds the message become stale, whatever their strategy; how many."""
        holds = (summaries.c.start <= seq, summaries.c.stop > seq)
        return self._set_status(row, (SummaryStatus.COMPLETED,), SummaryStatus.STALE, *holds, now=now)

    def replace_chain(self, row: SessionRow, *, strategy: str, after_version: int, now: datetime) -> None:
        """Versions after that one: completed and stale ones become superseded, building ones completed."""
        newer = (summaries.c.strategy == strategy, summaries.c.version > after_version)
        served = (SummaryStatus.COMPLETED, SummaryStatus.STALE)
        self._set_status(row, served, SummaryStatus.SUPERSEDED, *newer, now=now)
        self._set_status(row, (SummaryStatus.BUILDING,), SummaryStatus.COMPLETED, *newer, now=now)

    def drop_building(self, row: SessionRow, *, strategy: str, now: datetime) -> None:
        """Building versions become superseded: the rebuild was given up."""
        of_strategy = summaries.c.strategy == strategy
        self._set_status(row, (SummaryStatus.BUILDING,), SummaryStatus.SUPERSEDED, of_strategy, now=now)

    def _set_status(
        self,
        row: SessionRow,
        old: Sequence[SummaryStatus],
        new: SummaryStatus,
        *which: sa.ColumnElement[bool],
        now: datetime,
    ) -> int:
        these = (
            summaries.c.tenant_id == row.key.tenant,
            summaries.c.session_uid == row.id,
            summaries.c.status.in_([status.value for status in old]),
            *which,
        )
        self._moves.all_reached(row, these, new, now=now)
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.SUMMARY, row.id)
        return self._connection.execute(sa.update(summaries).where(*these).values(status=new.value)).rowcount

    def stats(self, tenant: str, *, user: str | None = None) -> Mapping[str, Any]:
        """`count`, `avg_ms`, `max_ms` of the versions that took measurable time, and `by_method`."""
        timed = sa.case((summaries.c.generation_ms > 0, summaries.c.generation_ms))
        query = sa.select(
            summaries.c.method, sa.func.count(), sa.func.count(timed), sa.func.sum(timed), sa.func.max(timed)
        ).where(summaries.c.tenant_id == tenant)
        if user is not None:
            owned = (sessions.c.tenant_id == summaries.c.tenant_id) & (sessions.c.id == summaries.c.session_uid)
            query = query.join(sessions, owned).where(sessions.c.user_id == user)
        rows = self._connection.execute(query.group_by(summaries.c.method)).all()
        count = sum(row[2] for row in rows)
        return {
            "count": count,
            "avg_ms": sum(float(row[3] or 0) for row in rows) / count if count else 0.0,
            "max_ms": max((row[4] or 0 for row in rows), default=0),
            "by_method": {row[0]: row[1] for row in rows},
        }

    def _with_points(self, tenant: str, rows: Iterable[AnyRow]) -> Sequence[Summary]:
        return with_points(self._connection, tenant, rows)


def head_from(row: Sequence[Any]) -> Head:
    """The head in a row of `head_columns`."""
    position, summary_id, aim, tokens, seen, of_version = row
    return Head(
        position=position, summary_id=summary_id, aim=aim, tokens=tokens, seen=seen, summary_tokens=of_version or 0
    )
