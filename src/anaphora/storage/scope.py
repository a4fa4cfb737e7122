"""Whose messages are searched.

Each text stands in the index beside hashes of (tenant, user), of the agent and of the session, so that common words of
other people cost nothing. The hashes only save work: every hit is compared with the scope exactly (I11).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.keys import SessionKey
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.tables import sessions

#: the id of a session as the driver gives it
Ref = str | UUID


def raw(column: sa.Column[UUID]) -> sa.ColumnElement[Ref]:
    """The id of a session as the driver gives it: of many rows each would else become an object of its own."""
    as_it_comes: sa.types.TypeEngine[Any] = sa.types.NullType()
    return sa.type_coerce(column, as_it_comes)


_SESSIONS = by_keys(
    (
        raw(sessions.c.id),
        sessions.c.id,
        sessions.c.tenant_id,
        sessions.c.user_id,
        sessions.c.agent_id,
        sessions.c.session_id,
    ),
    (sessions.c.tenant_id, sessions.c.id),
    sessions.c.expired_at.is_(None),
)

_SIZE = sa.select(sa.func.sum(sessions.c.head)).where(
    sessions.c.tenant_id == sa.bindparam("tenant"), sessions.c.user_id == sa.bindparam("user")
)
_OF_AGENT = sessions.c.agent_id == sa.bindparam("agent")
_OF_SESSION = sessions.c.id == sa.bindparam("uid")
#: by whether an agent and whether a session are named: made once, because this is asked at every search
_SIZES = MappingProxyType(
    {
        (False, False): _SIZE,
        (True, False): _SIZE.where(_OF_AGENT),
        (False, True): _SIZE.where(_OF_SESSION),
        (True, True): _SIZE.where(_OF_AGENT, _OF_SESSION),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose messages are searched."""

    tenant: str
    user: str
    agent: str | None
    session_id: UUID | None

    @property
    def token(self) -> str:
        """The narrowest token that all messages of the scope have."""
        if self.session_id is not None:
            return session_token(self.tenant, self.session_id)
        if self.agent is not None:
            return token_of("a", self.tenant, self.user, self.agent)
        return token_of("u", self.tenant, self.user)

    def size(self, connection: sa.Connection) -> int:
        """How many messages the scope has."""
        which = {"tenant": self.tenant, "user": self.user, "agent": self.agent, "uid": self.session_id}
        size = connection.execute(_SIZES[self.agent is not None, self.session_id is not None], which).scalar_one()
        return int(size or 0)

    def covers(self, key: SessionKey, session_id: UUID) -> bool:
        """Whether a session is in the scope, exactly."""
        return (
            (key.tenant, key.user) == (self.tenant, self.user)
            and self.agent in {None, key.agent}
            and self.session_id in {None, session_id}
        )

    def conditions(self) -> Iterable[sa.ColumnElement[bool]]:
        """The scope, exactly."""
        yield sessions.c.tenant_id == self.tenant
        yield sessions.c.user_id == self.user
        if self.agent is not None:
            yield sessions.c.agent_id == self.agent
        if self.session_id is not None:
            yield sessions.c.id == self.session_id


class SessionNames:
    """Which sessions the ids of hits are.

    Args:
        connection: in a transaction.
        keeps: what was looked up is not looked up again: for a transaction that only reads, which sees no change.

    """

    def __init__(self, connection: sa.Connection, *, keeps: bool = False) -> None:
        self._connection = connection
        self._keeps = keeps
        #: by tenant; None: there is no such session, or it is out of sight
        self._known: dict[str, dict[Ref, tuple[UUID, SessionKey] | None]] = {}

    def of(self, scope: Scope, refs: Iterable[Ref]) -> Mapping[Ref, tuple[UUID, SessionKey]]:
        """The sessions that are in the scope: who may not see a session sees nothing of it (I11)."""
        known = self._known.setdefault(scope.tenant, {}) if self._keeps else {}
        wanted = set(refs)
        missing = wanted.difference(known)
        if missing:
            known.update(dict.fromkeys(missing))
            known.update(self._looked_up(scope.tenant, missing))
        return {ref: at for ref in wanted if (at := known[ref]) is not None and scope.covers(at[1], at[0])}

    def _looked_up(self, tenant: str, refs: Iterable[Ref]) -> Iterable[tuple[Ref, tuple[UUID, SessionKey]]]:
        keys = key_parameters([(tenant, ref) for ref in refs])
        for ref, uid, of, user, agent, session in self._connection.execute(
            _SESSIONS[self._connection.dialect.name], keys
        ).all():
            yield ref, (uid, SessionKey(tenant=of, user=user, agent=agent, session=session))


def tokens_of(key: SessionKey, session_id: UUID) -> tuple[str, str, str]:
    """The tokens of every scope that a session's messages are in."""
    return (
        token_of("u", key.tenant, key.user),
        token_of("a", key.tenant, key.user, key.agent),
        session_token(key.tenant, session_id),
    )


def session_token(tenant: str, session_id: UUID) -> str:
    """The token of one session."""
    return token_of("s", tenant, session_id.hex)


def token_of(kind: str, *parts: str) -> str:
    """A letter and the digits of a hash of the parts, each with its length, so that ("al", "ice") != ("alice", "")."""
    encoded = [part.encode() for part in parts]
    data = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
    digest = hashlib.blake2b(data, digest_size=8, person=kind.encode()).digest()
    return f"{kind}{int.from_bytes(digest, 'big'):020d}"
