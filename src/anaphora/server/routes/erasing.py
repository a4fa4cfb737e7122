"""Erasing for good, and the account of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, model_validator

from anaphora.domain.erasure import Erasure, ErasureReport
from anaphora.domain.keys import MAX_LIMIT
from anaphora.server.deps import Remembered
from anaphora.server.gate import Eraser, Operator
from anaphora.server.inputs import MOST

router = APIRouter(tags=["erasing"])


def _number_or_id(value: object) -> object:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return UUID(value)
    raise ValueError("a message is named by its number in its session, from 0, or by its id")


class EraseIn(BaseModel):
    """What is to go: one of session, message, fact, source, everything."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"session": "s1", "dry_run": True},
                {"session": "s1", "message": 3},
                {"source": "import:openai"},
                {"everything": True},
            ]
        },
    )

    session: str | None = Field(default=None, description="This session; with `message` a number, that one of it.")
    agent: str | None = Field(default=None, description="Of the session; none: the configured default.")
    message: Annotated[Annotated[StrictInt, Field(ge=0, lt=2**31)] | UUID | None, BeforeValidator(_number_or_id)] = (
        Field(default=None, description="Its number in the session, or alone its id.")
    )
    fact: UUID | None = None
    source: str | None = Field(default=None, description='What came from there, such as "import:openai".')
    everything: StrictBool = Field(default=False, description="All that is remembered of you.")
    dry_run: StrictBool = Field(default=False, description="Change nothing, only say what would go.")

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        named = [each for each in (self.session, self.message, self.fact, self.source) if each is not None]
        if bool(named) == self.everything:
            raise ValueError("name a session, a message, a fact or a source; or say that everything is to go")
        if self.agent is not None and self.session is None:
            raise ValueError("an agent says whose session is meant: name the session too")
        return self


@router.post("/erase")
async def erase(memory: Remembered, principal: Eraser, wanted: EraseIn) -> ErasureReport:
    """Erase for good: messages, everything made of them, their vectors, what waits to be done, and the file.

    With `dry_run`, only say what would go.
    """
    return await memory.erase(
        **wanted.model_dump(exclude={"everything"}),
        user=principal.person,
        asked_by=principal.by,
        tenant=principal.tenant,
    )


@router.get("/erasures")
async def list_erasures(
    memory: Remembered, principal: Operator, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50
) -> Sequence[Erasure]:
    """The account of the tenant's erasures, newest first: by which key, when, how much; of what, only a keyed hash."""
    return await memory.erasures(limit=limit, tenant=principal.tenant)
