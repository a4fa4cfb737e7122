"""What sessions of the strategy `topics` are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path

from anaphora.domain.messages import Message
from anaphora.domain.topics import Segment
from anaphora.server.deps import Agent, ReadSession, Remembered
from anaphora.server.gate import Reader
from anaphora.server.inputs import MOST, Limit

router = APIRouter(tags=["topics"])


@router.get("/topics")
async def list_topics(
    memory: Remembered, principal: Reader, agent: Agent = None, limit: Limit = 50
) -> Sequence[Segment]:
    """Topics of your sessions that were last used, newest first."""
    return await memory.topics.list(user=principal.person, agent=agent, tenant=principal.tenant, limit=limit)


@router.get("/sessions/{session}/topics")
async def list_session_topics(session: ReadSession, limit: Limit = 50) -> Sequence[Segment]:
    """The topics of a session, newest first, the open one too."""
    return await session.topics(limit=limit)


@router.get("/sessions/{session}/topics/{seq}")
async def show_topic(
    memory: Remembered,
    session: ReadSession,
    seq: Annotated[int, Path(ge=0, le=MOST, description="The number of a message of the topic.")],
) -> tuple[Segment, Sequence[Message]]:
    """The topic that holds a message, and all messages of it that are not deleted."""
    key = session.key
    return await memory.topics.show(seq, user=key.user, session=key.session, agent=key.agent, tenant=key.tenant)
