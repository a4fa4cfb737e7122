"""Live updates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request

from anaphora.server.deps import Remembered
from anaphora.server.gate import Reader, still_let_in
from anaphora.server.listening import Listeners
from anaphora.server.sse import EventStream

router = APIRouter(tags=["events"])


async def _place(request: Request, principal: Reader) -> AsyncIterator[Listeners]:
    """Held until the stream has ended."""
    listeners: Listeners = request.app.state.listeners
    with listeners.one(principal):
        yield listeners


@router.get("/events", response_class=EventStream)
async def follow(
    request: Request,
    memory: Remembered,
    principal: Reader,
    listeners: Annotated[Listeners, Depends(_place)],
    last_event_id: Annotated[str | None, Header(max_length=500, description="Of the last event that was seen.")] = None,
) -> EventStream:
    """What changes of your memory, as it changes: which part (`messages`, `summary`, `facts`, …) and where, no content.

    Events tell the newest change of a part; several may come as one. A stream that is lost is taken up again with
    the id of its last event.
    """
    where = {"user": principal.person, "tenant": principal.tenant}
    mark = last_event_id or await memory.mark(**where)
    return EventStream(listeners.told(memory.changes(**where, since=mark), mark, still_let_in(request, principal)))
