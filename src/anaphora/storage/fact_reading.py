"""Which facts a reader may see: said once, used by every query (I11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
#: what a prompt wants most comes last
_STANDING = (facts.c.standing, facts.c.updated_at, facts.c.id)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Anyone:
    """A `Reader` of a statement that is made before anybody asks: parameters stand in its place."""

    tenant: sa.BindParameter[str]
    user: sa.BindParameter[str]
    agent: sa.BindParameter[str] | None
    about: tuple[sa.BindParameter[str], ...] | None


def own(query: _Query, reader: Reader | _Anyone) -> _Query:
    """Of a query over `facts`: the reader's own."""
    query = query.where(facts.c.tenant_id == reader.tenant, facts.c.user_id == reader.user, _IN_SIGHT)
    if reader.agent is not None:
        query = query.where(sa.or_(facts.c.agent_id == reader.agent, facts.c.agent_id.is_(None)))
    return _about(query, reader)


def of_others(query: _Query, reader: Reader | _Anyone) -> _Query:
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


def by_standing(reader: Reader, limit: int) -> tuple[_Query, Mapping[str, Any]]:
    """The active ones, the own and those of others, up to `limit` of each, those first that a prompt wants most.

    Every prompt asks this: the statement is made once, and both parts are one question. Its parameters come with it.
    """
    about = None if reader.about is None else len(reader.about)
    named = {f"about{number}": subject for number, subject in enumerate(reader.about or ())}
    agent = {} if reader.agent is None else {"agent": reader.agent}
    query = _by_standing(by_agent=bool(agent), about=about)
    return query, {"tenant": reader.tenant, "reader": reader.user, "most": limit, **agent, **named}


@lru_cache(maxsize=16)
def _by_standing(*, by_agent: bool, about: int | None) -> _Query:
    anyone = _Anyone(
        tenant=sa.bindparam("tenant", type_=sa.String),
        user=sa.bindparam("reader", type_=sa.String),
        agent=sa.bindparam("agent", type_=sa.String) if by_agent else None,
        about=None if about is None else tuple(sa.bindparam(f"about{number}") for number in range(about)),
    )
    parts = []
    for part, which in enumerate((own, of_others)):
        query = which(sa.select(*FACT_COLUMNS, facts.c.standing, sa.literal_column(str(part)).label("part")), anyone)
        query = query.where(_ACTIVE).order_by(*(column.desc() for column in _STANDING)).limit(sa.bindparam("most"))
        parts.append(sa.select(query.subquery()))
    both = sa.union_all(*parts).subquery()
    return sa.select(both).order_by(both.c.part, *(both.c[column.name].desc() for column in _STANDING))


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


def _about(query: _Query, reader: Reader | _Anyone) -> _Query:
    return query if reader.about is None else query.where(facts.c.subject_id.in_(list(reader.about)))


def _subjects_of(reader: Reader | _Anyone) -> sa.Select[tuple[str]]:
    """What the reader is a member of, at this moment."""
    return sa.select(subject_members.c.subject_id).where(
        subject_members.c.tenant_id == reader.tenant, subject_members.c.user_id == reader.user
    )
