"""Letting the memory of a person rest."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter

from anaphora.server.deps import Remembered
from anaphora.server.gate import Reader, Writer

router = APIRouter(prefix="/pause", tags=["pause"])


@router.get("")
async def show_pause(memory: Remembered, principal: Reader) -> datetime | None:
    """Since when your memory rests; `null`: it does not."""
    return await memory.paused(user=principal.person, tenant=principal.tenant)


@router.put("")
async def pause(memory: Remembered, principal: Writer) -> datetime:
    """Let your memory rest; since when it does. What is said meanwhile is never learned from. Twice is harmless."""
    return await memory.pause(user=principal.person, tenant=principal.tenant)


@router.delete("")
async def resume(memory: Remembered, principal: Writer) -> bool:
    """Let it go on; `false` if it did not rest."""
    return await memory.resume(user=principal.person, tenant=principal.tenant)
