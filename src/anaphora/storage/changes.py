"""Stamps of what changed, over one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.domain.changes import ChangeKind, Stamp
from anaphora.storage.change_tables import changes
from anaphora.storage.effects import Effects
from anaphora.storage.erasure_tables import erasures
from anaphora.storage.fact_tables import facts
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.tables import sessions
from anaphora.storage.topic_tables import notepad_pages
from anaphora.storage.upsert import insert_if_absent

#: with every erasure of the tenant, numbers begin this much higher: none is ever given again
_ERA: Final = 1 << 32
_FIRST = (
    sa.select(sa.func.coalesce(sa.func.max(erasures.c.number), 0) * sa.literal(_ERA, sa.BigInteger) + 1)
    .where(erasures.c.tenant_id == sa.bindparam("b_tenant"))
    .scalar_subquery()
)
_VALUES = {
    "tenant_id": sa.bindparam("b_tenant"),
    "user_id": sa.bindparam("b_user"),
    "kind": sa.bindparam("b_kind"),
    "number": _FIRST,
    "session_uid": sa.bindparam("b_session", type_=sa.Uuid),
}
_BEGIN = MappingProxyType({dialect: new.values(_VALUES) for dialect, new in insert_if_absent(changes).items()})
_GO_ON = (
    sa.update(changes)
    .where(
        changes.c.tenant_id == sa.bindparam("b_tenant"),
        changes.c.user_id == sa.bindparam("b_user"),
        changes.c.kind == sa.bindparam("b_kind"),
    )
    .values(number=changes.c.number + 1, session_uid=sa.bindparam("b_session", type_=sa.Uuid))
)
_STAMPS = (
    sa.select(changes.c.user_id, changes.c.kind, changes.c.number, sessions.c.agent_id, sessions.c.session_id)
    .outerjoin(sessions, (sessions.c.tenant_id == changes.c.tenant_id) & (sessions.c.id == changes.c.session_uid))
    .where(changes.c.tenant_id == sa.bindparam("tenant"), changes.c.user_id.in_(sa.bindparam("users", expanding=True)))
)
#: locked in their order, before one statement goes on with them in any
_THERE = by_keys(
    (changes.c.user_id, changes.c.kind), key=(changes.c.tenant_id, changes.c.user_id, changes.c.kind), lock=True
)
#: those of many users in one statement, where a statement for each costs more than the rows
_GO_ON_TOGETHER: Mapping[str, sa.TextClause] = MappingProxyType(
    {
        "postgresql": sa.text(
            "UPDATE changes SET number = changes.number + 1, session_uid ="
            " (CAST(:sessions AS UUID[]))[array_position(CAST(:users AS TEXT[]), changes.user_id)]"
            " WHERE changes.tenant_id = :tenant AND changes.user_id = ANY (CAST(:users AS TEXT[]))"
            " AND changes.kind = :kind"
        ).bindparams(
            sa.bindparam("sessions", type_=postgresql.ARRAY(sa.Uuid)),
            sa.bindparam("users", type_=postgresql.ARRAY(sa.Text)),
            sa.bindparam("tenant", type_=sa.Text),
            sa.bindparam("kind", type_=sa.Text),
        )
    }
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
            {"b_tenant": tenant, "b_user": user, "b_kind": kind.value, "b_session": session}
            for (tenant, user, kind), session in sorted(touched.items())
            if [tenant, user] not in gone
        ]
        if len(rows) == 1:
            self._stamp(rows[0])
        elif rows:
            self._stamp_all(rows)

    def _stamp(self, row: Mapping[str, Any]) -> None:
        # no `ON CONFLICT DO UPDATE`: foreign partitions know none; an update alone is what nearly always does
        for statement in (_GO_ON, _BEGIN[self._dialect], _GO_ON):
            if self._run(statement, row).rowcount:
                return

    def _stamp_all(self, rows: Sequence[Mapping[str, Any]]) -> None:
        # a batch of appends touches many users: what is sent for them together costs one wait, not one each.
        # A row that an erasure takes out meanwhile tells its listeners more than the stamp would have
        there: set[tuple[str, str, str]] = set()
        for tenant in sorted({row["b_tenant"] for row in rows}):
            keys = [(tenant, row["b_user"], row["b_kind"]) for row in rows if row["b_tenant"] == tenant]
            there |= {(tenant, *found) for found in self._run(_THERE[self._dialect], key_parameters(keys))}
        missing = [row for row in rows if (row["b_tenant"], row["b_user"], row["b_kind"]) not in there]
        if missing:
            self._run(_BEGIN[self._dialect], missing)
        self._go_on(rows)

    def _go_on(self, rows: Sequence[Mapping[str, Any]]) -> None:
        together = _GO_ON_TOGETHER.get(self._dialect)
        if together is None:
            self._run(_GO_ON, rows)
            return
        for tenant, kind in sorted({(row["b_tenant"], row["b_kind"]) for row in rows}):
            these = [row for row in rows if (row["b_tenant"], row["b_kind"]) == (tenant, kind)]
            users, of = [row["b_user"] for row in these], [row["b_session"] for row in these]
            self._run(together, {"tenant": tenant, "kind": kind, "users": users, "sessions": of})

    def _holds(self, tenant: str, user: str) -> bool:
        return bool(self._run(_HOLDS, {"tenant": tenant, "user": user}).scalar_one())
