"""Rows of another store into this one, exactly as they were there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.fact_records import ChunkRecord
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import NewMessage
from anaphora.domain.records import MessageRecord, MoveRecord, SummaryRecord, VersionRecord
from anaphora.domain.structures import STRUCTURE_LISTS, Noted, Structure
from anaphora.domain.topic_records import TopicRecord
from anaphora.ports.exchange import Entry, Kept, Stamp
from anaphora.ports.rows import SessionRow, StoredReceipt
from anaphora.rules.passages import passages
from anaphora.storage.bulk import insert_bulk
from anaphora.storage.effects import Effects
from anaphora.storage.fact_restore import SqlRestoreFacts
from anaphora.storage.fact_tables import chunks
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.tables import (
    head_moves,
    heads,
    message_versions,
    messages,
    points,
    receipts,
    sessions,
    summaries,
    summary_states,
)
from anaphora.storage.topic_exchange import restore_topics
from anaphora.storage.topic_tables import topics
from anaphora.storage.upsert import insert_if_absent
from anaphora.storage.words import Indexed, Words

_SAVE = (
    sa.update(sessions)
    .where(sessions.c.tenant_id == sa.bindparam("b_tenant"), sessions.c.id == sa.bindparam("b_uid"))
    .values(
        strategy=sa.bindparam("strategy"),
        subject=sa.bindparam("subject"),
        head=sa.bindparam("head"),
        turns=sa.bindparam("turns"),
        turn_starts=sa.bindparam("turn_starts"),
        turn_finished=sa.bindparam("turn_finished"),
        tokens=sa.bindparam("tokens"),
        deleted=sa.bindparam("deleted"),
        created_at=sa.bindparam("created_at"),
        updated_at=sa.bindparam("updated_at"),
        ended_at=sa.bindparam("ended_at"),
    )
)
_STAMPS = (
    sa.select(messages.c.id, messages.c.version, messages.c.changed_at, messages.c.erased)
    .where(
        messages.c.tenant_id == sa.bindparam("tenant"),
        messages.c.session_uid == sa.bindparam("uid"),
        messages.c.seq >= sa.bindparam("start"),
        messages.c.seq < sa.bindparam("stop"),
    )
    .order_by(messages.c.seq)
)
_OF_MESSAGES = by_keys((messages.c.session_uid,), (messages.c.tenant_id, messages.c.id))
_OF_RECEIPTS = by_keys(
    (receipts.c.id, receipts.c.session_uid, receipts.c.start, receipts.c.stop, receipts.c.epoch),
    (receipts.c.tenant_id, receipts.c.id),
)
_NAMES = sa.select(sessions.c.user_id, sessions.c.agent_id, sessions.c.session_id).where(
    sessions.c.tenant_id == sa.bindparam("tenant"), sessions.c.id == sa.bindparam("uid")
)
_INSERT_MESSAGES = sa.insert(messages)
_INSERT_VERSIONS = sa.insert(message_versions)
_INSERT_SUMMARIES = sa.insert(summaries)
_INSERT_POINTS = sa.insert(points)
_INSERT_STATES = sa.insert(summary_states)
_INSERT_HEADS = sa.insert(heads)
_INSERT_MOVES = sa.insert(head_moves)
#: how many tokens lie before the heads of those readers that make versions
_BEFORE = (
    sa.select(sa.func.coalesce(sa.func.sum(messages.c.tokens), 0))
    .where(
        messages.c.tenant_id == heads.c.tenant_id,
        messages.c.session_uid == heads.c.session_uid,
        messages.c.seq < heads.c.position,
    )
    .scalar_subquery()
)
_COUNT = (
    sa.update(heads)
    .where(
        heads.c.tenant_id == sa.bindparam("b_tenant"),
        heads.c.session_uid == sa.bindparam("b_uid"),
        heads.c.summary_id.is_not(None),
    )
    .values(tokens=_BEFORE, seen=sa.bindparam("all", type_=sa.BigInteger))
)


_PUT_RECEIPTS = insert_if_absent(receipts)
#: those that were there before, if they are of this session. Not an upsert: tables of foreign partitions take none
_RENEW_RECEIPTS = (
    sa.update(receipts)
    .where(
        receipts.c.tenant_id == sa.bindparam("b_tenant"),
        receipts.c.id == sa.bindparam("b_id"),
        receipts.c.session_uid == sa.bindparam("b_session"),
    )
    .values(start=sa.bindparam("b_start"), stop=sa.bindparam("b_stop"), epoch=sa.bindparam("b_epoch"))
)


class SqlRestore(SqlRestoreFacts):
    """`ports.exchange.Restore` over one transaction."""

    def __init__(self, connection: sa.Connection, words: Words, effects: Effects) -> None:
        super().__init__(connection, effects)
        self._words = words

    def stamps(self, row: SessionRow, span: SeqRange) -> Sequence[Stamp]:
        """Of each message of the range, in order."""
        where = {"tenant": row.key.tenant, "uid": row.id, "start": span.start, "stop": span.stop}
        return [
            Stamp(id=uid, version=version, changed_at=changed_at, erased=erased)
            for uid, version, changed_at, erased in self._connection.execute(_STAMPS, where)
        ]

    def holder(self, tenant: str, ids: Iterable[UUID]) -> SessionKey | None:
        """A session that holds one of these messages, or None."""
        wanted = key_parameters((tenant, uid) for uid in ids)
        found = self._connection.execute(_OF_MESSAGES[self._connection.dialect.name], wanted).scalars().first()
        if found is None:
            return None
        user, agent, session = self._connection.execute(_NAMES, {"tenant": tenant, "uid": found}).one()
        return SessionKey(tenant=tenant, user=user, agent=agent, session=session)

    def save(self, row: SessionRow) -> None:
        """Write a session as it is given; it must exist."""
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.MESSAGES, row.id)
        self._connection.execute(
            _SAVE,
            {
                "b_tenant": row.key.tenant,
                "b_uid": row.id,
                "strategy": row.strategy,
                "subject": row.subject,
                "head": row.head,
                "turns": row.turns,
                "turn_starts": row.turn_starts,
                "turn_finished": row.turn_finished,
                "tokens": row.tokens,
                "deleted": [[span.start, span.stop] for span in row.deleted],
                "created_at": row.created_at,
                "updated_at": row.updated_at,
                "ended_at": row.ended_at,
            },
        )

    def add(self, row: SessionRow, entries: Sequence[Entry]) -> None:
        """Insert messages with their versions, and index their words. Their session is to be saved, too."""
        self._insert(_INSERT_MESSAGES, messages, [_message(row, entry.message) for entry in entries])
        earlier = [_version(row, version) for entry in entries for version in entry.versions]
        self._insert(_INSERT_VERSIONS, message_versions, earlier)
        self._words.add(
            [
                Indexed(
                    key=row.key,
                    session_id=row.id,
                    seq=entry.message.seq,
                    passages=_passages(entry.message),
                )
                for entry in entries
                if not entry.message.deleted
            ]
        )

    def is_bare(self, row: SessionRow) -> bool:
        """True if nothing was derived from the session's messages."""
        made = sa.union_all(
            *(
                sa.select(sa.literal(1)).where(table.c.tenant_id == row.key.tenant, table.c.session_uid == row.id)
                for table in (summaries, chunks, topics, head_moves)
            )
        )
        return self._connection.execute(made.limit(1)).first() is None

    def derive(
        self,
        row: SessionRow,
        chain: Sequence[SummaryRecord],
        parts: Sequence[ChunkRecord],
        segments: Sequence[TopicRecord],
        moves: Sequence[MoveRecord],
    ) -> None:
        """Insert versions with their states, bases first; chunks; topics; and where each reader was and is."""
        self._insert(_INSERT_SUMMARIES, summaries, [_summary(row, summary) for summary in chain])
        self._insert(_INSERT_POINTS, points, [line for summary in chain for line in _points(row, summary)])
        self._insert(_INSERT_STATES, summary_states, [line for summary in chain for line in _states(row, summary)])
        self._add_chunks(row, parts)
        restore_topics(self._connection, row, segments)
        self._insert(_INSERT_MOVES, head_moves, list(_moves(row, moves)))
        last = {move.reader: move for move in moves}
        self._insert(_INSERT_HEADS, heads, [_head(row, move) for move in last.values()])
        self._connection.execute(_COUNT, {"b_tenant": row.key.tenant, "b_uid": row.id, "all": row.tokens})

    def first_changed(self, row: SessionRow, span: SeqRange) -> int | None:
        """The first message of the range that was ever edited or deleted, or None."""
        query = sa.select(sa.func.min(messages.c.seq)).where(
            messages.c.tenant_id == row.key.tenant,
            messages.c.session_uid == row.id,
            messages.c.seq >= span.start,
            messages.c.seq < span.stop,
            messages.c.version > 1,
        )
        found: int | None = self._connection.execute(query).scalar_one()
        return found

    def known_receipts(self, tenant: str, ids: Iterable[UUID]) -> Mapping[UUID, StoredReceipt]:
        """Those of the receipts that are there."""
        wanted = key_parameters((tenant, uid) for uid in ids)
        return {
            uid: StoredReceipt(session_id=session_id, range=SeqRange(start, stop), epoch=epoch)
            for uid, session_id, start, stop, epoch in self._connection.execute(
                _OF_RECEIPTS[self._connection.dialect.name], wanted
            )
        }

    def add_receipts(self, tenant: str, kept: Sequence[Kept]) -> None:
        """Insert receipts without keys; one that is there gets this range and epoch, if it is of this session."""
        lines = [
            {
                "tenant_id": tenant,
                "id": each.receipt.id,
                "session_uid": each.session_id,
                "start": each.receipt.range.start,
                "stop": each.receipt.range.stop,
                "idempotency_key": None,
                "body_hash": "",
                "epoch": each.epoch,
                "created_at": each.receipt.created_at,
            }
            for each in kept
        ]
        if lines:
            self._connection.execute(_PUT_RECEIPTS[self._connection.dialect.name], lines)
            same = {"tenant_id": "b_tenant", "id": "b_id", "session_uid": "b_session"}
            same |= {name: f"b_{name}" for name in ("start", "stop", "epoch")}
            renewed = [{new: line[old] for old, new in same.items()} for line in lines]
            self._connection.execute(_RENEW_RECEIPTS, renewed)

    def _insert(self, statement: sa.Insert, table: sa.Table, lines: Sequence[Mapping[str, Any]]) -> None:
        if lines:
            insert_bulk(self._connection, statement, table, lines)


def _message(row: SessionRow, message: MessageRecord) -> Mapping[str, Any]:
    return {
        "tenant_id": row.key.tenant,
        "session_uid": row.id,
        "seq": message.seq,
        "id": message.id,
        "turn": message.turn,
        "role": message.role.value,
        "name": message.name,
        "content": message.content,
        "parts": message.parts,
        "metadata": message.metadata,
        "tokens": message.tokens,
        "source": message.source,
        "trust": message.trust.value,
        "epoch": row.epoch,
        "created_at": message.created_at,
        "appended_at": message.appended_at,
        "expires_at": None,
        "version": message.version,
        "changed_at": message.changed_at,
        "deleted": message.deleted,
        "erased": message.erased,
    }


def _version(row: SessionRow, version: VersionRecord) -> Mapping[str, Any]:
    return {
        "tenant_id": row.key.tenant,
        "session_uid": row.id,
        "seq": version.seq,
        "version": version.version,
        "name": version.name,
        "content": version.content,
        "parts": version.parts,
        "metadata": version.metadata,
        "tokens": version.tokens,
        "changed_at": version.changed_at,
        "replaced_at": version.replaced_at,
        "replaced_head": version.replaced_head,
    }


def _passages(message: MessageRecord) -> tuple[str, ...]:
    return passages(
        NewMessage(role=message.role, content=message.content, name=message.name, parts=tuple(message.parts))
    )


def _summary(row: SessionRow, summary: SummaryRecord) -> Mapping[str, Any]:
    return {
        "tenant_id": row.key.tenant,
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
        "structure": _structure(summary),
    }


def _structure(summary: SummaryRecord) -> Mapping[str, Any]:
    lists = {name: getattr(summary.structure, name) for name in STRUCTURE_LISTS}
    noted = {name: tuple(Noted(text=e.text, range=e.range) for e in entries) for name, entries in lists.items()}
    return Structure(**noted).to_dict()


def _points(row: SessionRow, summary: SummaryRecord) -> Iterator[Mapping[str, Any]]:
    for ordinal, point in enumerate(summary.points):
        yield {
            "tenant_id": row.key.tenant,
            "summary_id": summary.id,
            "ordinal": ordinal,
            "start": point.range.start,
            "stop": point.range.stop,
            "text": point.text,
            "elided": [[gap.start, gap.stop] for gap in point.elided],
            "method": point.method.value,
            "tokens": point.tokens,
        }


def _states(row: SessionRow, summary: SummaryRecord) -> Iterator[Mapping[str, Any]]:
    for state in summary.states:
        yield {
            "tenant_id": row.key.tenant,
            "summary_id": summary.id,
            "status": state.status.value,
            "at": state.at,
            "log_head": state.log_head,
        }


def _moves(row: SessionRow, moves: Sequence[MoveRecord]) -> Iterator[Mapping[str, Any]]:
    numbers: dict[str, int] = {}
    for move in moves:
        number = numbers[move.reader] = numbers.get(move.reader, 0) + 1
        yield {
            "tenant_id": row.key.tenant,
            "session_uid": row.id,
            "reader": move.reader,
            "number": number,
            "position": move.position,
            "summary_id": move.summary_id,
            "at": move.at,
            "log_head": move.log_head,
        }


def _head(row: SessionRow, move: MoveRecord) -> Mapping[str, Any]:
    return {
        "tenant_id": row.key.tenant,
        "session_uid": row.id,
        "reader": move.reader,
        "position": move.position,
        "summary_id": move.summary_id,
        "updated_at": move.at,
    }
