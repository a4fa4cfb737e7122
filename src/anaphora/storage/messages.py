"""The log: appending with a fixed number of statements, and reading ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.keys import SeqRange, SessionKey, union
from anaphora.domain.messages import Message, Receipt, Role, Trust
from anaphora.errors import AnaphoraError, Erased, InvalidInput, KeyReused, NotFound
from anaphora.ports.rows import Append, SessionRow, StoredReceipt
from anaphora.ports.store import Planner
from anaphora.rules.passages import passages
from anaphora.storage.bulk import insert_bulk
from anaphora.storage.effects import Effects
from anaphora.storage.erasures import SqlErasures
from anaphora.storage.jobs import SqlJobs
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.sessions import SqlSessions, fresh
from anaphora.storage.tables import heads, message_vectors, message_versions, messages, receipts
from anaphora.storage.turns import check_shape, extended
from anaphora.storage.words import Indexed, Words

MESSAGE_COLUMNS = (
    messages.c.id,
    messages.c.seq,
    messages.c.turn,
    messages.c.role,
    messages.c.content,
    messages.c.name,
    messages.c.parts,
    messages.c["metadata"],
    messages.c.tokens,
    messages.c.created_at,
    messages.c.source,
    messages.c.trust,
    messages.c.version,
    messages.c.changed_at,
    messages.c.deleted,
    messages.c.erased,
)
_IN_RANGE = (
    messages.c.tenant_id == sa.bindparam("tenant"),
    messages.c.session_uid == sa.bindparam("uid"),
    messages.c.seq >= sa.bindparam("start"),
    messages.c.seq < sa.bindparam("stop"),
)
_MOST = sa.bindparam("most", type_=sa.Integer)
_LIVE = sa.not_(messages.c.deleted)
_OLDEST = sa.select(*MESSAGE_COLUMNS).where(*_IN_RANGE).order_by(messages.c.seq).limit(_MOST)
_NEWEST = sa.select(*MESSAGE_COLUMNS).where(*_IN_RANGE).order_by(messages.c.seq.desc()).limit(_MOST)
_LIVE_OLDEST = _OLDEST.where(_LIVE)
_LIVE_NEWEST = _NEWEST.where(_LIVE)
_KEEP = sa.insert(message_versions)
_AMEND = (
    sa.update(messages)
    .where(
        messages.c.tenant_id == sa.bindparam("b_tenant"),
        messages.c.session_uid == sa.bindparam("b_uid"),
        messages.c.seq == sa.bindparam("b_seq"),
    )
    .values(
        name=sa.bindparam("name"),
        content=sa.bindparam("content"),
        parts=sa.bindparam("parts"),
        metadata=sa.bindparam("metadata"),
        tokens=sa.bindparam("tokens"),
        version=sa.bindparam("version"),
        changed_at=sa.bindparam("changed_at"),
        deleted=sa.bindparam("deleted"),
    )
)
#: of the readers that make versions and are behind the message
_RECOUNT = (
    sa.update(heads)
    .where(
        heads.c.tenant_id == sa.bindparam("b_tenant"),
        heads.c.session_uid == sa.bindparam("b_uid"),
        heads.c.position > sa.bindparam("b_seq", type_=sa.Integer),
        heads.c.seen > 0,
    )
    .values(tokens=heads.c.tokens + sa.bindparam("more", type_=sa.BigInteger))
)
_FORGET_MEANING = sa.delete(message_vectors).where(
    message_vectors.c.tenant_id == sa.bindparam("b_tenant"),
    message_vectors.c.session_uid == sa.bindparam("b_uid"),
    message_vectors.c.seq == sa.bindparam("b_seq"),
)
_INSERT = sa.insert(messages)
_INSERT_RECEIPT = sa.insert(receipts)
_RECEIPT = sa.select(receipts.c.session_uid, receipts.c.start, receipts.c.stop, receipts.c.epoch).where(
    receipts.c.tenant_id == sa.bindparam("tenant"), receipts.c.id == sa.bindparam("receipt")
)
_USED = by_keys(
    (
        receipts.c.tenant_id,
        receipts.c.session_uid,
        receipts.c.idempotency_key,
        receipts.c.id,
        receipts.c.start,
        receipts.c.stop,
        receipts.c.body_hash,
    ),
    (receipts.c.tenant_id, receipts.c.session_uid, receipts.c.idempotency_key),
    receipts.c.idempotency_key.is_not(None),
)

#: the first use of an idempotency key: its receipt and the hash of its body
_FirstUses = dict[tuple[str, UUID, str], tuple[Receipt, str]]


def message_from(row: Sequence[Any]) -> Message:
    """The message in a row of `MESSAGE_COLUMNS`."""
    uid, seq, turn, role, content, name, parts, extra, tokens, created_at, source, trust, *change = row
    version, changed_at, deleted, erased = change
    return Message(
        id=uid,
        seq=seq,
        turn=turn,
        role=Role(role),
        content=content,
        name=name,
        parts=tuple(parts),
        metadata=extra,
        tokens=tokens,
        created_at=created_at,
        source=source,
        trust=Trust(trust),
        version=version,
        changed_at=changed_at,
        deleted=deleted,
        erased=erased,
    )


class _Batch:
    """Appends to many sessions as they become rows. Sessions move on as each append is taken in."""

    def __init__(self, sessions: dict[SessionKey, SessionRow], used: _FirstUses) -> None:
        self.sessions = sessions
        self.used = used
        self.touched: dict[SessionKey, SessionRow] = {}
        self.receipts: list[Mapping[str, Any]] = []
        self.messages: list[Mapping[str, Any]] = []
        self.words: list[Indexed] = []

    def take(self, append: Append) -> Receipt | AnaphoraError:
        """Make rows of the append; or give the receipt that its key has, or say why it cannot be done."""
        row = self.sessions[append.key]
        if append.idempotency_key is not None:
            first = self.used.get((append.key.tenant, row.id, append.idempotency_key))
            if first is not None:
                return _again(first, append)
        after, turns = extended(row, append)
        receipt = Receipt(id=append.receipt_id, range=SeqRange(row.head, after.head))
        self.sessions[append.key] = self.touched[append.key] = after
        self.receipts.append(_receipt_row(append, row, receipt))
        if append.idempotency_key is not None:
            self.used[append.key.tenant, row.id, append.idempotency_key] = (receipt, append.body_hash)
        self._add_messages(append, row, turns)
        return receipt

    def _add_messages(self, append: Append, row: SessionRow, turns: Sequence[int]) -> None:
        for at, message in enumerate(append.messages):
            seq = row.head + at
            self.messages.append(
                {
                    "tenant_id": append.key.tenant,
                    "session_uid": row.id,
                    "seq": seq,
                    "id": append.ids[at],
                    "turn": turns[at],
                    "role": message.role.value,
                    "name": message.name,
                    "content": message.content,
                    "parts": message.parts,
                    "metadata": message.metadata,
                    "tokens": append.tokens[at],
                    "source": append.source,
                    "trust": append.trusts[at].value,
                    "epoch": row.epoch,
                    "created_at": message.created_at or append.now,
                    "appended_at": append.now,
                    "expires_at": None,
                }
            )
            self.words.append(Indexed(key=append.key, session_id=row.id, seq=seq, passages=passages(message)))


class SqlMessages:
    """`ports.store.Messages` over one transaction."""

    def __init__(
        self,
        connection: sa.Connection,
        sessions: SqlSessions,
        jobs: SqlJobs,
        words: Words,
        erasures: SqlErasures,
        effects: Effects,
    ) -> None:
        self._connection = connection
        self._effects = effects
        self._erasures = erasures
        self._sessions = sessions
        self._jobs = jobs
        self._words = words

    def append(self, appends: Sequence[Append], planner: Planner) -> Sequence[Receipt | Exception]:
        """Append to many sessions with a fixed number of statements; one result for each, in order.

        An append that cannot be done is answered by its error (`InvalidInput`, `KeyReused`); the others are done.
        """
        faults = [_fault(append) or self._erased(append) for append in appends]
        sound = [append for append, fault in zip(appends, faults, strict=True) if fault is None]
        if not sound:
            return [fault for fault in faults if fault is not None]
        sessions = self._open(sound)
        # read again: on a database with many writers, an erasure that held the session is visible only now
        faults = [fault or self._erased(append) for fault, append in zip(faults, appends, strict=True)]
        batch = _Batch(sessions, self._first_uses(sound, sessions))
        results = [
            batch.take(append) if fault is None else fault for append, fault in zip(appends, faults, strict=True)
        ]
        if batch.messages:
            self._store(batch)
            self._jobs.plan_due(list(batch.touched.values()), planner)
        return results

    def range(
        self, tenant: str, session_id: UUID, span: SeqRange, *, limit: int, deleted: bool = False
    ) -> Sequence[Message]:
        """Messages of the range in order, the first `limit` of them; with `deleted`, tombstones among them."""
        return self._read(_OLDEST if deleted else _LIVE_OLDEST, tenant, session_id, span, limit)

    def newest(
        self, tenant: str, session_id: UUID, span: SeqRange, *, limit: int, deleted: bool = False
    ) -> Sequence[Message]:
        """The last `limit` messages of the range, newest first; with `deleted`, tombstones among them."""
        return self._read(_NEWEST if deleted else _LIVE_NEWEST, tenant, session_id, span, limit)

    def amend(self, row: SessionRow, old: Message, new: Message, *, now: datetime) -> SessionRow:
        """Put the next version, or a tombstone, in the place of a message; the old version is kept."""
        place = {"tenant_id": row.key.tenant, "session_uid": row.id, "seq": old.seq}
        kept = {"version": old.version, "changed_at": old.changed_at, "replaced_at": now, "replaced_head": row.head}
        self._connection.execute(_KEEP, {**place, **_said(old), **kept})
        where = {"b_tenant": row.key.tenant, "b_uid": row.id, "b_seq": old.seq}
        change = {"version": new.version, "changed_at": now, "deleted": new.deleted}
        self._connection.execute(_AMEND, {**where, **_said(new), **change})
        self._connection.execute(_RECOUNT, {**where, "more": new.tokens - old.tokens})
        self._connection.execute(_FORGET_MEANING, where)
        indexed = Indexed(key=row.key, session_id=row.id, seq=old.seq, passages=passages(old))
        self._words.replace(indexed, () if new.deleted else passages(new))
        gone = (SeqRange(old.seq, old.seq + 1),) if new.deleted else ()
        tokens = row.tokens - old.tokens + new.tokens
        after = replace(row, tokens=tokens, deleted=union((*row.deleted, *gone)), updated_at=now)
        self._sessions.amended(after)
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.MESSAGES, row.id)
        return after

    def receipt_for(self, tenant: str, session_id: UUID, idempotency_key: str) -> Receipt | None:
        """The receipt of the append that came with the key, or None."""
        wanted = key_parameters([(tenant, session_id, idempotency_key)])
        for _, _, _, receipt, start, stop, _ in self._connection.execute(_USED[self._connection.dialect.name], wanted):
            return Receipt(id=receipt, range=SeqRange(start, stop), repeated=True)
        return None

    def receipt(self, tenant: str, receipt_id: UUID) -> StoredReceipt | None:
        """What a receipt stands for, or None. Receipts outlive what they stand for."""
        row = self._connection.execute(_RECEIPT, {"tenant": tenant, "receipt": receipt_id}).one_or_none()
        if row is None:
            return None
        return StoredReceipt(session_id=row.session_uid, range=SeqRange(row.start, row.stop), epoch=row.epoch)

    def _read(
        self, query: sa.Select[Any], tenant: str, session_id: UUID, span: SeqRange, limit: int
    ) -> Sequence[Message]:
        rows = self._connection.execute(
            query, {"tenant": tenant, "uid": session_id, "start": span.start, "stop": span.stop, "most": limit}
        )
        return [message_from(row) for row in rows]

    def _erased(self, append: Append) -> AnaphoraError | None:
        """Why something may not be appended that was there, or was made of what was there; None for all that is new."""
        tenant = append.key.tenant
        if append.erasures is not None and self._erasures.epoch(tenant) != append.erasures:
            return Erased("something was erased while this was made of it: nothing was stored, try again")
        found = self._erasures.marked(tenant, append.marks) if append.marks else None
        return Erased("some of these messages were erased", found) if found else None

    def _open(self, appends: Sequence[Append]) -> dict[SessionKey, SessionRow]:
        """The sessions of the appends, made where they are missing."""
        first = {append.key: append for append in reversed(appends)}
        found = self._sessions.find_all(first)
        for row in found.values():
            if row.expired_at is not None:  # writing in it brings it back
                self._sessions.revive(row)
        missing = [append for key, append in first.items() if key not in found]
        if missing:
            self._sessions.insert(
                [
                    fresh(a.key, session_id=a.session_id, strategy=a.strategy, subject=a.subject, now=a.now)
                    for a in missing
                ]
            )
            found |= self._sessions.find_all(append.key for append in missing)
            for append in missing:
                if append.key not in found:
                    raise NotFound(f"session id {append.session_id} is taken by another session: use a new one")
        return found

    def _first_uses(self, appends: Sequence[Append], sessions: Mapping[SessionKey, SessionRow]) -> _FirstUses:
        keys = [
            (append.key.tenant, sessions[append.key].id, append.idempotency_key)
            for append in appends
            if append.idempotency_key is not None
        ]
        if not keys:
            return {}
        used = self._connection.execute(_USED[self._connection.dialect.name], key_parameters(keys))
        return {
            (tenant, uid, key): (Receipt(id=receipt, range=SeqRange(start, stop), repeated=True), body_hash)
            for tenant, uid, key, receipt, start, stop, body_hash in used
        }

    def _store(self, batch: _Batch) -> None:
        insert_bulk(self._connection, _INSERT_RECEIPT, receipts, batch.receipts)
        insert_bulk(self._connection, _INSERT, messages, batch.messages)
        self._words.add(batch.words)
        self._sessions.advance(batch.touched.values())
        for key, row in batch.touched.items():
            self._effects.touch(key.tenant, key.user, ChangeKind.MESSAGES, row.id)


def _said(message: Message) -> dict[str, Any]:
    return {
        "name": message.name,
        "content": message.content,
        "parts": message.parts,
        "metadata": message.metadata,
        "tokens": message.tokens,
    }


def _fault(append: Append) -> AnaphoraError | None:
    try:
        check_shape(append)
    except InvalidInput as error:
        return error
    return None


def _again(first: tuple[Receipt, str], append: Append) -> Receipt | AnaphoraError:
    receipt, body_hash = first
    if body_hash != append.body_hash:
        return KeyReused(f"idempotency key {append.idempotency_key!r} was used with another body: use a new key")
    return Receipt(id=receipt.id, range=receipt.range, repeated=True)


def _receipt_row(append: Append, row: SessionRow, receipt: Receipt) -> Mapping[str, Any]:
    return {
        "tenant_id": append.key.tenant,
        "id": receipt.id,
        "session_uid": row.id,
        "start": receipt.range.start,
        "stop": receipt.range.stop,
        "idempotency_key": append.idempotency_key,
        "body_hash": append.body_hash if append.idempotency_key is not None else "",
        "epoch": row.epoch,
        "created_at": append.now,
    }
