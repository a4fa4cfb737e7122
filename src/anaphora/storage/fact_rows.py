"""Facts, sources, versions and chunks as rows, and rows as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import CHANGEABLE, Fact, FactAction, FactState, FactVersion, Source, Visibility
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method
from anaphora.storage.fact_tables import chunks, fact_sources, fact_versions, facts
from anaphora.storage.tables import sessions
from anaphora.storage.types import AnyRow

FACT_COLUMNS = (
    facts.c.id,
    facts.c.user_id,
    facts.c.agent_id,
    facts.c.subject_id,
    facts.c.category,
    facts.c.content,
    facts.c.importance,
    facts.c.visibility,
    facts.c.state,
    facts.c.pinned,
    facts.c.trust,
    facts.c.doubt,
    facts.c.valid_from,
    facts.c.valid_to,
    facts.c.superseded_by,
    facts.c.version,
    facts.c.created_at,
    facts.c.updated_at,
)
SOURCE_COLUMNS = (
    fact_sources.c.fact_id,
    fact_sources.c.session_uid,
    sessions.c.tenant_id,
    sessions.c.user_id,
    sessions.c.agent_id,
    sessions.c.session_id,
    fact_sources.c.seq,
    fact_sources.c.message_id,
    fact_sources.c.quote,
    fact_sources.c.start,
    fact_sources.c.stop,
    fact_sources.c.trust,
    fact_sources.c.model,
    fact_sources.c.prompt_version,
    fact_sources.c.learned_at,
)
CHUNK_COLUMNS = (
    chunks.c.id,
    chunks.c.session_uid,
    chunks.c.start,
    chunks.c.stop,
    chunks.c.text,
    chunks.c.tokens,
    chunks.c.method,
    chunks.c.model,
    chunks.c.prompt_version,
    chunks.c.trust,
    chunks.c.first_at,
    chunks.c.last_at,
    chunks.c.created_at,
    chunks.c.stale,
)


def fact_from(row: AnyRow, sources: Sequence[Source] = ()) -> Fact:
    """The fact in a row of `FACT_COLUMNS`."""
    return Fact(
        id=row.id,
        owner=row.user_id,
        agent=row.agent_id,
        subject=row.subject_id or None,
        category=row.category,
        content=row.content,
        importance=row.importance,
        visibility=Visibility(row.visibility),
        state=FactState(row.state),
        pinned=row.pinned,
        trust=Trust(row.trust),
        doubt=row.doubt,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        superseded_by=row.superseded_by,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        sources=tuple(sources),
    )


def fact_values(tenant: str, fact: Fact, key: str) -> Mapping[str, Any]:
    """The fact as a row."""
    return {
        "tenant_id": tenant,
        "id": fact.id,
        "user_id": fact.owner,
        "agent_id": fact.agent,
        "subject_id": fact.subject or "",
        **_changeable(fact),
        "content_key": key,
        "standing": fact.standing,
        "valid_from": fact.valid_from,
        "version": fact.version,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
    }


def version_values(tenant: str, fact: Fact, action: FactAction, restores: int | None) -> Mapping[str, Any]:
    """The fact as it now is, as an entry of its history."""
    return {
        "tenant_id": tenant,
        "fact_id": fact.id,
        "version": fact.version,
        "action": action.value,
        "at": fact.updated_at,
        **_changeable(fact),
        "restores": restores,
    }


def _changeable(fact: Fact) -> Mapping[str, Any]:
    """What of a fact a change may change, as its row and its history have it."""
    values = {name: getattr(fact, name) for name in CHANGEABLE}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()}


def version_from(row: AnyRow) -> FactVersion:
    """The entry in a row of `fact_versions`."""
    values = {column.name: getattr(row, column.name) for column in fact_versions.columns}
    del values["tenant_id"], values["fact_id"]
    return FactVersion(
        **{
            **values,
            "action": FactAction(row.action),
            "visibility": Visibility(row.visibility),
            "state": FactState(row.state),
            "trust": Trust(row.trust),
        }
    )


def source_values(tenant: str, fact_id: object, source: Source) -> Mapping[str, Any]:
    """The source as a row."""
    return {
        "tenant_id": tenant,
        "fact_id": fact_id,
        "session_uid": source.session_id,
        "seq": source.seq,
        "message_id": source.message_id,
        "quote": source.quote,
        "start": source.range.start,
        "stop": source.range.stop,
        "trust": source.trust.value,
        "model": source.model,
        "prompt_version": source.prompt_version,
        "learned_at": source.learned_at,
    }


def source_from(row: AnyRow) -> Source:
    """The source in a row of `SOURCE_COLUMNS`."""
    _, uid, tenant, user, agent, session, seq, message_id, quote, start, stop, trust, model, prompt, at = row
    return Source(
        session_id=uid,
        key=SessionKey(tenant=tenant, user=user, agent=agent, session=session),
        seq=seq,
        message_id=message_id,
        quote=quote,
        range=SeqRange(start, stop),
        trust=Trust(trust),
        model=model,
        prompt_version=prompt,
        learned_at=at,
    )


def chunk_values(tenant: str, chunk: Chunk) -> Mapping[str, Any]:
    """The chunk as a row."""
    return {
        "tenant_id": tenant,
        "id": chunk.id,
        "session_uid": chunk.session_id,
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


def chunk_from(row: AnyRow) -> Chunk:
    """The chunk in a row of `CHUNK_COLUMNS`."""
    return Chunk(
        id=row.id,
        session_id=row.session_uid,
        range=SeqRange(row.start, row.stop),
        text=row.text,
        tokens=row.tokens,
        method=Method(row.method),
        model=row.model,
        prompt_version=row.prompt_version,
        trust=Trust(row.trust),
        first_at=row.first_at,
        last_at=row.last_at,
        created_at=row.created_at,
        stale=row.stale,
    )
