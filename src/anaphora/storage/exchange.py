"""Whole sessions out of the database, row by row, a page at a time; `storage.restore` is the way back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.fact_records import ChunkRecord
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.records import (
    MessageRecord,
    MoveRecord,
    NotedRecord,
    PointRecord,
    ReceiptRecord,
    StateRecord,
    StructureRecord,
    SummaryRecord,
    VersionRecord,
)
from anaphora.domain.summaries import Summary, SummaryStatus
from anaphora.domain.topic_records import TopicRecord
from anaphora.ports.exchange import Kept, Scope
from anaphora.ports.rows import SessionRow
from anaphora.storage.document_exchange import SqlDumpDocuments
from anaphora.storage.fact_exchange import SqlDumpFacts, of_sessions
from anaphora.storage.laws import of_session
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.notepad_exchange import SqlDumpPages
from anaphora.storage.order import by_code_points
from anaphora.storage.restore import SqlRestore
from anaphora.storage.summary_rows import SUMMARY_COLUMNS, with_points
from anaphora.storage.tables import (
    head_moves,
    message_versions,
    messages,
    receipts,
    sessions,
    summaries,
    summary_states,
)
from anaphora.storage.topic_exchange import dump_topics

#: messages that are in memory at once
_MESSAGES = 200
#: versions that are in memory at once
_SUMMARIES = 50
_MOVES = 1000

_STATUSES = {status.value: at for at, status in enumerate(SummaryStatus)}

_TENANT, _UID = sa.bindparam("tenant", type_=sa.Text), sa.bindparam("uid", type_=sa.Uuid)
_START, _STOP = sa.bindparam("start", type_=sa.Integer), sa.bindparam("stop", type_=sa.Integer)
_NAME, _AFTER = sa.bindparam("name", type_=sa.Text), sa.bindparam("after", type_=sa.Integer)
_PAGE = (
    sa.select(*MESSAGE_COLUMNS, messages.c.appended_at)
    .where(
        messages.c.tenant_id == _TENANT,
        messages.c.session_uid == _UID,
        messages.c.seq >= _START,
        messages.c.seq < _STOP,
    )
    .order_by(messages.c.seq)
)
_VERSIONS = (
    sa.select(*(column for column in message_versions.columns if column.name not in {"tenant_id", "session_uid"}))
    .where(
        message_versions.c.tenant_id == _TENANT,
        message_versions.c.session_uid == _UID,
        message_versions.c.seq >= _START,
        message_versions.c.seq < _STOP,
    )
    .order_by(message_versions.c.seq, message_versions.c.version)
)
_STRATEGIES = (
    sa.select(summaries.c.strategy).where(summaries.c.tenant_id == _TENANT, summaries.c.session_uid == _UID).distinct()
)
_CHAIN = (
    sa.select(*SUMMARY_COLUMNS)
    .where(
        summaries.c.tenant_id == _TENANT,
        summaries.c.session_uid == _UID,
        summaries.c.strategy == _NAME,
        summaries.c.version > _AFTER,
    )
    .order_by(summaries.c.version)
    .limit(_SUMMARIES)
)
_STATES = sa.select(summary_states).where(
    summary_states.c.tenant_id == _TENANT, summary_states.c.summary_id.in_(sa.bindparam("ids", expanding=True))
)
_READERS = (
    sa.select(head_moves.c.reader).where(head_moves.c.tenant_id == _TENANT, head_moves.c.session_uid == _UID).distinct()
)
_MOVED = (
    sa.select(head_moves)
    .where(
        head_moves.c.tenant_id == _TENANT,
        head_moves.c.session_uid == _UID,
        head_moves.c.reader == _NAME,
        head_moves.c.number > _AFTER,
    )
    .order_by(head_moves.c.number)
    .limit(_MOVES)
)


class SqlExchange(SqlDumpFacts, SqlDumpPages, SqlDumpDocuments, SqlRestore):
    """`ports.exchange.Exchange` over one transaction."""

    def keys(self, scope: Scope, *, after: SessionKey | None, limit: int) -> Sequence[SessionKey]:
        """Sessions in the order of user, agent and name, by code points, behind `after`."""
        place = [by_code_points(column, self._connection.dialect.name) for column in _names()]
        query = (
            sa.select(*_names())
            .where(*of_sessions(scope), sessions.c.expired_at.is_(None))
            .order_by(*place)
            .limit(limit)
        )
        if after is not None:
            names = (sa.literal(name) for name in (after.user, after.agent, after.session))
            query = query.where(sa.tuple_(*place) > sa.tuple_(*names))
        return [
            SessionKey(tenant=scope.tenant, user=user, agent=agent, session=session)
            for user, agent, session in self._connection.execute(query)
        ]

    def log(self, row: SessionRow) -> Iterator[MessageRecord | VersionRecord]:
        """Every message in order, tombstones too, each before its earlier versions; read a page at a time."""
        for start in range(0, row.head, _MESSAGES):
            span = {"start": start, "stop": min(start + _MESSAGES, row.head)}
            where = {"tenant": row.key.tenant, "uid": row.id, **span}
            page = [_message(line) for line in self._connection.execute(_PAGE, where)]
            earlier: dict[int, list[VersionRecord]] = defaultdict(list)
            if any(message.version > 1 for message in page):
                for line in self._connection.execute(_VERSIONS, where).mappings():
                    earlier[line["seq"]].append(VersionRecord.model_construct(record="version", **line))
            for message in page:
                yield message
                yield from earlier[message.seq]

    def derived(self, row: SessionRow) -> Iterator[SummaryRecord | ChunkRecord | TopicRecord | MoveRecord]:
        """Every version of every strategy, every chunk, topic and move of a reader, in order; a page at a time."""
        where = {"tenant": row.key.tenant, "uid": row.id}
        for strategy in sorted(self._connection.execute(_STRATEGIES, where).scalars()):
            yield from self._chain({**where, "name": strategy})
        yield from self._chunks(row)
        yield from dump_topics(self._connection, row)
        for reader in sorted(self._connection.execute(_READERS, where).scalars()):
            yield from self._moves({**where, "name": reader})

    def receipts(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[Kept]:
        """Receipts in the order of their ids, behind `after`; those of older epochs too."""
        query = (
            sa.select(receipts, sessions.c.user_id, sessions.c.agent_id, sessions.c.session_id)
            .join(sessions, of_session(receipts))
            .where(receipts.c.tenant_id == scope.tenant, *of_sessions(scope))
            .order_by(receipts.c.id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(receipts.c.id > after)
        return [_kept(line) for line in self._connection.execute(query)]

    def _chain(self, where: Mapping[str, Any]) -> Iterator[SummaryRecord]:
        after = 0
        while True:
            lines = self._connection.execute(_CHAIN, {**where, "after": after}).all()
            found = with_points(self._connection, where["tenant"], lines)
            if not found:
                return
            states: dict[UUID, list[StateRecord]] = defaultdict(list)
            ids = {"tenant": where["tenant"], "ids": [summary.id for summary in found]}
            for line in self._connection.execute(_STATES, ids):
                state = StateRecord.of(line, status=SummaryStatus(line.status))
                states[line.summary_id].append(state)
            yield from (_summary(summary, states[summary.id]) for summary in found)
            after = found[-1].version

    def _moves(self, where: Mapping[str, Any]) -> Iterator[MoveRecord]:
        after = 0
        while True:
            lines = self._connection.execute(_MOVED, {**where, "after": after}).all()
            if not lines:
                return
            for line in lines:
                yield MoveRecord.of(line, record="move")
            after = lines[-1].number


def _names() -> tuple[sa.Column[str], sa.Column[str], sa.Column[str]]:
    return sessions.c.user_id, sessions.c.agent_id, sessions.c.session_id


def _message(line: Any) -> MessageRecord:  # noqa: ANN401 - a row of _PAGE
    *columns, appended_at = line
    message = message_from(columns)
    return MessageRecord.of(
        message,
        record="message",
        parts=[dict(part) for part in message.parts],
        metadata=dict(message.metadata),
        appended_at=appended_at,
    )


def _summary(summary: Summary, states: Sequence[StateRecord]) -> SummaryRecord:
    return SummaryRecord.of(
        summary,
        record="summary",
        points=[PointRecord.of(point, elided=list(point.elided)) for point in summary.points],
        structure=_structure(summary),
        states=sorted(states, key=lambda state: _STATUSES[state.status]),
    )


def _structure(summary: Summary) -> StructureRecord:
    lists = summary.structure.lists().items()
    return StructureRecord(**{name: [NotedRecord.of(entry) for entry in entries] for name, entries in lists})


def _kept(line: Any) -> Kept:  # noqa: ANN401 - a receipt with the names of its session
    receipt = ReceiptRecord.model_construct(
        record="receipt",
        id=line.id,
        user=line.user_id,
        agent=line.agent_id,
        session=line.session_id,
        range=SeqRange(line.start, line.stop),
        created_at=line.created_at,
    )
    return Kept(session_id=line.session_uid, epoch=line.epoch, receipt=receipt)
