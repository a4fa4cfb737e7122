"""Pages of notepads out of the database, a notepad at a time."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from anaphora.domain.notepad_records import PageRecord
from anaphora.ports.exchange import KeptPage, Scope
from anaphora.storage.notepads import PAGES, page_from
from anaphora.storage.order import by_code_points
from anaphora.storage.topic_tables import notepad_pages as pages
from anaphora.storage.types import AnyRow


class SqlDumpPages:
    """`ports.exchange.DumpPages` over one transaction."""

    _connection: sa.Connection

    def notepads(self, scope: Scope, *, after: tuple[str, str] | None, limit: int) -> Sequence[tuple[str, str]]:
        """User and agent of notepads, by code points, behind `after`."""
        if scope.session is not None:
            return ()
        dialect = self._connection.dialect.name
        place = [by_code_points(column, dialect) for column in (pages.c.user_id, pages.c.agent_id)]
        query = sa.select(pages.c.user_id, pages.c.agent_id).where(pages.c.tenant_id == scope.tenant).distinct()
        for column, name in ((pages.c.user_id, scope.user), (pages.c.agent_id, scope.agent)):
            if name is not None:
                query = query.where(column == name)
        named = query.subquery()
        place = [by_code_points(column, dialect) for column in (named.c.user_id, named.c.agent_id)]
        ordered = sa.select(named.c.user_id, named.c.agent_id).order_by(*place).limit(limit)
        if after is not None:
            ordered = ordered.where(sa.tuple_(*place) > sa.tuple_(*(sa.literal(name) for name in after)))
        return [(user, agent) for user, agent in self._connection.execute(ordered)]

    def pages(self, tenant: str, user: str, agent: str) -> Sequence[KeptPage]:
        """Every page of a notepad, the oldest first."""
        query = PAGES.where(pages.c.tenant_id == tenant, pages.c.user_id == user, pages.c.agent_id == agent)
        return [_kept(row) for row in self._connection.execute(query.order_by(pages.c.version))]


def _kept(row: AnyRow) -> KeptPage:
    page = page_from(row)
    session = page.session.session if page.session is not None else None
    record = PageRecord.of(page, record="page", session=session)
    return KeptPage(session_id=page.session_id, page=record)
