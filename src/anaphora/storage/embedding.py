"""How far each session has vectors."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.messages import Message
from anaphora.domain.vectors import Space
from anaphora.ports.rows import SessionRow
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.session_rows import SESSION_COLUMNS, session_row
from anaphora.storage.tables import message_vectors, messages, sessions, vector_heads
from anaphora.storage.upsert import insert_if_absent

_THIS = (
    vector_heads.c.tenant_id == sa.bindparam("b_tenant"),
    vector_heads.c.session_uid == sa.bindparam("b_uid"),
    vector_heads.c.space == sa.bindparam("b_space"),
)
_POSITION = sa.select(vector_heads.c.position).where(*_THIS)
_INSERT = insert_if_absent(vector_heads)
_ADVANCE = sa.update(vector_heads).where(*_THIS).values(position=sa.bindparam("to"))
_LOWER = (
    sa.update(vector_heads)
    .where(
        vector_heads.c.tenant_id == sa.bindparam("b_tenant"),
        vector_heads.c.session_uid == sa.bindparam("b_uid"),
        vector_heads.c.position > sa.bindparam("b_seq"),
    )
    .values(position=sa.bindparam("to"))
)
_VECTOR = sa.select(sa.literal(1)).where(
    message_vectors.c.tenant_id == sa.bindparam("b_tenant"),
    message_vectors.c.session_uid == sa.bindparam("b_uid"),
    message_vectors.c.seq == messages.c.seq,
    message_vectors.c.space == sa.bindparam("b_space"),
)
_PENDING = (
    sa.select(*MESSAGE_COLUMNS)
    .where(
        messages.c.tenant_id == sa.bindparam("b_tenant"),
        messages.c.session_uid == sa.bindparam("b_uid"),
        messages.c.seq >= sa.bindparam("start"),
        sa.not_(messages.c.deleted),
        ~_VECTOR.exists(),
    )
    .order_by(messages.c.seq)
    .limit(sa.bindparam("most"))
)
_OF_SESSION = (vector_heads.c.tenant_id == sessions.c.tenant_id) & (vector_heads.c.session_uid == sessions.c.id)
_IS_BEHIND = sa.func.coalesce(vector_heads.c.position, 0) < sessions.c.head
_BEHIND = (
    sa.select(sa.literal(1))
    .select_from(sessions.outerjoin(vector_heads, _OF_SESSION & (vector_heads.c.space == sa.bindparam("b_space"))))
    .where(sessions.c.tenant_id == sa.bindparam("tenant"), sessions.c.user_id == sa.bindparam("user"), _IS_BEHIND)
    .limit(1)
)
_OF_AGENT, _THIS_SESSION = sessions.c.agent_id == sa.bindparam("agent"), sessions.c.id == sa.bindparam("uid")
#: by whether an agent and whether a session are named: made once, because this is asked at every search
_BEHIND_IN_SCOPE = MappingProxyType(
    {
        (False, False): _BEHIND,
        (True, False): _BEHIND.where(_OF_AGENT),
        (False, True): _BEHIND.where(_THIS_SESSION),
        (True, True): _BEHIND.where(_OF_AGENT, _THIS_SESSION),
    }
)


class SqlEmbedding:
    """`ports.search.Embedding` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def pending(self, row: SessionRow, space: Space, *, limit: int) -> Sequence[Message]:
        """Live messages that have no vector in the space yet, in order, the first `limit` of them."""
        this = _parameters(row, space)
        start = self._connection.execute(_POSITION, this).scalar_one_or_none() or 0
        if start >= row.head:
            return ()
        return [
            message_from(found) for found in self._connection.execute(_PENDING, {**this, "start": start, "most": limit})
        ]

    def embedded(self, row: SessionRow, space: Space, stop: int) -> None:
        """Note that every live message before `stop` has its vectors."""
        this = _parameters(row, space)
        if not self._connection.execute(_ADVANCE, {**this, "to": stop}).rowcount:
            self._connection.execute(
                _INSERT[self._connection.dialect.name],
                {"tenant_id": row.key.tenant, "session_uid": row.id, "space": space.name, "position": stop},
            )

    def changed(self, row: SessionRow, seq: int) -> None:
        """Note that the message has no vectors any more, in no space."""
        self._connection.execute(_LOWER, {"b_tenant": row.key.tenant, "b_uid": row.id, "b_seq": seq, "to": seq})

    def is_behind(self, tenant: str, user: str, *, agent: str | None, session_id: UUID | None, space: Space) -> bool:
        """Whether messages of the scope have no vector in the space yet."""
        query = _BEHIND_IN_SCOPE[agent is not None, session_id is not None]
        where = {"tenant": tenant, "user": user, "agent": agent, "uid": session_id, "b_space": space.name}
        return self._connection.execute(query, where).first() is not None

    def behind(self, tenant: str, space: Space, *, after: UUID | None, limit: int) -> Sequence[SessionRow]:
        """Sessions with messages that have no vector in the space yet, by their ids, those behind `after`."""
        query = (
            sa.select(*SESSION_COLUMNS)
            .select_from(sessions.outerjoin(vector_heads, _OF_SESSION & (vector_heads.c.space == space.name)))
            .where(sessions.c.tenant_id == tenant, _IS_BEHIND)
            .order_by(sessions.c.id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(sessions.c.id > after)
        return [session_row(row) for row in self._connection.execute(query)]

    def forget_others(self, tenant: str, space: Space, *, limit: int) -> int:
        """Drop vectors of all spaces but this one, of up to `limit` messages; how many went."""
        other = message_vectors.alias("other")
        some = (
            sa.select(other.c.session_uid, other.c.seq, other.c.space)
            .where(other.c.tenant_id == tenant, other.c.space != space.name)
            .distinct()
            .limit(limit)
        )
        rows = self._connection.execute(some).all()
        gone = sa.delete(message_vectors).where(
            message_vectors.c.tenant_id == sa.bindparam("b_tenant"),
            message_vectors.c.session_uid == sa.bindparam("b_uid"),
            message_vectors.c.seq == sa.bindparam("b_seq"),
            message_vectors.c.space == sa.bindparam("b_space"),
        )
        if rows:
            self._connection.execute(
                gone,
                [{"b_tenant": tenant, "b_uid": uid, "b_seq": seq, "b_space": name} for uid, seq, name in rows],
            )
        else:
            self._connection.execute(
                sa.delete(vector_heads).where(vector_heads.c.tenant_id == tenant, vector_heads.c.space != space.name)
            )
        return len(rows)


def _parameters(row: SessionRow, space: Space) -> dict[str, object]:
    return {"b_tenant": row.key.tenant, "b_uid": row.id, "b_space": space.name}
