"""Subjects, facts and chunks out of the database, a page at a time; `storage.fact_restore` is the way back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.fact_records import (
    ChunkRecord,
    FactRecord,
    FactSourceRecord,
    FactVersionRecord,
    SubjectRecord,
)
from anaphora.domain.facts import FactAction
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.ports.exchange import KeptSource, Scope
from anaphora.ports.rows import SessionRow
from anaphora.storage.fact_rows import (
    CHUNK_COLUMNS,
    FACT_COLUMNS,
    SOURCE_COLUMNS,
    chunk_from,
    fact_from,
    version_from,
)
from anaphora.storage.fact_tables import chunks, fact_sources, fact_versions, facts, subject_members, subjects
from anaphora.storage.laws import of_session
from anaphora.storage.order import by_code_points
from anaphora.storage.tables import messages, sessions
from anaphora.storage.types import AnyRow

#: chunks, versions or sources that are in memory at once
_ROWS = 500

_CHUNKS = (
    sa.select(*CHUNK_COLUMNS)
    .where(
        chunks.c.tenant_id == sa.bindparam("tenant", type_=sa.Text),
        chunks.c.session_uid == sa.bindparam("uid", type_=sa.Uuid),
        chunks.c.start >= sa.bindparam("start", type_=sa.Integer),
    )
    .order_by(chunks.c.start)
    .limit(_ROWS)
)
_Query = sa.Select[Any]


class SqlDumpFacts:
    """`ports.exchange.DumpFacts` over one transaction; and the chunks of sessions."""

    _connection: sa.Connection

    def subjects(self, scope: Scope, *, after: str | None, limit: int) -> Sequence[SubjectRecord]:
        """Subjects by id, by code points, behind `after`, with their members."""
        place = by_code_points(subjects.c.id, self._connection.dialect.name)
        query = sa.select(subjects).where(subjects.c.tenant_id == scope.tenant, *_meant(scope))
        if after is not None:
            query = query.where(place > after)
        rows = self._connection.execute(query.order_by(place).limit(limit)).all()
        members = self._members(scope.tenant, [row.id for row in rows])
        return [SubjectRecord.of(row, record="subject", owner=row.owner_id, members=members[row.id]) for row in rows]

    def facts(
        self, scope: Scope, *, after: UUID | None, limit: int
    ) -> Iterator[FactRecord | FactVersionRecord | KeptSource]:
        """Facts by id, behind `after`, each before its earlier versions and its sources; read a page at a time."""
        rows = self._connection.execute(_facts(scope, after).limit(limit)).all()
        ids = [row.id for row in rows]
        versions = _Ahead(self._versions(scope.tenant, ids))
        sources = _Ahead(self._sources(scope, ids))
        for row in rows:
            yield _fact(row)
            for version in versions.of(row.id):
                yield _version(version)
            for source in sources.of(row.id):
                yield _source(source)

    def _chunks(self, row: SessionRow) -> Iterator[ChunkRecord]:
        """Every chunk of a session, in order."""
        start = 0
        while True:
            where = {"tenant": row.key.tenant, "uid": row.id, "start": start}
            lines = self._connection.execute(_CHUNKS, where).all()
            yield from map(_chunk, lines)
            if len(lines) < _ROWS:
                return
            start = lines[-1].stop

    def _members(self, tenant: str, ids: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        if ids:
            order = by_code_points(subject_members.c.user_id, self._connection.dialect.name)
            query = sa.select(subject_members.c.subject_id, subject_members.c.user_id).where(
                subject_members.c.tenant_id == tenant, subject_members.c.subject_id.in_(list(ids))
            )
            for subject, user in self._connection.execute(query.order_by(order)):
                found[subject].append(user)
        return found

    def _versions(self, tenant: str, ids: Sequence[UUID]) -> Iterator[AnyRow]:
        query = (
            sa.select(fact_versions)
            .join(facts, (facts.c.tenant_id == fact_versions.c.tenant_id) & (facts.c.id == fact_versions.c.fact_id))
            .where(
                fact_versions.c.tenant_id == tenant,
                fact_versions.c.fact_id.in_(list(ids)),
                fact_versions.c.version < facts.c.version,
            )
        )
        place = (fact_versions.c.fact_id, fact_versions.c.version)
        return self._paged(query, place, lambda row: (row.fact_id, row.version), empty=not ids)

    def _sources(self, scope: Scope, ids: Sequence[UUID]) -> Iterator[AnyRow]:
        """By names: the ids of sessions differ from database to database."""
        same = (
            (messages.c.tenant_id == fact_sources.c.tenant_id)
            & (messages.c.session_uid == fact_sources.c.session_uid)
            & (messages.c.seq == fact_sources.c.seq)
        )
        query = (
            sa.select(*SOURCE_COLUMNS, sessions.c.epoch, messages.c.version)
            .join(sessions, of_session(fact_sources))
            .join(messages, same)
            .where(
                fact_sources.c.tenant_id == scope.tenant,
                fact_sources.c.fact_id.in_(list(ids)),
                *of_sessions(scope),
            )
        )
        dialect = self._connection.dialect.name
        names = (by_code_points(sessions.c.agent_id, dialect), by_code_points(sessions.c.session_id, dialect))
        place = (fact_sources.c.fact_id, *names, fact_sources.c.seq)
        return self._paged(
            query, place, lambda row: (row.fact_id, row.agent_id, row.session_id, row.seq), empty=not ids
        )

    def _paged(
        self,
        query: _Query,
        place: Sequence[sa.ColumnElement[Any]],
        key: Callable[[AnyRow], Sequence[Any]],
        *,
        empty: bool,
    ) -> Iterator[AnyRow]:
        """The rows of a query in the order of their places."""
        page = query
        while not empty:
            rows = self._connection.execute(page.order_by(*place).limit(_ROWS)).all()
            yield from rows
            if len(rows) < _ROWS:
                return
            last = (sa.literal(value, column.type) for value, column in zip(key(rows[-1]), place, strict=True))
            page = query.where(sa.tuple_(*place) > sa.tuple_(*last))


class _Ahead:
    """Rows that stand in the order of their facts, handed out fact by fact."""

    def __init__(self, rows: Iterator[AnyRow]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def of(self, fact_id: UUID) -> Iterator[AnyRow]:
        """Those of the next fact that has any, if it is this one."""
        while self._next is not None and self._next.fact_id == fact_id:
            yield self._next
            self._next = next(self._rows, None)


def of_sessions(scope: Scope) -> Iterator[sa.ColumnElement[bool]]:
    """The session is meant."""
    yield sessions.c.tenant_id == scope.tenant
    wanted = (
        (sessions.c.user_id, scope.user),
        (sessions.c.agent_id, scope.agent),
        (sessions.c.session_id, scope.session),
    )
    for column, name in wanted:
        if name is not None:
            yield column == name


def _meant(scope: Scope) -> Iterator[sa.ColumnElement[bool]]:
    """The subject is one of a user who is meant."""
    mine = sa.select(subject_members.c.subject_id).where(subject_members.c.tenant_id == scope.tenant)
    if scope.names_sessions:
        told = (
            (sessions.c.tenant_id == subject_members.c.tenant_id)
            & (sessions.c.user_id == subject_members.c.user_id)
            & (sessions.c.subject == subject_members.c.subject_id)
        )
        yield subjects.c.id.in_(mine.join(sessions, told).where(*of_sessions(scope)))
    elif scope.user is not None:
        yield subjects.c.id.in_(mine.where(subject_members.c.user_id == scope.user))


def _facts(scope: Scope, after: UUID | None) -> _Query:
    now = (
        (fact_versions.c.tenant_id == facts.c.tenant_id)
        & (fact_versions.c.fact_id == facts.c.id)
        & (fact_versions.c.version == facts.c.version)
    )
    query: _Query = sa.select(*FACT_COLUMNS, fact_versions.c.action, fact_versions.c.restores).join(fact_versions, now)
    query = query.where(facts.c.tenant_id == scope.tenant)
    if scope.user is not None:
        query = query.where(facts.c.user_id == scope.user)
    if scope.names_sessions:
        told = (
            sa.select(sa.literal(1))
            .select_from(fact_sources)
            .join(sessions, of_session(fact_sources))
            .where(
                fact_sources.c.tenant_id == facts.c.tenant_id,
                fact_sources.c.fact_id == facts.c.id,
                *of_sessions(scope),
            )
        )
        query = query.where(facts.c.agent_id.is_not(None), told.exists())
    if after is not None:
        query = query.where(facts.c.id > after)
    return query.order_by(facts.c.id)


def _fact(row: AnyRow) -> FactRecord:
    fact = fact_from(row)
    return FactRecord.of(fact, record="fact", action=FactAction(row.action), restores=row.restores)


def _version(row: AnyRow) -> FactVersionRecord:
    return FactVersionRecord.of(version_from(row), record="fact_version", fact=row.fact_id)


def _source(row: AnyRow) -> KeptSource:
    record = FactSourceRecord.of(
        row,
        record="fact_source",
        fact=row.fact_id,
        agent=row.agent_id,
        session=row.session_id,
        range=SeqRange(row.start, row.stop),
        trust=Trust(row.trust),
    )
    return KeptSource(session_id=row.session_uid, epoch=row.epoch, source=record)


def _chunk(row: AnyRow) -> ChunkRecord:
    return ChunkRecord.of(chunk_from(row), record="chunk")
