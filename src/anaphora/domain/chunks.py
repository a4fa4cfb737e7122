"""Chunks: what stretches of a session were about (seed 002)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """What a stretch of a session was about, in a few sentences."""

    id: UUID
    session_id: UUID
    range: SeqRange
    text: str
    tokens: int
    method: Method
    model: str | None
    prompt_version: str | None
    trust: Trust
    #: when the first and the last of its messages were said
    first_at: datetime
    last_at: datetime
    created_at: datetime
    #: a message of its range was changed since: it is being made again
    stale: bool = False
