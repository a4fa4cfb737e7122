"""Everything that is remembered of you: take it with you, and put it back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from anaphora.server.bodies import lines
from anaphora.server.deps import Agent, Remembered
from anaphora.server.gate import Exporter, Writer
from anaphora.server.paths import Named
from anaphora.services.importing.run import ImportReport

router = APIRouter(tags=["copies"])

LINES: Final = "application/x-ndjson"
_EXAMPLE: Final = '{"record":"export","format":"anaphora","version":1}\n'


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"description": "Lines of JSON.", "content": {LINES: {"schema": {"type": "string"}}}}},
)
async def export_memory(
    memory: Remembered,
    principal: Exporter,
    agent: Agent = None,
    session: Annotated[str | None, Named, Query(description="Only conversations of this name.")] = None,
) -> StreamingResponse:
    """Everything that is remembered of you, as lines of JSON. Without its last line, the sum, it is not whole."""
    found = memory.export(user=principal.person, agent=agent, session=session, tenant=principal.tenant)
    # what is wrong with the store at the beginning is still told by the status
    first = await anext(found)
    return StreamingResponse(_rest(first, found), media_type=LINES)


@router.post(
    "/restore",
    openapi_extra={
        "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}, "example": _EXAMPLE}}}
    },
)
async def restore_memory(memory: Remembered, principal: Writer, request: Request) -> ImportReport:
    """Put an export of one user back as yours; again brings nothing.

    An export that is altered or not whole is refused, and nothing is written. Where a session of yours holds something
    else, that one is left alone, the complaint says so, and all others are in.
    """
    async with aclosing(lines(request, memory.settings.server.upload_bytes)) as found:
        return await memory.restore(found, user=principal.person, tenant=principal.tenant)


async def _rest(first: str, found: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(found):
        yield first
        async for line in found:
            yield line
