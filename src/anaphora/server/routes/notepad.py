"""The notepad: what an agent noted of its sessions with you."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from anaphora.domain.keys import MAX_LIMIT
from anaphora.domain.notepad import Page
from anaphora.server.deps import Agent, Remembered
from anaphora.server.gate import Reader, Writer

router = APIRouter(prefix="/notepad", tags=["notepad"])

#: no store counts further
_MOST: Final = 2**31 - 1


class PageIn(BaseModel):
    """What the notepad says from now on."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "Prefers short answers. Cooks without nuts."}]}
    )

    text: str = Field(description="Empty: everything is taken out.")


class Revert(BaseModel):
    """Which page is written again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"version": 1}]})

    version: StrictInt = Field(ge=1, le=_MOST)


@router.get("")
async def show_notepad(memory: Remembered, principal: Reader, agent: Agent = None) -> Page | None:
    """What the notepad says: its newest page. `null` if nothing was ever written."""
    return await memory.notepad.show(user=principal.person, agent=agent, tenant=principal.tenant)


@router.get("/history")
async def notepad_history(
    memory: Remembered,
    principal: Reader,
    agent: Agent = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 20,
    before: Annotated[int | None, Query(ge=1, le=_MOST, description="Those before this version.")] = None,
) -> Sequence[Page]:
    """Every page, newest first: what was noted, by whom, and from which messages."""
    return await memory.notepad.history(
        user=principal.person, agent=agent, limit=limit, before=before, tenant=principal.tenant
    )


@router.put("")
async def edit_notepad(memory: Remembered, principal: Writer, page: PageIn, agent: Agent = None) -> Page:
    """Write the next page as you want it."""
    return await memory.notepad.edit(page.text, user=principal.person, agent=agent, tenant=principal.tenant)


@router.post("/revert")
async def revert_notepad(memory: Remembered, principal: Writer, revert: Revert, agent: Agent = None) -> Page:
    """Write an earlier page again, as the next one."""
    return await memory.notepad.revert(revert.version, user=principal.person, agent=agent, tenant=principal.tenant)
