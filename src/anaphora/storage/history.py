"""The past of a session, read back from what each change noted.

A change had happened by a moment if the log was not longer then, and, where the moment is named by a time, if it is
not later. So what is named by a number is exact; what is named by a time is as good as the clock was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.keys import SeqRange, subtract
from anaphora.domain.messages import Message
from anaphora.domain.moments import AsOf, Moment
from anaphora.domain.plans import TAIL_TURNS
from anaphora.domain.summaries import Summary, SummaryStatus
from anaphora.errors import InvalidInput
from anaphora.ports.rows import Head, SessionRow
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.summary_rows import SUMMARY_COLUMNS, with_points
from anaphora.storage.tables import head_moves, message_versions, messages, summaries, summary_states

_TENANT, _UID = sa.bindparam("tenant", type_=sa.Text), sa.bindparam("uid", type_=sa.Uuid)
_START, _STOP = sa.bindparam("start", type_=sa.Integer), sa.bindparam("stop", type_=sa.Integer)
_OF_SESSION = (messages.c.tenant_id == _TENANT, messages.c.session_uid == _UID)
_AT = (*_OF_SESSION, messages.c.seq == sa.bindparam("seq", type_=sa.Integer))
_APPENDED_AT = sa.select(messages.c.appended_at).where(*_AT)
_TURN = sa.select(messages.c.turn).where(*_AT)
_TOKENS = sa.select(sa.func.coalesce(sa.func.sum(messages.c.tokens), 0)).where(*_OF_SESSION, messages.c.seq < _STOP)
_TURNS = sa.select(sa.func.count()).where(*_OF_SESSION, messages.c.seq < _STOP, messages.c.turn == messages.c.seq)
_NEWEST = (
    sa.select(*MESSAGE_COLUMNS)
    .where(*_OF_SESSION, messages.c.seq >= _START, messages.c.seq < _STOP)
    .order_by(messages.c.seq.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_RANGE = (
    sa.select(*MESSAGE_COLUMNS)
    .where(*_OF_SESSION, messages.c.seq >= _START, messages.c.seq < _STOP)
    .order_by(messages.c.seq)
)
_VERSION_COLUMNS = (
    message_versions.c.seq,
    message_versions.c.version,
    message_versions.c.name,
    message_versions.c.content,
    message_versions.c.parts,
    message_versions.c["metadata"],
    message_versions.c.tokens,
    message_versions.c.changed_at,
)
_VERSIONS = (
    sa.select(*_VERSION_COLUMNS)
    .where(
        message_versions.c.tenant_id == _TENANT,
        message_versions.c.session_uid == _UID,
        message_versions.c.seq >= _START,
        message_versions.c.seq < _STOP,
    )
    .order_by(message_versions.c.seq, message_versions.c.version)
)
#: order in which a version goes through its states
_ORDER: Mapping[str, int] = {status.value: at for at, status in enumerate(SummaryStatus)}


class SqlHistory:
    """`ports.store.History` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def moment(self, row: SessionRow, as_of: AsOf) -> Moment | None:
        """The moment that is meant; None if that is now. A number beyond the log, or a naive time, is refused."""
        if isinstance(as_of, datetime):
            if as_of.utcoffset() is None:
                raise InvalidInput("as_of must be a number of messages or a time with a time zone")
            return Moment(head=self._head_at(row, as_of), at=as_of)
        if isinstance(as_of, bool) or not 0 <= as_of <= row.head:
            raise InvalidInput(f"as_of must be between 0 and {row.head}, the number of messages, or a time")
        return None if as_of == row.head else Moment(head=as_of)

    def session(self, row: SessionRow, moment: Moment) -> SessionRow:
        """The session as it was: its head, turns, tokens, and what was deleted of it."""
        where = {"tenant": row.key.tenant, "uid": row.id, "stop": moment.head, "start": 0}
        later = list(self._later(where, moment))
        undeleted = [SeqRange(seq, seq + 1) for seq, _, _, was_deleted in later if was_deleted]
        deleted = subtract((span.clip(SeqRange(0, moment.head)) for span in row.deleted), undeleted)
        tokens = self._connection.execute(_TOKENS, where).scalar_one()
        return replace(
            row,
            head=moment.head,
            turns=self._connection.execute(_TURNS, where).scalar_one(),
            turn_starts=tuple(reversed(list(self._turn_starts(row, moment.head)))),
            turn_finished=True,
            tokens=tokens + sum(was - now for _, was, now, _ in later),
            deleted=deleted,
            ended_at=None,
        )

    def newest(self, row: SessionRow, span: SeqRange, *, moment: Moment, limit: int) -> Sequence[Message]:
        """The last `limit` live messages of the range as they were, newest first."""
        found: list[Message] = []
        stop = span.stop
        while stop > span.start and len(found) < limit:
            where = {"tenant": row.key.tenant, "uid": row.id, "start": span.start, "stop": stop}
            page = [message_from(line) for line in self._connection.execute(_NEWEST, {**where, "most": limit})]
            if not page:
                break
            stop = page[-1].seq
            were = self._were(where | {"start": stop}, moment)
            as_they_were = (were(message) for message in page)
            found.extend(message for message in as_they_were if not message.deleted)
        return found[:limit]

    def versions(self, tenant: str, session_id: UUID, span: SeqRange) -> Sequence[Message]:
        """The earlier versions of the messages of the range, by message, oldest first."""
        where = {"tenant": tenant, "uid": session_id, "start": span.start, "stop": span.stop}
        current = {line.seq: message_from(line) for line in self._connection.execute(_RANGE, where)}
        return [_earlier(current[line.seq], line) for line in self._connection.execute(_VERSIONS, where)]

    def head(self, tenant: str, session_id: UUID, reader: str, *, moment: Moment) -> Head:
        """Where the reader was."""
        row = self._connection.execute(
            sa.select(head_moves.c.position, head_moves.c.summary_id)
            .where(
                head_moves.c.tenant_id == tenant,
                head_moves.c.session_uid == session_id,
                head_moves.c.reader == reader,
                _happened(head_moves.c.at, head_moves.c.log_head, moment),
            )
            .order_by(head_moves.c.number.desc())
            .limit(1)
        ).one_or_none()
        return Head(position=row.position, summary_id=row.summary_id) if row is not None else Head()

    def chain(
        self, tenant: str, session_id: UUID, *, strategy: str, moment: Moment, limit: int, before: int | None = None
    ) -> Sequence[Summary]:
        """The versions that there were, with the status that they had, newest first."""
        there = sa.exists().where(
            summary_states.c.tenant_id == summaries.c.tenant_id,
            summary_states.c.summary_id == summaries.c.id,
            _happened(summary_states.c.at, summary_states.c.log_head, moment),
        )
        query = sa.select(*SUMMARY_COLUMNS).where(
            summaries.c.tenant_id == tenant,
            summaries.c.session_uid == session_id,
            summaries.c.strategy == strategy,
            there,
        )
        if before is not None:
            query = query.where(summaries.c.version < before)
        rows = self._connection.execute(query.order_by(summaries.c.version.desc()).limit(limit))
        return self._as_they_were(tenant, with_points(self._connection, tenant, rows), moment)

    def summary(self, tenant: str, summary_id: UUID, *, moment: Moment) -> Summary | None:
        """A version with the status that it had; None if it was not there yet."""
        rows = self._connection.execute(
            sa.select(*SUMMARY_COLUMNS).where(summaries.c.tenant_id == tenant, summaries.c.id == summary_id)
        )
        found = self._as_they_were(tenant, with_points(self._connection, tenant, rows), moment)
        return found[0] if found else None

    def _head_at(self, row: SessionRow, time: datetime) -> int:
        """How many messages the log held: looked for by halves, since it is in the order of its commits."""
        low, high = 0, row.head
        while low < high:
            middle = (low + high) // 2
            where = {"tenant": row.key.tenant, "uid": row.id, "seq": middle}
            if self._connection.execute(_APPENDED_AT, where).scalar_one() <= time:
                low = middle + 1
            else:
                high = middle
        return low

    def _turn_starts(self, row: SessionRow, head: int) -> Iterator[int]:
        """The newest turns before the head, newest first."""
        for _ in range(TAIL_TURNS):
            if head <= 0:
                return
            head = self._connection.execute(
                _TURN, {"tenant": row.key.tenant, "uid": row.id, "seq": head - 1}
            ).scalar_one()
            yield head

    def _were(self, where: Mapping[str, Any], moment: Moment) -> _Were:
        return _Were({line.seq: line for line in self._connection.execute(_first_after(moment), where)})

    def _later(self, where: Mapping[str, Any], moment: Moment) -> Iterator[tuple[int, int, int, bool]]:
        """Messages that were changed after the moment: their tokens then and now, and whether they are deleted now."""
        then = _first_after(moment).subquery()
        last = _last_before_deletion(moment).subquery()
        rows = self._connection.execute(
            sa.select(then.c.seq, then.c.tokens, messages.c.tokens, last.c.seq.is_not(None))
            .join(messages, sa.and_(*_OF_SESSION, messages.c.seq == then.c.seq))
            .outerjoin(last, last.c.seq == then.c.seq),
            where,
        )
        yield from ((seq, was, now, bool(gone)) for seq, was, now, gone in rows)

    def _as_they_were(self, tenant: str, found: Sequence[Summary], moment: Moment) -> Sequence[Summary]:
        if not found:
            return []
        states: dict[UUID, list[str]] = defaultdict(list)
        query = sa.select(summary_states.c.summary_id, summary_states.c.status).where(
            summary_states.c.tenant_id == tenant,
            summary_states.c.summary_id.in_([summary.id for summary in found]),
            _happened(summary_states.c.at, summary_states.c.log_head, moment),
        )
        for summary_id, status in self._connection.execute(query):
            states[summary_id].append(status)
        return [
            replace(summary, status=SummaryStatus(max(states[summary.id], key=_ORDER.__getitem__)))
            for summary in found
            if summary.id in states
        ]


class _Were:
    """Messages as they were, by the versions that were current then."""

    def __init__(self, versions: Mapping[int, Any]) -> None:
        self._versions = versions

    def __call__(self, message: Message) -> Message:
        line = self._versions.get(message.seq)
        return message if line is None else _earlier(message, line)


def _earlier(message: Message, line: Any) -> Message:  # noqa: ANN401 - a row of _VERSION_COLUMNS
    return replace(
        message,
        version=line.version,
        name=line.name,
        content=line.content,
        parts=tuple(line.parts),
        metadata=line[5],
        tokens=line.tokens,
        changed_at=line.changed_at,
        deleted=False,
    )


def _happened(at: sa.ColumnElement[Any], log_head: sa.ColumnElement[Any], moment: Moment) -> sa.ColumnElement[bool]:
    not_longer = log_head <= moment.head
    return not_longer if moment.at is None else sa.and_(not_longer, at <= moment.at)


def _replaced_later(table: sa.FromClause, moment: Moment) -> sa.ColumnElement[bool]:
    return sa.not_(_happened(table.c.replaced_at, table.c.replaced_head, moment))


def _first_after(moment: Moment) -> sa.Select[Any]:
    """Of each message of a range that was changed after the moment: the version that was current at it."""
    earlier = message_versions.alias("earlier")
    sooner = sa.exists().where(
        earlier.c.tenant_id == message_versions.c.tenant_id,
        earlier.c.session_uid == message_versions.c.session_uid,
        earlier.c.seq == message_versions.c.seq,
        earlier.c.version < message_versions.c.version,
        _replaced_later(earlier, moment),
    )
    return _VERSIONS.where(_replaced_later(message_versions, moment), ~sooner)


def _last_before_deletion(moment: Moment) -> sa.Select[Any]:
    """The last words of those messages that were deleted after the moment."""
    return (
        sa.select(message_versions.c.seq)
        .join(
            messages,
            sa.and_(*_OF_SESSION, messages.c.seq == message_versions.c.seq, messages.c.deleted),
        )
        .where(
            message_versions.c.tenant_id == _TENANT,
            message_versions.c.session_uid == _UID,
            message_versions.c.seq < _STOP,
            message_versions.c.version == messages.c.version - 1,
            _replaced_later(message_versions, moment),
        )
    )
