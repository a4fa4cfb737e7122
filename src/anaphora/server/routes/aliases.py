"""The paths under which the facts were first asked for; what they do is told under `/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter

from anaphora.domain.facts import Fact
from anaphora.server.deps import Remembered
from anaphora.server.gate import Reader, Writer
from anaphora.server.paths import Name
from anaphora.server.routes.facts import After, Category, Limit, VisibilityIn, changed_visibility

router = APIRouter(prefix="/api/ai", tags=["aliases"])


@router.get("/legacies/{legacy_id}/facts")
async def list_legacy_facts(
    memory: Remembered,
    principal: Reader,
    legacy_id: Name,
    category: Category = None,
    after: After = None,
    limit: Limit = 50,
) -> Sequence[Fact]:
    """As `GET /v1/subjects/{subject}/facts`."""
    return await memory.facts.list(
        user=principal.person, subject=legacy_id, category=category, after=after, limit=limit, tenant=principal.tenant
    )


@router.patch("/facts/{fact_id}/visibility")
async def set_legacy_fact_visibility(
    memory: Remembered, principal: Writer, fact_id: UUID, wanted: VisibilityIn
) -> Fact:
    """As `PATCH /v1/facts/{fact}/visibility`."""
    return await changed_visibility(memory, principal, fact_id, wanted)


@router.delete("/facts/{fact_id}", status_code=HTTPStatus.NO_CONTENT)
async def delete_legacy_fact(memory: Remembered, principal: Writer, fact_id: UUID) -> None:
    """As `DELETE /v1/facts/{fact}`."""
    await memory.facts.delete(fact_id, user=principal.person, tenant=principal.tenant)
