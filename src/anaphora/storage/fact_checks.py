"""What must hold of facts and chunks, as questions to the database."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from anaphora.domain.facts import FactState, Visibility
from anaphora.domain.messages import Trust
from anaphora.services.settings import live_reader
from anaphora.storage.fact_tables import chunks, fact_sources, fact_versions, facts
from anaphora.storage.laws import Breach, Law, same_session
from anaphora.storage.tables import heads, messages
from anaphora.strategies.batch_extraction import NAME

#: the reader whose head says how far a session was read for facts
EXTRACTION_READER = live_reader(NAME)


def fact_laws() -> tuple[Law, ...]:
    """The laws of facts and chunks."""
    return (
        Law(
            id="facts",
            name="every fact has what it was learned from, and its history",
            table=facts,
            breaches=(*_sources(), *_histories()),
        ),
        Law(
            id="chunks",
            name="chunks do not overlap, and lie within what was read",
            table=chunks,
            breaches=tuple(_chunks()),
        ),
    )


def _sources() -> Iterator[Breach]:
    source = sa.select(sa.literal(1)).where(
        fact_sources.c.tenant_id == facts.c.tenant_id, fact_sources.c.fact_id == facts.c.id
    )
    yield (
        "facts without a source that their owner does not stand for",
        sa.select(facts.c.id).where(facts.c.trust != Trust.OWNER_CONFIRMED.value, ~source.exists()),
    )
    said = sa.select(sa.literal(1)).where(
        same_session(messages, fact_sources),
        messages.c.seq == fact_sources.c.seq,
        messages.c.id == fact_sources.c.message_id,
        sa.not_(messages.c.deleted),
    )
    yield "facts that quote a message that is gone", sa.select(fact_sources.c.fact_id).where(~said.exists())
    yield (
        "shared facts that are about nobody",
        sa.select(facts.c.id).where(facts.c.visibility == Visibility.SHARED.value, facts.c.subject_id == ""),
    )


def _histories() -> Iterator[Breach]:
    last = sa.select(sa.literal(1)).where(
        fact_versions.c.tenant_id == facts.c.tenant_id,
        fact_versions.c.fact_id == facts.c.id,
        fact_versions.c.version == facts.c.version,
        fact_versions.c.content == facts.c.content,
        fact_versions.c.state == facts.c.state,
    )
    yield "facts that are not what their history says", sa.select(facts.c.id).where(~last.exists())
    aside = facts.c.state == FactState.ASIDE.value
    yield "facts set aside for no reason", sa.select(facts.c.id).where(aside, facts.c.doubt.is_(None))
    wanted = sa.or_(facts.c.pinned, facts.c.trust == Trust.OWNER_CONFIRMED.value)
    yield "facts set aside that their owner wants", sa.select(facts.c.id).where(aside, wanted)
    other = facts.alias("other")
    there = sa.select(sa.literal(1)).where(other.c.tenant_id == facts.c.tenant_id, other.c.id == facts.c.superseded_by)
    yield (
        "facts whose place nothing took",
        sa.select(facts.c.id).where(facts.c.superseded_by.is_not(None), ~there.exists()),
    )
    yield (
        "facts that are believed although something took their place",
        sa.select(facts.c.id).where(facts.c.superseded_by.is_not(None), facts.c.state != FactState.CLOSED.value),
    )


def _chunks() -> Iterator[Breach]:
    other = chunks.alias("other")
    yield (
        "chunks that overlap",
        sa.select(chunks.c.id)
        .join(other, same_session(chunks, other) & (other.c.id != chunks.c.id))
        .where(chunks.c.start <= other.c.start, other.c.start < chunks.c.stop),
    )
    reader = same_session(heads, chunks) & (heads.c.reader == EXTRACTION_READER)
    yield (
        "chunks of what was not read yet",
        sa.select(chunks.c.id).outerjoin(heads, reader).where(sa.func.coalesce(heads.c.position, 0) < chunks.c.stop),
    )
