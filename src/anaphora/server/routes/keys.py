"""Keys of a tenant, for its operator: make, list, replace, revoke."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from anaphora.domain.access import ApiKey, NewKey
from anaphora.domain.keys import MAX_LIMIT
from anaphora.server.deps import Remembered
from anaphora.server.gate import Operator
from anaphora.server.paths import Named

router = APIRouter(prefix="/keys", tags=["keys"])


class KeyIn(BaseModel):
    """A key to make: the arguments of `memory.keys.create`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"user": "alice", "scopes": ["read", "write"], "name": "phone", "days": 90}]},
    )

    user: str | None = Field(description="In whose name it acts; null: for the operator of the tenant.")
    scopes: list[str] = Field(default=["all"], description="read, write, export, erase, or all of them.")
    name: str = Field(default="", description="What it is for.")
    days: float | None = Field(default=None, strict=True, description="After how many it expires; null: it does not.")


class Overlap(BaseModel):
    """How a key is replaced."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap_hours": 24}]})

    overlap_hours: float = Field(default=24.0, strict=True, description="How long the old one goes on letting in.")


@router.get("")
async def list_keys(
    memory: Remembered,
    principal: Operator,
    user: Annotated[str | None, Named, Query(description="Only keys of this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> Sequence[ApiKey]:
    """Keys, the newest first, expired and revoked ones too; never what makes them keys."""
    return await memory.keys.list(user=user, limit=limit, tenant=principal.tenant)


@router.post("", status_code=HTTPStatus.CREATED)
async def create_key(memory: Remembered, principal: Operator, wanted: KeyIn, request: Request) -> NewKey:
    """Make a key; what makes it one is in this answer alone."""
    new = await memory.keys.create(
        user=wanted.user, scopes=wanted.scopes, name=wanted.name, days=wanted.days, tenant=principal.tenant
    )
    return _noted(request, new)


@router.post("/{key}/rotate", status_code=HTTPStatus.CREATED)
async def rotate_key(memory: Remembered, principal: Operator, key: UUID, wanted: Overlap, request: Request) -> NewKey:
    """Make a key like this one, which goes on letting in for some hours."""
    new = await memory.keys.rotate(key, overlap_hours=wanted.overlap_hours, tenant=principal.tenant)
    return _noted(request, new)


@router.delete("/{key}", status_code=HTTPStatus.NO_CONTENT)
async def revoke_key(memory: Remembered, principal: Operator, key: UUID) -> None:
    """Let a key let nobody in any more; twice is harmless."""
    await memory.keys.revoke(key, tenant=principal.tenant)


def _noted(request: Request, new: NewKey) -> NewKey:
    """The audit says which key was made."""
    request.state.made = {"made": str(new.made.id)}
    return new
