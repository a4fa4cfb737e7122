"""Notepads: their pages, and what goes when a message goes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.notepad import Page, PageAction
from anaphora.domain.summaries import Method
from anaphora.ports.rows import SessionRow
from anaphora.rules.notepad import made_of
from anaphora.storage.effects import Effects
from anaphora.storage.tables import sessions
from anaphora.storage.topic_tables import notepad_pages as pages
from anaphora.storage.types import AnyRow
from anaphora.storage.upsert import insert_if_absent

#: databases with many writers: who writes the next page must be alone from when the last one was read
_ALONE: Mapping[str, sa.TextClause] = MappingProxyType(
    {"postgresql": sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 3))")}
)
#: beyond every version
_ALL: Final = 2**31 - 1
_INSERT = insert_if_absent(pages)
_SESSION = (sessions.c.tenant_id == pages.c.tenant_id) & (sessions.c.id == pages.c.session_uid)
_THIS = (
    pages.c.tenant_id == sa.bindparam("b_tenant"),
    pages.c.user_id == sa.bindparam("b_user"),
    pages.c.agent_id == sa.bindparam("b_agent"),
)
#: with the name of the session; for `page_from`
PAGES = sa.select(pages, sessions.c.session_id).outerjoin(sessions, _SESSION)
_NEWEST = (
    PAGES.where(*_THIS, pages.c.version < sa.bindparam("before"))
    .order_by(pages.c.version.desc())
    .limit(sa.bindparam("most"))
)
_GET = PAGES.where(*_THIS, pages.c.version == sa.bindparam("version"))
_MADE = (
    sa.select(pages.c.version, pages.c.action, pages.c.restores, pages.c.session_uid, pages.c.start, pages.c.stop)
    .where(*_THIS)
    .order_by(pages.c.version)
)
_DELETE = sa.delete(pages).where(*_THIS, pages.c.version == sa.bindparam("b_version"))


class SqlNotepads:
    """`ports.notepads.Notepads` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._connection = connection
        self._run = connection.execute
        self._effects = effects

    def alone(self, tenant: str, user: str, agent: str) -> None:
        """Nobody else changes this notepad until the end of the transaction."""
        alone = _ALONE.get(self._connection.dialect.name)
        if alone is not None:
            self._run(alone, {"name": json.dumps([tenant, user, agent])})

    def newest(self, tenant: str, user: str, agent: str) -> Page | None:
        """What the notepad says now, or None if nothing was ever written."""
        return next(iter(self.history(tenant, user, agent, limit=1)), None)

    def get(self, tenant: str, user: str, agent: str, version: int) -> Page | None:
        """One version, or None if there is none of this number."""
        where = {**_notepad(tenant, user, agent), "version": version}
        row = self._run(_GET, where).one_or_none()
        return page_from(row) if row is not None else None

    def history(self, tenant: str, user: str, agent: str, *, limit: int, before: int | None = None) -> Sequence[Page]:
        """Pages, newest first; with `before`, those with a smaller version number."""
        where = {**_notepad(tenant, user, agent), "before": _ALL if before is None else before, "most": limit}
        return [page_from(row) for row in self._run(_NEWEST, where)]

    def insert(self, tenant: str, page: Page) -> bool:
        """Keep a page; False, and nothing kept, if its version is taken."""
        kept = self._run(_INSERT[self._connection.dialect.name], page_values(tenant, page)).rowcount > 0
        if kept:
            self._effects.touch(tenant, page.user, ChangeKind.NOTEPAD)
        return kept

    def forget(self, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        """A message of the session says nothing any more (None: all of them): leave nothing of what was made of it."""
        key = row.key
        self.alone(key.tenant, key.user, key.agent)
        this = _notepad(key.tenant, key.user, key.agent)
        made = self._run(_MADE, this).all()
        read = {
            page.version
            for page in made
            if page.session_uid == row.id and (seq is None or page.start <= seq < page.stop)
        }
        if not read:
            return ()
        lost = _lost(made, read)
        self._run(_DELETE, [{**this, "b_version": version} for version in sorted(lost)])
        self._effects.erased = True
        self._effects.touch(key.tenant, key.user, ChangeKind.NOTEPAD)
        gone = (page.session_uid for page in made if page.version in lost and page.session_uid is not None)
        return tuple(dict.fromkeys(gone))


def _lost(made: Sequence[AnyRow], read: set[int]) -> set[int]:
    """These pages, all that was made of them, and whatever else was made of the sessions that lose one by that."""
    while True:
        lost = made_of(made, read)
        losing = {page.session_uid for page in made if page.version in lost} - {None}
        more = {page.version for page in made if page.session_uid in losing}
        if more <= lost:
            return lost
        read = lost | more


def page_from(row: AnyRow) -> Page:
    """The page in a row of `PAGES`."""
    key = None
    if row.session_uid is not None:
        key = SessionKey(tenant=row.tenant_id, user=row.user_id, agent=row.agent_id, session=row.session_id)
    return Page(
        user=row.user_id,
        agent=row.agent_id,
        version=row.version,
        action=PageAction(row.action),
        text=row.text,
        tokens=row.tokens,
        session=key,
        session_id=row.session_uid,
        range=SeqRange(row.start, row.stop) if row.start is not None else None,
        method=Method(row.method) if row.method is not None else None,
        model=row.model,
        prompt_version=row.prompt_version,
        trust=Trust(row.trust),
        restores=row.restores,
        created_at=row.created_at,
    )


def page_values(tenant: str, page: Page) -> Mapping[str, Any]:
    """The page as a row."""
    return {
        "tenant_id": tenant,
        "user_id": page.user,
        "agent_id": page.agent,
        "version": page.version,
        "action": page.action.value,
        "text": page.text,
        "tokens": page.tokens,
        "session_uid": page.session_id,
        "start": page.range.start if page.range is not None else None,
        "stop": page.range.stop if page.range is not None else None,
        "method": page.method.value if page.method is not None else None,
        "model": page.model,
        "prompt_version": page.prompt_version,
        "trust": page.trust.value,
        "restores": page.restores,
        "created_at": page.created_at,
    }


def _notepad(tenant: str, user: str, agent: str) -> Mapping[str, str]:
    return {"b_tenant": tenant, "b_user": user, "b_agent": agent}
