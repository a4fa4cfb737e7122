"""What is known in another store into this one, exactly as it was there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.fact_records import ChunkRecord
from anaphora.domain.facts import FactVersion, Source
from anaphora.ports.exchange import FactEntry, Said
from anaphora.ports.rows import SessionRow
from anaphora.storage.bulk import insert_bulk
from anaphora.storage.effects import Effects
from anaphora.storage.fact_rows import fact_values, source_values, version_values
from anaphora.storage.fact_tables import chunks, fact_sources, fact_terms, fact_versions, facts
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.tables import messages

_OWNERS = by_keys((facts.c.id, facts.c.user_id), (facts.c.tenant_id, facts.c.id))
_SAYING = by_keys(
    (facts.c.user_id, facts.c.subject_id, facts.c.content_key, facts.c.id),
    (facts.c.tenant_id, facts.c.user_id, facts.c.subject_id, facts.c.content_key),
    sa.text("facts.state IN ('active', 'review')"),  # as the index has it: parameters would not use it
)
_SAID = by_keys(
    (messages.c.session_uid, messages.c.seq, messages.c.id, messages.c.version, messages.c.deleted),
    (messages.c.tenant_id, messages.c.session_uid, messages.c.seq),
)
_SOURCES = by_keys(
    (fact_sources.c.fact_id, fact_sources.c.session_uid, fact_sources.c.seq),
    (fact_sources.c.tenant_id, fact_sources.c.fact_id, fact_sources.c.session_uid, fact_sources.c.seq),
)
_INSERT = {table: sa.insert(table) for table in (facts, fact_versions, fact_sources, fact_terms, chunks)}
_THESE = sa.bindparam("b_ids", expanding=True, type_=sa.Uuid)
_UNNAMED = (
    sa.update(facts)
    .where(facts.c.tenant_id == sa.bindparam("b_tenant"), facts.c.id.in_(_THESE))
    .values(superseded_by=None)
)
_NOW = (
    sa.select(facts.c.version)
    .where(facts.c.tenant_id == sa.bindparam("b_tenant"), facts.c.id == fact_versions.c.fact_id)
    .scalar_subquery()
)
_UNNAMED_VERSION = (
    sa.update(fact_versions)
    .where(
        fact_versions.c.tenant_id == sa.bindparam("b_tenant"),
        fact_versions.c.fact_id.in_(_THESE),
        fact_versions.c.version == _NOW,
    )
    .values(superseded_by=None)
)


class SqlRestoreFacts:
    """`ports.exchange.RestoreFacts` over one transaction; and the chunks of sessions."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._connection = connection
        self._effects = effects

    def fact_owners(self, tenant: str, ids: Iterable[UUID]) -> Mapping[UUID, str]:
        """Whose those of the facts are that are there."""
        return {row.id: row.user_id for row in self._by_keys(_OWNERS, [(tenant, uid) for uid in ids])}

    def facts_saying(
        self, tenant: str, contents: Iterable[tuple[str, str, str]]
    ) -> Mapping[tuple[str, str, str], UUID]:
        """Facts that are believed or in review, by owner, subject (`""`: the owner) and content key."""
        rows = self._by_keys(_SAYING, [(tenant, *content) for content in contents])
        return {(row.user_id, row.subject_id, row.content_key): row.id for row in rows}

    def said(self, tenant: str, places: Iterable[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], Said]:
        """Those of the messages (session and number) that are there."""
        rows = self._by_keys(_SAID, [(tenant, *place) for place in places])
        return {(row.session_uid, row.seq): Said(id=row.id, version=row.version, deleted=row.deleted) for row in rows}

    def known_sources(self, tenant: str, sources: Iterable[tuple[UUID, UUID, int]]) -> set[tuple[UUID, UUID, int]]:
        """Those of the sources (fact, session and number) that are there."""
        rows = self._by_keys(_SOURCES, [(tenant, *source) for source in sources])
        return {(row.fact_id, row.session_uid, row.seq) for row in rows}

    def add_facts(self, tenant: str, entries: Sequence[FactEntry]) -> None:
        """Insert facts with their versions, sources and terms."""
        for owner in {entry.fact.owner for entry in entries}:
            self._effects.touch(tenant, owner, ChangeKind.FACTS)
        self._put(facts, [fact_values(tenant, entry.fact, entry.key) for entry in entries])
        self._put(fact_versions, [line for entry in entries for line in _versions(tenant, entry)])
        self.add_sources(tenant, [(entry.fact.id, source) for entry in entries for source in entry.fact.sources])
        self._put(fact_terms, [line for entry in entries for line in _terms(tenant, entry)])

    def add_sources(self, tenant: str, sources: Sequence[tuple[UUID, Source]]) -> None:
        """Insert sources of facts that are there."""
        self._put(fact_sources, [source_values(tenant, fact_id, source) for fact_id, source in sources])

    def without_successor(self, tenant: str, owner: str | None, *, limit: int) -> Sequence[UUID]:
        """Facts of an owner (None: of all) that say which fact took their place, where there is none of that id."""
        other = facts.alias("other")
        there = sa.select(sa.literal(1)).where(other.c.tenant_id == tenant, other.c.id == facts.c.superseded_by)
        query = sa.select(facts.c.id).where(
            facts.c.tenant_id == tenant, facts.c.superseded_by.is_not(None), ~there.exists()
        )
        if owner is not None:
            query = query.where(facts.c.user_id == owner)
        return self._connection.execute(query.limit(limit)).scalars().all()

    def forget_successors(self, tenant: str, ids: Sequence[UUID]) -> None:
        """They stay as they are, and say no longer which fact took their place."""
        for statement in (_UNNAMED_VERSION, _UNNAMED):
            self._connection.execute(statement, {"b_tenant": tenant, "b_ids": list(ids)})

    def _add_chunks(self, row: SessionRow, records: Sequence[ChunkRecord]) -> None:
        self._put(chunks, [_chunk(row, record) for record in records])

    def _by_keys(
        self, statement: Mapping[str, sa.Select[Any]], keys: Sequence[Sequence[str | int | UUID]]
    ) -> Iterable[Any]:
        """Rows with these keys."""
        return self._connection.execute(statement[self._connection.dialect.name], key_parameters(keys)) if keys else ()

    def _put(self, table: sa.Table, lines: Sequence[Mapping[str, Any]]) -> None:
        if lines:
            insert_bulk(self._connection, _INSERT[table], table, lines)


def _versions(tenant: str, entry: FactEntry) -> Iterable[Mapping[str, Any]]:
    """Every version of a fact, the one that it is now among them."""
    for version in entry.versions:
        yield _version(tenant, entry.fact.id, version)
    yield version_values(tenant, entry.fact, entry.action, entry.restores)


def _version(tenant: str, fact_id: UUID, version: FactVersion) -> Mapping[str, Any]:
    return {
        "tenant_id": tenant,
        "fact_id": fact_id,
        "version": version.version,
        "action": version.action.value,
        "at": version.at,
        "category": version.category,
        "content": version.content,
        "importance": version.importance,
        "visibility": version.visibility.value,
        "state": version.state.value,
        "pinned": version.pinned,
        "trust": version.trust.value,
        "doubt": version.doubt,
        "valid_to": version.valid_to,
        "superseded_by": version.superseded_by,
        "restores": version.restores,
    }


def _terms(tenant: str, entry: FactEntry) -> Iterable[Mapping[str, Any]]:
    for term in dict.fromkeys(entry.terms):
        yield {
            "tenant_id": tenant,
            "fact_id": entry.fact.id,
            "user_id": entry.fact.owner,
            "subject_id": entry.fact.subject or "",
            "term": term,
        }


def _chunk(row: SessionRow, chunk: ChunkRecord) -> Mapping[str, Any]:
    return {
        "tenant_id": row.key.tenant,
        "id": chunk.id,
        "session_uid": row.id,
        "start": chunk.range.start,
        "stop": chunk.range.stop,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "method": chunk.method.value,
        "model": chunk.model,
        "prompt_version": chunk.prompt_version,
        "trust": chunk.trust.value,
        "first_at": chunk.first_at,
        "last_at": chunk.last_at,
        "created_at": chunk.created_at,
        "stale": chunk.stale,
    }
