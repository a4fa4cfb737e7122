"""Stamps of what changed, over one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from anaphora.domain.changes import ChangeKind, Stamp
from anaphora.storage.change_tables import changes
from anaphora.storage.effects import Effects
from anaphora.storage.erasure_tables import erasures
from anaphora.storage.fact_tables import facts
from anaphora.storage.tables import sessions
from anaphora.storage.topic_tables import notepad_pages

#: with every erasure of the tenant, numbers begin this much higher: none is ever given again
_ERA: Final = 1 << 32
_FIRST = (
    sa.select(sa.func.coalesce(sa.func.max(erasures.c.number), 0) * sa.literal(_ERA, sa.BigInteger) + 1)
    .where(erasures.c.tenant_id == sa.bindparam("tenant_id"))
    .scalar_subquery()
)
_VALUES = {
    "tenant_id": sa.bindparam("tenant_id"),
    "user_id": sa.bindparam("user_id"),
    "kind": sa.bindparam("kind"),
    "number": _FIRST,
    "session_uid": sa.bindparam("session_uid", type_=sa.Uuid),
}
_KEY = (changes.c.tenant_id, changes.c.user_id, changes.c.kind)


def _upsert(insert: sqlite.Insert | postgresql.Insert) -> sa.Insert:
    new = insert.values(_VALUES)
    return new.on_conflict_do_update(
        index_elements=_KEY, set_={"number": changes.c.number + 1, "session_uid": insert.excluded.session_uid}
    )


_STAMP = MappingProxyType(
    {"sqlite": _upsert(sqlite.insert(changes)), "postgresql": _upsert(postgresql.insert(changes))}
)
_STAMPS = (
    sa.select(changes.c.user_id, changes.c.kind, changes.c.number, sessions.c.agent_id, sessions.c.session_id)
    .outerjoin(sessions, (sessions.c.tenant_id == changes.c.tenant_id) & (sessions.c.id == changes.c.session_uid))
    .where(changes.c.tenant_id == sa.bindparam("tenant"), changes.c.user_id.in_(sa.bindparam("users", expanding=True)))
)
#: whether there is anything of a user whose change could be told
_HOLDS = sa.select(
    sa.or_(
        *(
            sa.exists().where(table.c.tenant_id == sa.bindparam("tenant"), table.c.user_id == sa.bindparam("user"))
            for table in (sessions, facts, notepad_pages)
        )
    )
)


class SqlChanges:
    """`ports.changes.Changes` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._run = connection.execute
        self._dialect = connection.dialect.name
        self._effects = effects

    def stamps(self, tenant: str, users: Collection[str]) -> Mapping[str, Mapping[ChangeKind, Stamp]]:
        """Of those of the users of whose memory anything ever changed; after an erasure, since then."""
        found: dict[str, dict[ChangeKind, Stamp]] = {}
        for user, kind, number, agent, session in self._run(_STAMPS, {"tenant": tenant, "users": sorted(users)}):
            found.setdefault(user, {})[ChangeKind(kind)] = Stamp(number=number, agent=agent, session=session)
        return found

    def settle(self) -> None:
        """Stamp what this transaction touched. The last thing that it does: others who stamp wait for its end.

        Always in one order, so that two that stamp the same never wait for each other.
        """
        touched = self._effects.touched
        # an erasure that left nothing leaves no name either
        gone = [of for *of, kind in sorted(touched) if kind is ChangeKind.ERASED and not self._holds(*of)]
        for tenant, user in gone:
            self._run(sa.delete(changes).where(changes.c.tenant_id == tenant, changes.c.user_id == user))
        rows = [
            {"tenant_id": tenant, "user_id": user, "kind": kind.value, "session_uid": session}
            for (tenant, user, kind), session in sorted(touched.items())
            if [tenant, user] not in gone
        ]
        if rows:
            self._run(_STAMP[self._dialect], rows)

    def _holds(self, tenant: str, user: str) -> bool:
        return bool(self._run(_HOLDS, {"tenant": tenant, "user": user}).scalar_one())
