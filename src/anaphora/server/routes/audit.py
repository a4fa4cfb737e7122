"""The account of changes, for the operator of a tenant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from anaphora.domain.access import AuditEntry
from anaphora.domain.keys import MAX_LIMIT
from anaphora.server.deps import Remembered
from anaphora.server.gate import Operator
from anaphora.server.paths import Named

router = APIRouter(prefix="/audit", tags=["audit"])


@router.get("")
async def list_audit(
    memory: Remembered,
    principal: Operator,
    user: Annotated[str | None, Named, Query(description="Only what this one asked for.")] = None,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only entries with smaller numbers.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> Sequence[AuditEntry]:
    """What was changed, when, and by whom, the newest first. Names are keyed hashes; nothing that anybody said."""
    return await memory.audit.list(user=user, before=before, limit=limit, tenant=principal.tenant)
