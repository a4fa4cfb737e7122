"""Conversations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SessionKey
from anaphora.errors import NotFound
from anaphora.ports.rows import SessionRow
from anaphora.storage.bulk import update_bulk
from anaphora.storage.document_tables import documents
from anaphora.storage.documents import SqlDocuments
from anaphora.storage.effects import Effects
from anaphora.storage.fact_tables import chunks, facts, subjects
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.order import by_code_points
from anaphora.storage.session_retention import SqlExpiry
from anaphora.storage.session_rows import SESSION_COLUMNS, session_row
from anaphora.storage.tables import (
    head_moves,
    heads,
    jobs,
    message_vectors,
    message_versions,
    messages,
    receipts,
    sessions,
    summaries,
    vector_heads,
)
from anaphora.storage.topic_tables import notepad_pages, topics
from anaphora.storage.upsert import insert_if_absent
from anaphora.storage.words import Words

#: names such as 7, as the command line gives them; longer ones are somebody's own
_NUMBER = re.compile("[0-9]{1,12}")
_BY_KEYS = by_keys(
    SESSION_COLUMNS,
    (sessions.c.tenant_id, sessions.c.user_id, sessions.c.agent_id, sessions.c.session_id),
    lock=True,
)
_FIND = sa.select(*SESSION_COLUMNS).where(
    sessions.c.tenant_id == sa.bindparam("tenant"),
    sessions.c.user_id == sa.bindparam("user"),
    sessions.c.agent_id == sa.bindparam("agent"),
    sessions.c.session_id == sa.bindparam("session"),
)
_GET = sa.select(*SESSION_COLUMNS).where(
    sessions.c.tenant_id == sa.bindparam("tenant"), sessions.c.id == sa.bindparam("uid")
)
_FIND_LOCKED, _GET_LOCKED = _FIND.with_for_update(), _GET.with_for_update()
#: databases with many writers: who reads the next number and then takes it must be alone between the two
_ALONE: Mapping[str, sa.TextClause] = MappingProxyType(
    {"postgresql": sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 1))")}
)
_NAMES = sa.select(sessions.c.session_id).where(
    sessions.c.tenant_id == sa.bindparam("tenant"),
    sessions.c.user_id == sa.bindparam("user"),
    sessions.c.agent_id == sa.bindparam("agent"),
)
_INSERT = insert_if_absent(sessions)
_THIS = (sessions.c.tenant_id == sa.bindparam("b_tenant"), sessions.c.id == sa.bindparam("b_uid"))
_AMENDED = (
    sa.update(sessions)
    .where(*_THIS)
    .values(tokens=sa.bindparam("tokens"), deleted=sa.bindparam("deleted"), updated_at=sa.bindparam("updated_at"))
)
_SET_ENDED = sa.update(sessions).where(*_THIS).values(ended_at=sa.bindparam("ended_at"))
_EMPTY = (
    sa.update(sessions)
    .where(*_THIS)
    .values(
        head=0,
        turns=0,
        turn_starts=[],
        turn_finished=True,
        tokens=0,
        deleted=[],
        epoch=sessions.c.epoch + 1,
        updated_at=sa.bindparam("now"),
        ended_at=None,
    )
)


def fresh(
    key: SessionKey, *, session_id: UUID, strategy: str | None, subject: str | None, now: datetime
) -> Mapping[str, Any]:
    """A new session as a row to insert."""
    return {
        "tenant_id": key.tenant,
        "id": session_id,
        "user_id": key.user,
        "agent_id": key.agent,
        "session_id": key.session,
        "strategy": strategy,
        "subject": subject,
        "head": 0,
        "turns": 0,
        "turn_starts": [],
        "turn_finished": True,
        "tokens": 0,
        "epoch": 0,
        "created_at": now,
        "updated_at": now,
        "ended_at": None,
        "expires_at": None,
    }


class SqlSessions(SqlExpiry):
    """`ports.store.Sessions` over one transaction."""

    def __init__(
        self, connection: sa.Connection, words: Words, documents: SqlDocuments, effects: Effects, *, writing: bool
    ) -> None:
        self._connection = connection
        self._find, self._get = (_FIND_LOCKED, _GET_LOCKED) if writing else (_FIND, _GET)
        self._words = words
        self._documents = documents
        self._effects = effects

    def find(self, key: SessionKey, *, hidden: bool = False) -> SessionRow | None:
        """The session, or None; one that is out of sight is none, unless it is looked for too (`hidden`)."""
        row = self._connection.execute(
            self._find, {"tenant": key.tenant, "user": key.user, "agent": key.agent, "session": key.session}
        ).one_or_none()
        found = session_row(row) if row is not None else None
        return found if hidden or found is None or found.expired_at is None else None

    def find_all(self, keys: Iterable[SessionKey]) -> dict[SessionKey, SessionRow]:
        """Those of the sessions that exist, locked until the end of the transaction."""
        wanted = key_parameters((key.tenant, key.user, key.agent, key.session) for key in keys)
        found = map(session_row, self._connection.execute(_BY_KEYS[self._connection.dialect.name], wanted))
        return {row.key: row for row in found}

    def lock(self, key: SessionKey) -> SessionRow | None:
        """The session, or None; nobody else changes it until the end of the transaction."""
        return self.find_all([key]).get(key)

    def get(self, tenant: str, session_id: UUID) -> SessionRow | None:
        """The session with this id in this tenant, or None."""
        row = self._connection.execute(self._get, {"tenant": tenant, "uid": session_id}).one_or_none()
        return session_row(row) if row is not None else None

    def create(
        self, key: SessionKey, *, session_id: UUID, strategy: str | None, subject: str | None, now: datetime
    ) -> SessionRow:
        """The session, made if it is not there."""
        self.insert([fresh(key, session_id=session_id, strategy=strategy, subject=subject, now=now)])
        hidden = self.lock(key)
        if hidden is not None and hidden.expired_at is not None:
            self.revive(hidden)
        row = self.find(key)
        if row is None:
            raise NotFound(f"session id {session_id} is taken by another session: use a new one")
        return row

    def insert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Make the sessions that do not exist yet."""
        self._connection.execute(_INSERT[self._connection.dialect.name], rows)

    def advance(self, rows: Iterable[SessionRow]) -> None:
        """Write down how far the sessions have come."""
        update_bulk(
            self._connection,
            sessions,
            [
                {
                    "tenant_id": row.key.tenant,
                    "id": row.id,
                    "head": row.head,
                    "turns": row.turns,
                    "turn_starts": row.turn_starts,
                    "turn_finished": row.turn_finished,
                    "tokens": row.tokens,
                    "updated_at": row.updated_at,
                    "ended_at": row.ended_at,
                }
                for row in rows
            ],
        )

    def amended(self, row: SessionRow) -> None:
        """Write down what an edit or a deletion did to the session."""
        self._connection.execute(
            _AMENDED,
            {
                "b_tenant": row.key.tenant,
                "b_uid": row.id,
                "tokens": row.tokens,
                "deleted": [[span.start, span.stop] for span in row.deleted],
                "updated_at": row.updated_at,
            },
        )

    def next_number(self, tenant: str, user: str, agent: str) -> int:
        """One more than the highest session name of this user and agent that is a number."""
        alone = _ALONE.get(self._connection.dialect.name)
        if alone is not None:
            self._connection.execute(alone, {"name": json.dumps([tenant, user, agent])})
        names = self._connection.execute(_NAMES, {"tenant": tenant, "user": user, "agent": agent}).scalars()
        return 1 + max((int(name) for name in names if _NUMBER.fullmatch(name)), default=0)

    def list(
        self,
        tenant: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        limit: int = 50,
        before: SessionRow | None = None,
    ) -> Sequence[SessionRow]:
        """The newest first, by last activity; with `before`, those that come behind that one."""
        query = sa.select(*SESSION_COLUMNS).where(sessions.c.tenant_id == tenant, sessions.c.expired_at.is_(None))
        if user is not None:
            query = query.where(sessions.c.user_id == user)
        if agent is not None:
            query = query.where(sessions.c.agent_id == agent)
        if before is not None:
            last, uid = sessions.c.updated_at, sessions.c.id
            query = query.where(last <= before.updated_at, sa.or_(last < before.updated_at, uid < before.id))
        query = query.order_by(sessions.c.updated_at.desc(), sessions.c.id.desc()).limit(limit)
        return [session_row(row) for row in self._connection.execute(query)]

    def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        """The tenants that keep anything, behind `after`, by code points."""
        kept = sa.union(
            *(
                sa.select(table.c.tenant_id).distinct()
                for table in (sessions, facts, subjects, notepad_pages, documents)
            )
        ).subquery()
        name = by_code_points(kept.c.tenant_id, self._connection.dialect.name)
        query = sa.select(kept.c.tenant_id).where(name > after).order_by(name).limit(limit)
        return self._connection.execute(query).scalars().all()

    def set_ended(self, tenant: str, session_id: UUID, *, ended_at: datetime | None) -> None:
        """Mark as ended, or open again."""
        self._connection.execute(_SET_ENDED, {"b_tenant": tenant, "b_uid": session_id, "ended_at": ended_at})

    def reset(self, tenant: str, session_id: UUID, *, now: datetime) -> int:
        """Delete every message and everything derived, raise the epoch; how many messages went.

        Receipts stay, so that they can still say what became of their messages; their keys are free again.
        """
        run = self._connection.execute
        run(_EMPTY, {"b_tenant": tenant, "b_uid": session_id, "now": now})
        self._words.forget(tenant, session_id)
        run(
            sa.delete(message_vectors).where(
                message_vectors.c.tenant_id == tenant, message_vectors.c.session_uid == session_id
            )
        )
        owner = run(sa.select(sessions.c.user_id).where(sessions.c.tenant_id == tenant, sessions.c.id == session_id))
        for user in owner.scalars():
            self._effects.touch(tenant, user, ChangeKind.MESSAGES)
        gone = run(
            sa.delete(messages).where(messages.c.tenant_id == tenant, messages.c.session_uid == session_id)
        ).rowcount
        self._documents.forget_session(tenant, session_id)
        for table in (message_versions, head_moves, heads, summaries, vector_heads, chunks, topics):
            run(sa.delete(table).where(table.c.tenant_id == tenant, table.c.session_uid == session_id))
        run(
            sa.delete(jobs).where(
                jobs.c.tenant_id == tenant,
                jobs.c.session_uid == session_id,
                jobs.c.state.in_([JobState.QUEUED.value, JobState.RUNNING.value]),
            )
        )
        run(
            sa.update(jobs)
            .where(jobs.c.tenant_id == tenant, jobs.c.session_uid == session_id, jobs.c.reason.is_not(None))
            .values(reason=None)
        )
        run(
            sa.update(receipts)
            .where(
                receipts.c.tenant_id == tenant,
                receipts.c.session_uid == session_id,
                receipts.c.idempotency_key.is_not(None),
            )
            .values(idempotency_key=None, body_hash="")
        )
        self._effects.erased = True
        return gone
