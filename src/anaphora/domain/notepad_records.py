"""The lines of an export that are pages of notepads."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from anaphora.domain.notepad import PageAction
from anaphora.domain.record_fields import MOST, Count, MethodName, Name, RecordModel, Span, Text, Time, TrustName

_ActionName: TypeAlias = Annotated[PageAction, Field(strict=False)]
_Version: TypeAlias = Annotated[int, Field(ge=1, le=MOST)]


class PageRecord(RecordModel):
    """One version of what an agent noted of its sessions with a user; the last one is what the notepad says."""

    record: Literal["page"]
    user: Name
    agent: Name
    version: _Version = Field(description="Grows from page to page; where pages were forgotten, numbers are missing.")
    action: _ActionName = Field(description="How the page came to be.")
    text: Text = ""
    tokens: Count
    session: Name | None = Field(default=None, description="Of a page that was reflected: the session of this export.")
    range: Span | None = Field(default=None, description="Of a page that was reflected: the messages that were read.")
    method: MethodName | None = None
    model: Text | None = None
    prompt_version: Text | None = None
    trust: TrustName
    restores: _Version | None = Field(default=None, description="The version that a page that was reverted says again.")
    created_at: Time
