"""The lines of an export that are documents."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field

from anaphora.domain.documents import (
    MAX_NAMESPACE_PARTS,
    MAX_TITLE_CHARS,
    MAX_TYPE_CHARS,
    checked_metadata,
    checked_title,
    checked_type,
)
from anaphora.domain.record_fields import MOST, Count, Id, Name, RecordModel, Span, Text, Time, TrustName

_Title: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS), AfterValidator(checked_title)]
_Type: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TYPE_CHARS), AfterValidator(checked_type)]
_Metadata: TypeAlias = Annotated[dict[str, Any], AfterValidator(checked_metadata)]


class DocumentRecord(RecordModel):
    """A document of the knowledge base, whole. Its chunks and what they mean are made where it is read."""

    record: Literal["document"]
    id: Id
    namespace: list[Name] = Field(min_length=1, max_length=MAX_NAMESPACE_PARTS)
    key: Name | None = Field(default=None, description="By which it is replaced; null: it is known by its content.")
    title: _Title
    doc_type: _Type
    metadata: _Metadata = Field(default_factory=dict)
    content: Annotated[Text, Field(min_length=1)]
    tokens: Count
    trust: TrustName
    source: Text
    user: Name | None = Field(default=None, description="Of one that was made of messages: of which session.")
    agent: Name | None = None
    session: Name | None = None
    range: Span | None = Field(default=None, description="Of one that was made of messages: of which ones.")
    version: int = Field(default=1, ge=1, le=MOST)
    created_at: Time
    updated_at: Time
