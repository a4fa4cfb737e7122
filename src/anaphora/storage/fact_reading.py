"""Which facts a reader may see: said once, used by every query (I11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.facts import Fact, FactState, Source, Visibility
from anaphora.ports.facts import Reader
from anaphora.storage.fact_rows import FACT_COLUMNS, SOURCE_COLUMNS, fact_from, source_from
from anaphora.storage.fact_tables import fact_sources, fact_terms, facts, subject_members
from anaphora.storage.tables import sessions

#: the columns of a fact, and what an order goes by
_Query = sa.Select[Any]
_ACTIVE = facts.c.state == FactState.ACTIVE.value
#: not learned from expired sessions alone
_IN_SIGHT = facts.c.expired_at.is_(None)
_SOURCES = (
    sa.select(*SOURCE_COLUMNS)
    .join(
        sessions,
        (sessions.c.tenant_id == fact_sources.c.tenant_id) & (sessions.c.id == fact_sources.c.session_uid),
    )
    .where(
        fact_sources.c.tenant_id == sa.bindparam("tenant"),
        fact_sources.c.fact_id.in_(sa.bindparam("ids", expanding=True, type_=sa.Uuid)),
    )
    .order_by(fact_sources.c.learned_at, fact_sources.c.session_uid, fact_sources.c.seq)
)


def own(query: _Query, reader: Reader) -> _Query:
    """Of a query over `facts`: the reader's own."""
    query = query.where(facts.c.tenant_id == reader.tenant, facts.c.user_id == reader.user, _IN_SIGHT)
    if reader.agent is not None:
        query = query.where(sa.or_(facts.c.agent_id == reader.agent, facts.c.agent_id.is_(None)))
    return _about(query, reader)


def of_others(query: _Query, reader: Reader) -> _Query:
    """Of a query over `facts`: what others share with a subject that the reader is a member of, now."""
    query = query.where(
        facts.c.tenant_id == reader.tenant,
        facts.c.subject_id.in_(_subjects_of(reader)),
        facts.c.visibility == Visibility.SHARED.value,
        _ACTIVE,
        _IN_SIGHT,
        facts.c.user_id != reader.user,
    )
    return _about(query, reader)


def by_standing(query: _Query, limit: int) -> _Query:
    """The active ones, those that a prompt wants most first."""
    return (
        query.where(_ACTIVE)
        .order_by(facts.c.standing.desc(), facts.c.updated_at.desc(), facts.c.id.desc())
        .limit(limit)
    )


def by_terms(terms: Sequence[str], limit: int, *, of_user: bool, reader: Reader) -> _Query:
    """The active ones that have most of the terms."""
    having = sa.func.count().label("having")
    counted = (
        sa.select(fact_terms.c.fact_id, having)
        .where(fact_terms.c.tenant_id == reader.tenant, fact_terms.c.term.in_(list(terms)))
        .group_by(fact_terms.c.fact_id)
    )
    if of_user:
        counted = counted.where(fact_terms.c.user_id == reader.user)
    else:
        counted = counted.where(fact_terms.c.subject_id.in_(_subjects_of(reader)))
    found = counted.subquery()
    query: _Query = sa.select(*FACT_COLUMNS, found.c.having).join(
        found, (facts.c.id == found.c.fact_id) & (facts.c.tenant_id == reader.tenant)
    )
    query = (own if of_user else of_others)(query, reader)
    order = (found.c.having.desc(), facts.c.standing.desc(), facts.c.id.desc())
    return query.where(_ACTIVE).order_by(*order).limit(limit)


def sources_of(connection: sa.Connection, tenant: str, ids: Iterable[UUID]) -> dict[UUID, list[Source]]:
    """The sources of facts, the oldest first."""
    wanted = list(ids)
    found: dict[UUID, list[Source]] = {uid: [] for uid in wanted}
    if wanted:
        for row in connection.execute(_SOURCES, {"tenant": tenant, "ids": wanted}):
            found[row.fact_id].append(source_from(row))
    return found


def with_sources(connection: sa.Connection, reader: Reader, rows: Sequence[Any]) -> list[Fact]:
    """The facts of rows; the reader's own with their sources, those of others without."""
    mine = [row.id for row in rows if row.user_id == reader.user]
    sources = sources_of(connection, reader.tenant, mine)
    return [fact_from(row, sources.get(row.id, ())) for row in rows]


def _about(query: _Query, reader: Reader) -> _Query:
    return query if reader.about is None else query.where(facts.c.subject_id.in_(list(reader.about)))


def _subjects_of(reader: Reader) -> sa.Select[tuple[str]]:
    """What the reader is a member of, at this moment."""
    return sa.select(subject_members.c.subject_id).where(
        subject_members.c.tenant_id == reader.tenant, subject_members.c.user_id == reader.user
    )
