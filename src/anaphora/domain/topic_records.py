"""The lines of an export that are about topics."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from anaphora.domain.keys import checked_text
from anaphora.domain.record_fields import Count, Id, MethodName, RecordModel, Span, Text, Time, TrustName
from anaphora.domain.topics import Closed, Opened

_Some: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(partial(checked_text, what="it"))]
_OpenedName: TypeAlias = Annotated[Opened, Field(strict=False)]
_ClosedName: TypeAlias = Annotated[Closed, Field(strict=False)]


class TopicRecord(RecordModel):
    """A closed topic of the session. What is behind the last of them is the open topic, which has no line."""

    record: Literal["topic"]
    id: Id
    range: Span
    opened: _OpenedName = Field(description="Why it began there.")
    closed: _ClosedName = Field(description="Why it ended there.")
    continues: Id | None = Field(default=None, description="Of a return: the topic that it goes back to.")
    leads_to: Id | None = Field(default=None, description="Of one that ended with a return: what was gone back to.")
    name: _Some | None = None
    summary: _Some | None = Field(default=None, description="What was said in it; null: it was not described yet.")
    tokens: Count = Field(default=0, description="Of name and summary together.")
    words: list[_Some] = Field(default_factory=list, description="Stems of its telling words.")
    method: MethodName | None = None
    model: Text | None = None
    prompt_version: Text | None = None
    trust: TrustName
    stale: bool = Field(default=False, description="A message of its range was changed since.")
    first_at: Time = Field(description="When the first of its messages was said.")
    last_at: Time = Field(description="When the last of its messages was said.")
    closed_at: Time
    closed_head: Count = Field(description="How many messages the session had when it was closed.")
    described_at: Time | None = None
    described_head: Count | None = Field(default=None, description="How many it had when it was described.")
