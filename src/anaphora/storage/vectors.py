"""Search by meaning: what is the same on every database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.messages import Message
from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector, SessionRow, VectorMatch
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.scope import Ref, Scope, SessionNames
from anaphora.storage.tables import message_vectors, messages

#: a passage: its session, the message's number, the part; and how close it is, as a cosine
Found = tuple[Ref, int, int, float]

_INSERT = sa.insert(message_vectors)
_FORGET = sa.delete(message_vectors).where(
    message_vectors.c.tenant_id == sa.bindparam("b_tenant"),
    message_vectors.c.session_uid == sa.bindparam("b_uid"),
    message_vectors.c.seq == sa.bindparam("b_seq"),
    message_vectors.c.space == sa.bindparam("b_space"),
)
_MESSAGES = by_keys(
    (messages.c.session_uid, *MESSAGE_COLUMNS),
    (messages.c.tenant_id, messages.c.session_uid, messages.c.seq),
)
#: vectors of messages that were deleted: what they say can be guessed from them
OUTLIVED = (
    sa.select(message_vectors.c.session_uid)
    .join(
        messages,
        (messages.c.tenant_id == message_vectors.c.tenant_id)
        & (messages.c.session_uid == message_vectors.c.session_uid)
        & (messages.c.seq == message_vectors.c.seq),
    )
    .where(messages.c.deleted)
    .limit(4)
)


class VectorSearch(ABC):
    """`ports.search.VectorIndex` over one transaction, for a database that finds the closest vectors of a scope."""

    def __init__(self, connection: sa.Connection, names: SessionNames | None = None) -> None:
        self._connection = connection
        self._names = names or SessionNames(connection)

    def put(self, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        """Keep the vectors, instead of all that their messages had in this space; how many are kept."""
        vectors = [self._kept(space.unit(passage.vector)) for passage in passages]
        if not passages:
            return 0
        said = self._messages({(row.key.tenant, row.id, passage.seq): None for passage in passages}).values()
        there = {(message.id, message.seq, message.version) for message in said if not message.deleted}
        rows = [
            {
                "tenant_id": row.key.tenant,
                "session_uid": row.id,
                "seq": passage.seq,
                "part": passage.part,
                "space": space.name,
                "user_id": row.key.user,
                "agent_id": row.key.agent,
                "embedding": vector,
            }
            for passage, vector in zip(passages, vectors, strict=True)
            if (passage.message_id, passage.seq, passage.version) in there
        ]
        if rows:
            places = {entry["seq"] for entry in rows}
            which = {"b_tenant": row.key.tenant, "b_uid": row.id, "b_space": space.name}
            self._connection.execute(_FORGET, [{**which, "b_seq": seq} for seq in sorted(places)])
            self._connection.execute(_INSERT, rows)
        return len(rows)

    def nearest(
        self,
        tenant: str,
        user: str,
        *,
        agent: str | None,
        session_id: UUID | None,
        space: Space,
        vector: Sequence[float],
        limit: int,
    ) -> Sequence[VectorMatch]:
        """The passages that are closest to the vector, best first: `limit` of them, or as many as there are."""
        wanted = space.unit(vector)
        if limit < 1:
            return []
        scope = Scope(tenant=tenant, user=user, agent=agent, session_id=session_id)
        found = sorted(self._closest(scope, space, wanted, limit), key=_best_first, reverse=True)[:limit]
        sessions = self._names.of(scope, {ref for ref, _, _, _ in found})
        return [
            VectorMatch(*at, seq, part, max(-1.0, min(1.0, close)))
            for ref, seq, part, close in found
            if (at := sessions.get(ref)) is not None
        ]

    def forget_user(self, tenant: str, user: str) -> None:
        """Nothing is to name the user any more, whose vectors are all gone."""
        del tenant, user

    @abstractmethod
    def common(
        self, tenant: str, user: str, *, agent: str | None, session_id: UUID | None, space: Space
    ) -> Sequence[float]:
        """The mean of the vectors of the scope, or of very many of them; empty if there are none."""

    @abstractmethod
    def _closest(self, scope: Scope, space: Space, vector: Sequence[float], limit: int) -> Sequence[Found]:
        """The closest passages of the scope, at least `limit` if there are so many, in any order."""

    @abstractmethod
    def _kept(self, vector: Sequence[float]) -> Any:  # noqa: ANN401 - what the driver takes
        """A vector as it is handed to the database."""

    def _messages(self, keys: Iterable[tuple[str, UUID, int]]) -> Mapping[tuple[UUID, int], Message]:
        """Messages by session and number."""
        rows = self._connection.execute(_MESSAGES[self._connection.dialect.name], key_parameters(keys))
        return {(row[0], message.seq): message for row, message in ((row, message_from(row[1:])) for row in rows)}


def scope_conditions(scope: Scope, space: Space) -> list[sa.ColumnElement[bool]]:
    """The vectors of a scope in a space."""
    conditions = [
        message_vectors.c.tenant_id == scope.tenant,
        message_vectors.c.space == space.name,
        message_vectors.c.user_id == scope.user,
    ]
    if scope.agent is not None:
        conditions.append(message_vectors.c.agent_id == scope.agent)
    if scope.session_id is not None:
        conditions.append(message_vectors.c.session_uid == scope.session_id)
    return conditions


def _best_first(found: Found) -> tuple[float, str | UUID, int, int]:
    ref, seq, part, close = found
    return (close, ref, seq, -part)
