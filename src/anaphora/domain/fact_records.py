"""The lines of an export that are about facts: chunks, subjects, facts with their past and their sources."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from anaphora.domain.facts import (
    LEAST_IMPORTANT,
    MAX_CONTENT,
    MOST_IMPORTANT,
    FactAction,
    FactState,
    Visibility,
    checked_content,
)
from anaphora.domain.keys import checked_text
from anaphora.domain.record_fields import MOST, Count, Id, MethodName, Name, RecordModel, Span, Text, Time, TrustName

_Content: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT), AfterValidator(checked_content)]
_Importance: TypeAlias = Annotated[int, Field(ge=LEAST_IMPORTANT, le=MOST_IMPORTANT)]
_PLAIN = AfterValidator(partial(checked_text, what="it"))
_Some: TypeAlias = Annotated[str, Field(min_length=1), _PLAIN]
_Title: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), _PLAIN]
_VisibilityName: TypeAlias = Annotated[Visibility, Field(strict=False)]
_StateName: TypeAlias = Annotated[FactState, Field(strict=False)]
_ActionName: TypeAlias = Annotated[FactAction, Field(strict=False)]
_Version: TypeAlias = Annotated[int, Field(ge=1, le=MOST)]


class ChunkRecord(RecordModel):
    """What a stretch of the session was about."""

    record: Literal["chunk"]
    id: Id
    range: Span
    text: _Some
    tokens: Count
    method: MethodName
    model: Text | None = None
    prompt_version: Text | None = None
    trust: TrustName
    first_at: Time = Field(description="When the first of its messages was said.")
    last_at: Time = Field(description="When the last of its messages was said.")
    created_at: Time
    stale: bool = Field(default=False, description="A message of its range was changed since.")


class SubjectRecord(RecordModel):
    """Whom or what facts are about, and who reads those that are shared."""

    record: Literal["subject"]
    id: Name
    name: _Title = Field(description="As people read it.")
    owner: Name
    created_at: Time
    members: list[Name] = Field(min_length=1, description="By name; the owner is one of them.")


class FactRecord(RecordModel):
    """One statement as it is now. Its earlier versions follow, then what it was learned from."""

    record: Literal["fact"]
    id: Id
    owner: Name = Field(description="Whose memory it is in.")
    agent: Name | None = Field(default=None, description="Which agent learned it; null: the owner added it.")
    subject: _Some | None = Field(default=None, description="Whom or what it is about; null: its owner.")
    category: _Some
    content: _Content
    importance: _Importance
    visibility: _VisibilityName = Visibility.PRIVATE
    state: _StateName = FactState.ACTIVE
    pinned: bool = False
    trust: TrustName
    doubt: Text | None = Field(default=None, description="Why it waits for a review, or was set aside.")
    valid_from: Time
    valid_to: Time | None = None
    superseded_by: Id | None = Field(default=None, description="The fact that took its place.")
    version: _Version = 1
    action: _ActionName = Field(description="What made this version.")
    restores: _Version | None = Field(default=None, description="The version that an undo brought back.")
    created_at: Time
    updated_at: Time


class FactVersionRecord(RecordModel):
    """The fact before as it was in an earlier version."""

    record: Literal["fact_version"]
    fact: Id
    version: _Version
    action: _ActionName
    at: Time
    category: _Some
    content: _Content
    importance: _Importance
    visibility: _VisibilityName = Visibility.PRIVATE
    state: _StateName = FactState.ACTIVE
    pinned: bool = False
    trust: TrustName
    doubt: Text | None = None
    valid_to: Time | None = None
    superseded_by: Id | None = None
    restores: _Version | None = None


class FactSourceRecord(RecordModel):
    """A message of the fact's owner, in a session of this export, that says what the fact before says."""

    record: Literal["fact_source"]
    fact: Id
    agent: Name
    session: Name
    seq: Count
    message_id: Id
    version: _Version = Field(default=1, description="Of the message, when it said so.")
    quote: Text
    range: Span = Field(description="What was read when the fact was learned.")
    trust: TrustName
    model: Text | None = Field(default=None, description="Which model said so; null: a rule found it.")
    prompt_version: Text | None = None
    learned_at: Time
