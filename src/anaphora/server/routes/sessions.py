"""Conversations: list, show, end, reset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from anaphora.domain.keys import MAX_LIMIT
from anaphora.ports.rows import SessionRow
from anaphora.server.deps import Agent, Remembered, WriteSession
from anaphora.server.gate import Reader

router = APIRouter(prefix="/sessions", tags=["sessions"])


@router.get("")
async def list_sessions(
    memory: Remembered,
    principal: Reader,
    agent: Agent = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> Sequence[SessionRow]:
    """Your sessions, the last used first."""
    return await memory.sessions(user=principal.person, agent=agent, tenant=principal.tenant, limit=limit)


@router.post("/{session}/end")
async def end_session(session: WriteSession) -> bool:
    """Plan what is due at the end of a session; twice is harmless, and writing again reopens it."""
    return await session.end()
