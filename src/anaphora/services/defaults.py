"""What a call means that leaves out what has a default."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.rules.retention import Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What is configured where a memory is kept, and who talks to it from afar should know."""

    #: with whom a conversation is that names nobody
    agent: str
    #: the compaction of a session that names none
    strategy: str
    retention: Retention
