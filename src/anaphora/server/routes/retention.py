"""How long sessions are kept that nobody uses."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from anaphora.domain.keys import MAX_LIMIT
from anaphora.ports.rows import SessionRow
from anaphora.rules.retention import Retention
from anaphora.server.deps import Agent, Remembered
from anaphora.server.gate import Reader, Writer
from anaphora.server.paths import Name

router = APIRouter(prefix="/retention", tags=["retention"])


class Days(BaseModel):
    """How long one session is kept."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"days": 30}, {"days": None}]})

    days: float | None = Field(
        strict=True, ge=0, le=36_525, description="Silent days; null: as long as its agent's sessions are kept."
    )


@router.get("")
async def retention_policy(memory: Remembered, principal: Reader) -> Retention:
    """After how many silent days sessions go out of sight, and after how many more they are erased."""
    del principal
    return memory.retention.policy()


@router.get("/expired")
async def list_expired(
    memory: Remembered, principal: Reader, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50
) -> Sequence[SessionRow]:
    """Your sessions that are out of sight and can be brought back, the last that expired first."""
    return await memory.retention.expired(user=principal.person, limit=limit, tenant=principal.tenant)


@router.put("/sessions/{session}", status_code=HTTPStatus.NO_CONTENT)
async def keep_session(memory: Remembered, principal: Writer, session: Name, wanted: Days, agent: Agent = None) -> None:
    """Keep one session for so many silent days."""
    await memory.retention.keep(
        wanted.days, user=principal.person, session=session, agent=agent, tenant=principal.tenant
    )


@router.post("/sessions/{session}/restore", status_code=HTTPStatus.NO_CONTENT)
async def restore_session(memory: Remembered, principal: Writer, session: Name, agent: Agent = None) -> None:
    """Bring an expired session back, as if it had been used now."""
    await memory.retention.restore(user=principal.person, session=session, agent=agent, tenant=principal.tenant)
