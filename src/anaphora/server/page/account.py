"""The visitor's own: export, rest, keys, and erasing everything."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from anaphora.errors import NotFound
from anaphora.server.page.visits import Erasing, Exporting, Reading, Visit, Writing, goodbye, pages

router = pages()

_LINES: Final = "application/x-ndjson"


@router.get("/account")
async def account_page(visit: Reading) -> Response:
    """What the visitor may do with all that is remembered."""
    return visit.show(
        "account.html",
        resting=await visit.memory.paused(**visit.whose),
        keys=await visit.memory.keys.list(**visit.whose),
    )


@router.get("/account/export")
async def export(visit: Exporting) -> Response:
    """Everything, as lines of JSON that can be put back."""
    headers = {"Content-Disposition": 'attachment; filename="anaphora-export.jsonl"'}
    return StreamingResponse(_lines(visit), media_type=_LINES, headers=headers)


async def _lines(visit: Visit) -> AsyncGenerator[str]:
    async with aclosing(visit.memory.export(**visit.whose)) as lines:
        async for line in lines:
            yield line


@router.post("/account/pause")
async def pause(change: Writing) -> Response:
    """Let the memory rest."""
    await change.memory.pause(**change.whose)
    return change.back("/account", "Your memory rests: nothing is learned of you.")


@router.post("/account/resume")
async def resume(change: Writing) -> Response:
    """Let it go on."""
    await change.memory.resume(**change.whose)
    return change.back("/account", "Your memory goes on.")


@router.post("/account/keys/{key_id}/revoke")
async def revoke_key(change: Writing, key_id: UUID) -> Response:
    """Let one of the visitor's keys let nobody in any more."""
    if all(key.id != key_id for key in await change.memory.keys.list(limit=1000, **change.whose)):
        raise NotFound("you have no such key")
    await change.memory.keys.revoke(key_id, tenant=change.principal.tenant)
    return change.back("/account", "The key lets nobody in any more.")


@router.get("/account/erase")
async def erase_preview(visit: Reading) -> Response:
    """What erasing everything would take."""
    return visit.show(
        "erase.html",
        what="everything that is remembered of you",
        plan=await visit.memory.erase(dry_run=True, **visit.whose),
        typed=visit.user,
        action="/account/erase",
        back="/account",
    )


@router.post("/account/erase")
async def erase(change: Erasing) -> Response:
    """Erase everything for good, once the visitor's name was typed."""
    if change.text("typed", "") != change.user:
        return change.back("/account/erase", "Nothing was erased: the name was not typed.")
    report = await change.memory.erase(asked_by="page", **change.whose)
    # the keys went with it: whoever came with one is nobody here from now on
    return goodbye(change.request, report)
