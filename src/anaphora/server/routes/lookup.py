"""Who I am, what goes without saying here, what was found, and what became of what was said."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from anaphora.domain.messages import ReceiptState
from anaphora.domain.principals import Principal
from anaphora.domain.search import Kind, SearchResult
from anaphora.server.deps import Agent, Remembered
from anaphora.server.gate import Anybody, Reader
from anaphora.server.inputs import MOST_CHARS, Text
from anaphora.server.paths import Named
from anaphora.services.defaults import Defaults

router = APIRouter()

#: hits of each kind
_MOST_HITS = 200


@router.get("/me", tags=["me"])
async def me(principal: Anybody) -> Principal:
    """In whose name your key acts, and what it may do."""
    return principal


@router.get("/defaults", tags=["me"])
async def defaults(memory: Remembered, principal: Anybody) -> Defaults:
    """With whom a conversation is that names no agent, how it is compacted, and how long it is kept."""
    del principal
    settings = memory.settings
    return Defaults(agent=settings.agent, strategy=settings.strategy, retention=memory.retention.policy())


@router.get("/search", tags=["search"])
async def search(
    *,
    memory: Remembered,
    principal: Reader,
    q: Annotated[Text, Query(min_length=1, max_length=MOST_CHARS, description="Free text; no search syntax.")],
    kinds: Annotated[
        list[Kind] | None, Query(min_length=1, max_length=len(Kind), description="None: messages.")
    ] = None,
    agent: Agent = None,
    session: Annotated[str | None, Named, Query(description="Only this conversation.")] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_HITS, description="Of each kind.")] = 10,
) -> SearchResult:
    """What answers a question, by its words and by what it means, best first."""
    return await memory.search(
        q,
        user=principal.person,
        agent=agent,
        session=session,
        tenant=principal.tenant,
        limit=limit,
        kinds=kinds or (Kind.MESSAGES,),
    )


@router.get("/receipts/{receipt}", tags=["messages"])
async def show_receipt(memory: Remembered, principal: Reader, receipt: UUID) -> ReceiptState:
    """What became of an append of yours."""
    return await memory.receipt(receipt, user=principal.person, tenant=principal.tenant)
