"""Facts: see them, add, correct, share, delete, take back. What is shared with you can be read, and only read."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from anaphora.domain.facts import DEFAULT_IMPORTANCE, Fact, FactState, FactVersion, Visibility
from anaphora.domain.keeping import FactCounts
from anaphora.domain.keys import MAX_ID_CHARS, MAX_LIMIT, checked_id
from anaphora.memory import Memory
from anaphora.server.deps import Agent, Remembered
from anaphora.server.gate import Reader, Writer
from anaphora.server.paths import Name

router = APIRouter(tags=["facts"])


def _about(subject: str) -> str:
    return subject and checked_id(subject, "subject")


About = Annotated[
    str | None,
    AfterValidator(_about),
    Query(description="Only about this subject; empty: only about yourself.", examples=["rex"]),
]
State = Annotated[
    list[FactState] | None,
    Query(max_length=len(FactState), description="Only in these states; of others' facts only active ones are shown."),
]
Category = Annotated[str | None, Query(max_length=MAX_ID_CHARS, examples=["preference"])]
After = Annotated[UUID | None, Query(description="Those older than this fact: for the next page.")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]


class FactIn(BaseModel):
    """What you say: the arguments of `FactsView.add`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"content": "Allergic to all nuts", "category": "preference", "importance": 10}]
        },
    )

    content: str
    category: str | None = None
    importance: StrictInt = Field(default=DEFAULT_IMPORTANCE, ge=1, le=10)
    subject: str | None = None
    pinned: StrictBool = False


class FactEdit(BaseModel):
    """What is corrected; what is not given stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"content": "Lives in Porto"}]})

    content: str | None = None
    category: str | None = None
    importance: StrictInt | None = Field(default=None, ge=1, le=10)


class VisibilityIn(BaseModel):
    """Who may read it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"visibility": "shared"}]})

    visibility: Visibility


@router.get("/facts")
async def list_facts(
    *,
    memory: Remembered,
    principal: Reader,
    subject: About = None,
    agent: Agent = None,
    state: State = None,
    category: Category = None,
    after: After = None,
    limit: Limit = 50,
) -> Sequence[Fact]:
    """What is known: your own facts and what others share with you, newest first."""
    return await memory.facts.list(
        user=principal.person,
        agent=agent,
        subject=subject,
        states=(FactState.ACTIVE,) if state is None else state,
        category=category,
        after=after,
        limit=limit,
        tenant=principal.tenant,
    )


@router.get("/facts/review")
async def review_facts(
    memory: Remembered, principal: Reader, subject: About = None, limit: Limit = 50
) -> Sequence[Fact]:
    """Your own facts that are doubtful: they stand in no prompt until you confirm them."""
    return await memory.facts.review(user=principal.person, subject=subject, limit=limit, tenant=principal.tenant)


@router.get("/facts/counts")
async def count_facts(memory: Remembered, principal: Reader, subject: About = None) -> FactCounts:
    """How many of your own facts are in each state, and why those are set aside that are."""
    return await memory.facts.counts(user=principal.person, subject=subject, tenant=principal.tenant)


@router.post("/facts", status_code=HTTPStatus.CREATED)
async def add_fact(memory: Remembered, principal: Writer, fact: FactIn) -> Fact:
    """Keep what you say. What it contradicts is closed; what is known already is confirmed and comes back."""
    return await memory.facts.add(**fact.model_dump(), user=principal.person, tenant=principal.tenant)


@router.get("/facts/{fact}")
async def show_fact(memory: Remembered, principal: Reader, fact: UUID) -> Fact:
    """One fact; if it is your own, with the messages that it was learned from."""
    return await memory.facts.get(fact, user=principal.person, tenant=principal.tenant)


@router.get("/facts/{fact}/history")
async def fact_history(memory: Remembered, principal: Reader, fact: UUID) -> Sequence[FactVersion]:
    """Every version of one of your own facts, the oldest first."""
    return await memory.facts.history(fact, user=principal.person, tenant=principal.tenant)


@router.patch("/facts/{fact}")
async def edit_fact(memory: Remembered, principal: Writer, fact: UUID, edit: FactEdit) -> Fact:
    """Correct a fact: you stand for it from now on."""
    return await memory.facts.edit(fact, **edit.model_dump(), user=principal.person, tenant=principal.tenant)


@router.post("/facts/{fact}/pin")
async def pin_fact(memory: Remembered, principal: Writer, fact: UUID) -> Fact:
    """Want a fact in every prompt."""
    return await memory.facts.pin(fact, user=principal.person, tenant=principal.tenant)


@router.post("/facts/{fact}/unpin")
async def unpin_fact(memory: Remembered, principal: Writer, fact: UUID) -> Fact:
    """Want it in a prompt only where it matters."""
    return await memory.facts.unpin(fact, user=principal.person, tenant=principal.tenant)


@router.post("/facts/{fact}/confirm")
async def confirm_fact(memory: Remembered, principal: Writer, fact: UUID) -> Fact:
    """Stand for a fact: it leaves the review, and nothing that is learned puts an end to it."""
    return await memory.facts.confirm(fact, user=principal.person, tenant=principal.tenant)


@router.post("/facts/{fact}/take-up")
async def take_up_fact(memory: Remembered, principal: Writer, fact: UUID) -> Fact:
    """Believe a fact again that was set aside."""
    return await memory.facts.take_up(fact, user=principal.person, tenant=principal.tenant)


@router.post("/facts/{fact}/undo")
async def undo_fact(memory: Remembered, principal: Writer, fact: UUID) -> Fact | None:
    """Take the last change of a fact back; again, the one before. `null`: that was its beginning, and it is gone."""
    return await memory.facts.undo(fact, user=principal.person, tenant=principal.tenant)


@router.patch("/facts/{fact}/visibility")
async def set_fact_visibility(memory: Remembered, principal: Writer, fact: UUID, wanted: VisibilityIn) -> Fact:
    """Let the members of its subject read a fact, but not what it was learned from; or no longer."""
    return await changed_visibility(memory, principal, fact, wanted)


@router.delete("/facts/{fact}", status_code=HTTPStatus.NO_CONTENT)
async def delete_fact(memory: Remembered, principal: Writer, fact: UUID) -> None:
    """Leave nothing of a fact. What says the same is not learned again; you may still add it."""
    await memory.facts.delete(fact, user=principal.person, tenant=principal.tenant)


@router.get("/subjects/{subject}/facts")
async def list_subject_facts(
    memory: Remembered,
    principal: Reader,
    subject: Name,
    category: Category = None,
    after: After = None,
    limit: Limit = 50,
) -> Sequence[Fact]:
    """What is known about one subject: your own facts and what its members share with you, newest first."""
    return await memory.facts.list(
        user=principal.person, subject=subject, category=category, after=after, limit=limit, tenant=principal.tenant
    )


async def changed_visibility(memory: Memory, principal: Writer, fact: UUID, wanted: VisibilityIn) -> Fact:
    """The fact, shared or not."""
    change = memory.facts.share if wanted.visibility is Visibility.SHARED else memory.facts.unshare
    return await change(fact, user=principal.person, tenant=principal.tenant)
