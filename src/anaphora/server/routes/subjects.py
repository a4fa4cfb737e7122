"""Subjects: whom or what facts are about, and with whom they may be shared."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from anaphora.domain.facts import Subject
from anaphora.domain.keys import MAX_LIMIT
from anaphora.server.deps import Remembered
from anaphora.server.gate import Reader, Writer
from anaphora.server.paths import Name

router = APIRouter(prefix="/subjects", tags=["subjects"])


class SubjectIn(BaseModel):
    """A subject to make: the arguments of `SubjectsView.create`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"subject": "rex", "name": "Rex the dog", "members": ["bob"]}]},
    )

    subject: str = Field(description="Its id, of your own choice.")
    name: str | None = Field(default=None, description="As people read it; none: the id.")
    members: list[str] = Field(default=[], max_length=100, description="Others who read what is shared.")


class SubjectEdit(BaseModel):
    """Another name for people to read."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Rex the old dog"}]})

    name: str


@router.get("")
async def list_subjects(
    memory: Remembered, principal: Reader, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100
) -> Sequence[Subject]:
    """The subjects that you are a member of, with their members."""
    return await memory.subjects.list(user=principal.person, limit=limit, tenant=principal.tenant)


@router.post("", status_code=HTTPStatus.CREATED)
async def create_subject(memory: Remembered, principal: Writer, subject: SubjectIn) -> Subject:
    """Make a subject: you own it and are its first member."""
    return await memory.subjects.create(**subject.model_dump(), user=principal.person, tenant=principal.tenant)


@router.patch("/{subject}")
async def rename_subject(memory: Remembered, principal: Writer, subject: Name, edit: SubjectEdit) -> Subject:
    """Call a subject of your own something else; its id stays."""
    return await memory.subjects.rename(subject, edit.name, user=principal.person, tenant=principal.tenant)


@router.get("/{subject}/members")
async def list_members(memory: Remembered, principal: Reader, subject: Name) -> Sequence[str]:
    """Who reads what is shared with a subject that you are a member of."""
    return await memory.subjects.members(subject, user=principal.person, tenant=principal.tenant)


@router.put("/{subject}/members/{member}")
async def add_member(memory: Remembered, principal: Writer, subject: Name, member: Name) -> Subject:
    """Let somebody read what is shared about a subject of your own."""
    return await memory.subjects.add_member(subject, member, user=principal.person, tenant=principal.tenant)


@router.delete("/{subject}/members/{member}")
async def remove_member(memory: Remembered, principal: Writer, subject: Name, member: Name) -> bool:
    """From now on that member reads nothing that others share; `false` if that was none. Others than you may leave."""
    return await memory.subjects.remove_member(subject, member, user=principal.person, tenant=principal.tenant)
