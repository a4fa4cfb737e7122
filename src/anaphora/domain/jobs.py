"""Background work: one durable table, leases and fences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey


class JobKind(StrEnum):
    """What a job does."""

    #: carry the live chain of summaries on
    SUMMARISE = "summarise"
    #: make the chain anew from the log beside the live one, then take its place
    REBUILD = "rebuild"
    #: give messages the vectors by which they are found by meaning
    EMBED = "embed"
    #: learn facts from messages that were not read for it yet, and say what they are about
    EXTRACT = "extract"
    #: do that again where messages changed since, or where no model was there
    REEXTRACT = "reextract"
    #: find where the topics of a session end
    FOLLOW = "follow"
    #: name and summarise topics that were closed, or do that again
    DESCRIBE = "describe"
    #: write the notepad's next page from a session that ended
    REFLECT = "reflect"


class JobState(StrEnum):
    """Where a job stands. At most one job per (session, kind) is queued or running (I4)."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


#: the seed's words for the same states
SEED_WORDS = {
    JobState.QUEUED: "processing",
    JobState.RUNNING: "processing",
    JobState.DONE: "completed",
    JobState.FAILED: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of background work."""

    id: UUID
    tenant: str
    session_id: UUID
    key: SessionKey
    kind: JobKind
    state: JobState
    #: what the newest claim took on; None before the first claim
    range: SeqRange | None
    #: counted when a worker claims, so that crashes count (I9)
    attempt: int
    max_attempts: int
    #: not before this time
    run_at: datetime
    lease_owner: str | None
    lease_until: datetime | None
    #: messages arrived while it ran: look again when it ends
    rearm: bool
    #: only a worker with a language model may take it
    needs_model: bool
    #: where a rebuild starts
    from_seq: int | None
    #: erasure epoch of the session when it was planned
    epoch: int
    reason: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Proof that a job is still this worker's: checked in the transaction that commits its result (I5)."""

    tenant: str
    job_id: UUID
    session_id: UUID
    owner: str
    attempt: int
    epoch: int
