"""A law as a question to the database: which rows break it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlalchemy as sa

from anaphora.services.maintenance import Check
from anaphora.storage.tables import sessions

_SHOWN = 3

#: what is wrong, and a query for the ids of those with whom it is
Breach: TypeAlias = tuple[str, sa.Select[Any]]


def of_session(table: sa.FromClause) -> sa.ColumnElement[bool]:
    """The row belongs to the session."""
    return (table.c.tenant_id == sessions.c.tenant_id) & (table.c.session_uid == sessions.c.id)


def same_session(one: sa.FromClause, other: sa.FromClause) -> sa.ColumnElement[bool]:
    """Both rows belong to one session."""
    return (one.c.tenant_id == other.c.tenant_id) & (one.c.session_uid == other.c.session_uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law in SQL: each breach is a sentence and a query for the ids that break it."""

    id: str
    name: str
    #: what is counted as looked at
    table: sa.FromClause
    breaches: tuple[Breach, ...]

    def check(self, connection: sa.Connection) -> Check:
        """Look for breaches."""
        found = [text for what, query in self.breaches if (text := _breach(connection, what, query)) is not None]
        checked = connection.execute(sa.select(sa.func.count()).select_from(self.table)).scalar_one()
        return Check(id=self.id, name=self.name, ok=not found, detail="; ".join(found), checked=checked)


def _breach(connection: sa.Connection, what: str, query: sa.Select[Any]) -> str | None:
    ids = [str(row[0]) for row in connection.execute(query.limit(_SHOWN + 1))]
    if not ids:
        return None
    return f"{what}: {', '.join(ids[:_SHOWN])}{' and more' if len(ids) > _SHOWN else ''}"
