"""Versions of summaries: list, show, what changed between two; and how many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import JsonValue

from anaphora.domain.differences import Difference
from anaphora.domain.keys import MAX_ID_CHARS
from anaphora.domain.summaries import Summary
from anaphora.server.deps import ReadSession, Remembered
from anaphora.server.gate import Reader
from anaphora.server.inputs import MOST, Limit, QueryAsOf, Text

router = APIRouter(tags=["summaries"])

#: one less than what a store can hold: one more is asked for
Version = Annotated[int, Path(ge=1, le=MOST - 1, description="The number of a version, from 1.")]
Listed = Annotated[Text | None, Query(min_length=1, max_length=MAX_ID_CHARS)]


@router.get("/sessions/{session}/summaries")
async def list_summaries(
    session: ReadSession,
    limit: Limit = 20,
    before: Annotated[int | None, Query(ge=1, le=MOST)] = None,
    as_of: QueryAsOf = None,
    topic: Listed = None,
    entity: Listed = None,
) -> Sequence[Summary]:
    """Versions, newest first; with `before`, those with smaller numbers; of these, only those that list a name."""
    return await session.summaries(limit=limit, before=before, as_of=as_of, topic=topic, entity=entity)


@router.get("/sessions/{session}/summaries/{version}")
async def show_summary(session: ReadSession, version: Version, as_of: QueryAsOf = None) -> Summary:
    """One version with its points and the messages that each came from."""
    return await session.summary(version, as_of=as_of)


@router.get("/sessions/{session}/summaries/{version}/diff")
async def diff_summaries(
    session: ReadSession,
    version: Version,
    since: Annotated[int, Query(ge=1, le=MOST - 1, description="The version before.")],
) -> Difference:
    """What changed from another version to this one: points, and words inside of points."""
    return await session.diff(since, version)


@router.get("/stats")
async def stats(memory: Remembered, principal: Reader) -> Mapping[str, JsonValue]:
    """How many summaries were made of your sessions, by which method, and how long they took."""
    return await memory.stats(user=principal.person, tenant=principal.tenant)
