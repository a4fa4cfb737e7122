"""What an export holds, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """What an export holds so far."""

    users: int = 0
    sessions: int = 0
    messages: int = 0
    versions: int = 0
    summaries: int = 0
    moves: int = 0
    receipts: int = 0
    chunks: int = 0
    topics: int = 0
    subjects: int = 0
    facts: int = 0
    fact_versions: int = 0
    fact_sources: int = 0
    pages: int = 0
    documents: int = 0
