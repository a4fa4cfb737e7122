"""Conversations: list, begin, show, end, reset, rebuild."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from anaphora.ports.rows import SessionRow
from anaphora.server.deps import Agent, EraseSession, ReadSession, Remembered, WriteSession
from anaphora.server.gate import Reader, Writer
from anaphora.server.inputs import MOST, Body, Limit, Text, Whole

router = APIRouter(prefix="/sessions", tags=["sessions"])


class NewSession(Body):
    """A conversation to begin: the arguments of `Memory.new_session`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"strategy": "topics"}]})

    strategy: Text | None = Field(None, description="The compaction. None: the configured default.")


class Rebuild(Body):
    """From where on summaries are made anew."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"from_seq": 0}]})

    from_seq: Annotated[Whole, Field(ge=0, le=MOST)] = 0


@router.get("")
async def list_sessions(
    memory: Remembered,
    principal: Reader,
    agent: Agent = None,
    limit: Limit = 50,
    before: Annotated[UUID | None, Query(description="Those behind the session with this `id`.")] = None,
) -> Sequence[SessionRow]:
    """Your sessions, the last used first."""
    return await memory.sessions(
        user=principal.person, agent=agent, tenant=principal.tenant, limit=limit, before=before
    )


@router.post("", status_code=HTTPStatus.CREATED)
async def new_session(memory: Remembered, principal: Writer, new: NewSession, agent: Agent = None) -> SessionRow:
    """Begin a conversation, which is named by your next number."""
    session = await memory.new_session(
        user=principal.person, agent=agent, tenant=principal.tenant, strategy=new.strategy
    )
    return await session.row()


@router.get("/{session}")
async def show_session(session: ReadSession) -> SessionRow:
    """A session as it is kept: its length, its times, its strategy."""
    return await session.row()


@router.post("/{session}/end")
async def end_session(session: WriteSession) -> bool:
    """Plan what is due at the end of a session; twice is harmless, and writing again reopens it."""
    return await session.end()


@router.post("/{session}/reset")
async def reset_session(session: EraseSession) -> int:
    """Delete every message of a session and everything made of them, for good; how many messages went."""
    return await session.reset()


@router.post("/{session}/rebuild")
async def rebuild_session(session: WriteSession, rebuild: Rebuild) -> bool:
    """Queue making the summaries anew from a message on; false if that is under way already."""
    return await session.rebuild(from_seq=rebuild.from_seq)
