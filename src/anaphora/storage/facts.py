"""Facts: their rows, sources, terms and histories, and what was buried."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.facts import Fact, FactAction, FactState, FactVersion, Source
from anaphora.domain.messages import Trust
from anaphora.ports.facts import Reader
from anaphora.ports.rows import SessionRow
from anaphora.storage.effects import Effects
from anaphora.storage.fact_keeping import SqlKeepFacts
from anaphora.storage.fact_reading import by_standing, by_terms, of_others, own, sources_of, with_sources
from anaphora.storage.fact_rows import (
    FACT_COLUMNS,
    fact_from,
    fact_values,
    source_values,
    version_from,
    version_values,
)
from anaphora.storage.fact_tables import fact_sources, fact_terms, fact_tombstones, fact_versions, facts
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.scope import raw
from anaphora.storage.upsert import insert_if_absent

#: databases with many writers: who compares what is known with what is new must be alone between the two
_ALONE: Mapping[str, sa.TextClause] = MappingProxyType(
    {"postgresql": sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 2))")}
)
_BELIEVED = (FactState.ACTIVE.value, FactState.REVIEW.value)
_INSERT = insert_if_absent(facts)
_INSERT_SOURCE = insert_if_absent(fact_sources)
_INSERT_TERMS, _INSERT_VERSION = sa.insert(fact_terms), sa.insert(fact_versions)
_THIS = (facts.c.tenant_id == sa.bindparam("b_tenant"), facts.c.id == sa.bindparam("b_id"))
#: what had expired with all that told it is told again
_IN_SIGHT = sa.update(facts).where(*_THIS, facts.c.expired_at.is_not(None)).values(expired_at=None)
_FORGET_TERMS = sa.delete(fact_terms).where(
    fact_terms.c.tenant_id == sa.bindparam("b_tenant"), fact_terms.c.fact_id == sa.bindparam("b_id")
)
_VERSIONS = (
    sa.select(fact_versions)
    .where(fact_versions.c.tenant_id == sa.bindparam("tenant"), fact_versions.c.fact_id == sa.bindparam("fact"))
    .order_by(fact_versions.c.version)
)
_SAME_KEY = sa.select(facts.c.id).where(
    facts.c.tenant_id == sa.bindparam("tenant"),
    facts.c.user_id == sa.bindparam("owner"),
    facts.c.subject_id == sa.bindparam("subject"),
    facts.c.content_key == sa.bindparam("key"),
    facts.c.state.in_(_BELIEVED),
    facts.c.id != sa.bindparam("fact"),
)
_OF_PLACES = by_keys(
    (fact_sources.c.fact_id, raw(fact_sources.c.session_uid), fact_sources.c.seq),
    (fact_sources.c.tenant_id, fact_sources.c.session_uid, fact_sources.c.seq),
)
#: what no source speaks for any more, and no owner stands for
_UNSUPPORTED = sa.select(*FACT_COLUMNS).where(
    facts.c.tenant_id == sa.bindparam("tenant"),
    facts.c.id.in_(sa.bindparam("ids", expanding=True, type_=sa.Uuid)),
    facts.c.trust != Trust.OWNER_CONFIRMED.value,
    ~sa.select(sa.literal(1))
    .where(fact_sources.c.tenant_id == facts.c.tenant_id, fact_sources.c.fact_id == facts.c.id)
    .exists(),
)
_TOMBS = (
    sa.select(fact_tombstones.c.id, fact_tombstones.c.marks)
    .where(
        fact_tombstones.c.tenant_id == sa.bindparam("tenant"),
        fact_tombstones.c.user_id == sa.bindparam("owner"),
        fact_tombstones.c.subject_id == sa.bindparam("subject"),
    )
    .order_by(fact_tombstones.c.id.desc())
    .limit(sa.bindparam("most"))
)


class SqlFacts(SqlKeepFacts):
    """`ports.facts.Facts` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._connection = connection
        self._run = connection.execute
        self._effects = effects

    def alone(self, tenant: str, owner: str) -> None:
        """Nobody else changes this owner's facts until the end of the transaction."""
        alone = _ALONE.get(self._connection.dialect.name)
        if alone is not None:
            self._run(alone, {"name": json.dumps([tenant, owner])})

    def get(self, reader: Reader, fact_id: UUID) -> Fact | None:
        """A fact that the reader may see; with its sources if it is the reader's own."""
        query = sa.select(*FACT_COLUMNS).where(facts.c.id == fact_id)
        for part in (own(query, reader), of_others(query, reader)):
            rows = self._run(part).all()
            if rows:
                return with_sources(self._connection, reader, rows)[0]
        return None

    def list(
        self,
        reader: Reader,
        *,
        states: Sequence[FactState],
        category: str | None = None,
        after: UUID | None = None,
        limit: int,
    ) -> Sequence[Fact]:
        """Facts that the reader may see, newest first; of others only what is active; `after`: those older than it."""
        query = sa.select(*FACT_COLUMNS).where(facts.c.state.in_([state.value for state in states]))
        if category is not None:
            query = query.where(facts.c.category == category)
        if after is not None:
            query = query.where(facts.c.id < after)
        query = query.order_by(facts.c.id.desc()).limit(limit)
        rows = [row for part in (own(query, reader), of_others(query, reader)) for row in self._run(part)]
        rows.sort(key=lambda row: row.id, reverse=True)
        return with_sources(self._connection, reader, rows[:limit])

    def standing(self, reader: Reader, *, limit: int) -> Sequence[Fact]:
        """Active facts by `Fact.standing`, highest first: up to `limit` of the own, and up to `limit` of others."""
        return [fact_from(row) for row in self._run(*by_standing(reader, limit))]

    def with_terms(self, reader: Reader, terms: Sequence[str], *, limit: int) -> Sequence[tuple[Fact, int]]:
        """Active facts that have some of the terms, with how many; those with most first, of own and others each."""
        if not terms:
            return ()
        parts = [by_terms(terms, limit, of_user=mine, reader=reader) for mine in (True, False)]
        return [(fact_from(row), row.having) for part in parts for row in self._run(part)]

    def with_sources(
        self, reader: Reader, places: Iterable[tuple[UUID, int]]
    ) -> Sequence[tuple[Fact, tuple[UUID, int]]]:
        """Own active facts that were learned from these messages (session and number), each with one of them."""
        wanted = list(places)
        if not wanted:
            return ()
        dialect = self._connection.dialect.name
        ids = {(uid.hex if dialect == "sqlite" else uid): uid for uid, _ in wanted}
        keys = key_parameters([(reader.tenant, uid, seq) for uid, seq in wanted])
        found = {row[0]: (ids[row[1]], row[2]) for row in self._run(_OF_PLACES[dialect], keys)}
        if not found:
            return ()
        query = sa.select(*FACT_COLUMNS).where(facts.c.id.in_(list(found)), facts.c.state == FactState.ACTIVE.value)
        own_facts = with_sources(self._connection, reader, self._run(own(query, reader)).all())
        return [(fact, found[fact.id]) for fact in own_facts]

    def known(self, tenant: str, owner: str, subject: str, terms: Sequence[str], *, limit: int) -> Sequence[Fact]:
        """What the owner's memory holds of a subject, active or in review: by terms in common, then by standing."""
        having = (
            sa.select(fact_terms.c.fact_id, sa.func.count().label("having"))
            .where(fact_terms.c.tenant_id == tenant, fact_terms.c.user_id == owner, fact_terms.c.term.in_(list(terms)))
            .group_by(fact_terms.c.fact_id)
            .subquery()
        )
        mine = sa.select(*FACT_COLUMNS).where(
            facts.c.tenant_id == tenant,
            facts.c.user_id == owner,
            facts.c.subject_id == subject,
            facts.c.state.in_(_BELIEVED),
        )
        alike = mine.join(having, having.c.fact_id == facts.c.id).order_by(
            having.c.having.desc(), facts.c.standing.desc(), facts.c.id.desc()
        )
        first = mine.order_by(facts.c.standing.desc(), facts.c.id.desc())
        rows = {row.id: row for query in (alike, first) for row in self._run(query.limit(limit))}
        return [fact_from(row) for row in list(rows.values())[:limit]]

    def insert(self, tenant: str, fact: Fact, *, key: str, terms: Sequence[str], action: FactAction) -> bool:
        """Keep a new fact with its sources; False, and nothing kept, if the owner has one with this content key."""
        if not self._run(_INSERT[self._connection.dialect.name], fact_values(tenant, fact, key)).rowcount:
            return False
        self._effects.touch(tenant, fact.owner, ChangeKind.FACTS)
        self._keep(tenant, fact, terms, action, None)
        for source in fact.sources:
            self.add_source(tenant, fact.id, source)
        return True

    def change(
        self,
        tenant: str,
        fact: Fact,
        *,
        action: FactAction,
        key: str,
        terms: Sequence[str],
        restores: int | None = None,
    ) -> bool:
        """Keep the next version of a fact (`fact.version` is one more than what is kept)."""
        where = {"tenant": tenant, "owner": fact.owner, "subject": fact.subject or "", "key": key, "fact": fact.id}
        if fact.state.value in _BELIEVED and self._run(_SAME_KEY, where).first() is not None:
            return False
        values = {name: value for name, value in fact_values(tenant, fact, key).items() if name not in _FIXED}
        change = sa.update(facts).where(*_THIS, facts.c.version == fact.version - 1).values(**values)
        if not self._run(change, {"b_tenant": tenant, "b_id": fact.id}).rowcount:
            return False
        self._effects.touch(tenant, fact.owner, ChangeKind.FACTS)
        self._run(_FORGET_TERMS, {"b_tenant": tenant, "b_id": fact.id})
        self._keep(tenant, fact, terms, action, restores)
        return True

    def add_source(self, tenant: str, fact_id: UUID, source: Source) -> None:
        """One more message that says the same; one that is known already changes nothing."""
        self._run(_INSERT_SOURCE[self._connection.dialect.name], source_values(tenant, fact_id, source))
        self._run(_IN_SIGHT, {"b_tenant": tenant, "b_id": fact_id})

    def versions(self, tenant: str, fact_id: UUID) -> Sequence[FactVersion]:
        """Every version, the oldest first."""
        return [version_from(row) for row in self._run(_VERSIONS, {"tenant": tenant, "fact": fact_id})]

    def replaced_by(self, tenant: str, owner: str, fact_id: UUID) -> Sequence[Fact]:
        """The owner's facts whose place this one took."""
        query = sa.select(*FACT_COLUMNS).where(
            facts.c.tenant_id == tenant, facts.c.user_id == owner, facts.c.superseded_by == fact_id
        )
        rows = self._run(query.order_by(facts.c.id)).all()
        sources = sources_of(self._connection, tenant, [row.id for row in rows])
        return [fact_from(row, sources[row.id]) for row in rows]

    def delete(self, tenant: str, fact_id: UUID) -> None:
        """Leave nothing of a fact: no source, no version, no term."""
        this = {"b_tenant": tenant, "b_id": fact_id}
        self._run(_FORGET_TERMS, this)
        for table in (fact_sources, fact_versions):
            self._run(sa.delete(table).where(table.c.tenant_id == tenant, table.c.fact_id == fact_id))
        self._run(sa.delete(facts).where(*_THIS), this)
        self._effects.erased = True

    def unsay(self, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        """A message of the session says nothing any more (None: all of them): its quotes go."""
        gone = [fact_sources.c.tenant_id == row.key.tenant, fact_sources.c.session_uid == row.id]
        if seq is not None:
            gone.append(fact_sources.c.seq == seq)
        ids = set(self._run(sa.select(fact_sources.c.fact_id).where(*gone)).scalars())
        if not ids:
            return ()
        self._run(sa.delete(fact_sources).where(*gone))
        self._effects.erased = True
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.FACTS)
        return [fact_from(found) for found in self._run(_UNSUPPORTED, {"tenant": row.key.tenant, "ids": sorted(ids)})]

    def bury(
        self, tenant: str, owner: str, subject: str, marks: Sequence[str], *, tomb_id: UUID, now: datetime
    ) -> None:
        """Keep a tombstone of a deleted fact: keyed hashes, no content."""
        self._effects.touch(tenant, owner, ChangeKind.FACTS)
        self._run(
            sa.insert(fact_tombstones),
            {
                "tenant_id": tenant,
                "id": tomb_id,
                "user_id": owner,
                "subject_id": subject,
                "marks": list(marks),
                "created_at": now,
            },
        )

    def tombstones(self, tenant: str, owner: str, subject: str, *, limit: int) -> Sequence[tuple[UUID, Sequence[str]]]:
        """The tombstones of an owner and a subject, the newest first."""
        rows = self._run(_TOMBS, {"tenant": tenant, "owner": owner, "subject": subject, "most": limit})
        return [(row.id, row.marks) for row in rows]

    def unbury(self, tenant: str, tombs: Iterable[UUID]) -> None:
        """Forget tombstones: the owner says it again."""
        wanted = list(tombs)
        if wanted:
            self._run(
                sa.delete(fact_tombstones).where(
                    fact_tombstones.c.tenant_id == tenant, fact_tombstones.c.id.in_(wanted)
                )
            )

    def _keep(self, tenant: str, fact: Fact, terms: Sequence[str], action: FactAction, restores: int | None) -> None:
        self._run(_INSERT_VERSION, version_values(tenant, fact, action, restores))
        words = [
            {
                "tenant_id": tenant,
                "fact_id": fact.id,
                "user_id": fact.owner,
                "subject_id": fact.subject or "",
                "term": term,
            }
            for term in dict.fromkeys(terms)
        ]
        if words:
            self._run(_INSERT_TERMS, words)


#: what no change touches
_FIXED = frozenset({"tenant_id", "id", "user_id", "agent_id", "subject_id", "valid_from", "created_at"})
