"""The turns of an agent: in its memory, without one, and while the store is out of reach."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import anyio

from anaphora.agents.answers import STORE, TOOLS, AgentAnswer, Told
from anaphora.agents.history import is_unanswered
from anaphora.agents.opening import Rooms
from anaphora.agents.tools import Tools
from anaphora.services.chat import Turn

#: messages of a session in which an unanswered message is looked for: more than a turn has with all its calls
_LOOK_BACK: Final = 32


async def remembering(
    rooms: Rooms, message: str, key: str | None, turn: Turn, told: Told, tools: Tools | None
) -> AsyncGenerator[str]:
    """A turn in the memory."""
    session = await rooms.here()
    waiting = is_unanswered(message, await session.messages(limit=_LOOK_BACK))
    said = None if waiting else message
    rooms.turn = turn
    try:
        async with aclosing(session.stream(said, key=None if waiting else key, turn=turn, tools=tools)) as pieces:
            async for piece in pieces:
                yield piece
    finally:
        rooms.turn = None
    context = turn.context
    told.answer = AgentAnswer(
        turn.text,
        degraded=(*(context.degraded if context else ()), *_without_tools(turn)),
        remembered=True,
        context=context,
        receipt=turn.receipt,
    )
    await rooms.forget_aside()


async def forgetful(rooms: Rooms, message: str, told: Told, tools: Tools | None) -> AsyncGenerator[str]:
    """A turn of an agent without memory: nothing of it stays."""
    session, turn = await rooms.aside(), Turn()
    try:
        async with aclosing(session.stream(message, turn=turn, tools=tools)) as pieces:
            async for piece in pieces:
                yield piece
        told.answer = AgentAnswer(turn.text, degraded=_without_tools(turn))
    finally:
        with anyio.CancelScope(shield=True):
            await session.reset()


async def without_store(rooms: Rooms, message: str, told: Told) -> AsyncGenerator[str]:
    """A turn while the store is out of reach: of what was said, only what was said meanwhile is known."""
    session, turn = await rooms.aside(), Turn()
    async with aclosing(session.stream(message, turn=turn)) as pieces:
        async for piece in pieces:
            yield piece
    told.answer = AgentAnswer(turn.text, degraded=(STORE,))


def _without_tools(turn: Turn) -> tuple[str, ...]:
    return (TOOLS,) if turn.without_tools else ()
