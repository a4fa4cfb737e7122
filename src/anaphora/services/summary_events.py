"""What is told of summaries in the log of the process: ids and numbers only."""

from __future__ import annotations

import logging
from uuid import UUID

from anaphora.domain.jobs import Job, JobState
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Summary

log = logging.getLogger("anaphora.summarise")


def nothing_new(job: Job) -> None:
    """A job found nothing to do."""
    extra = {"event": "nothing_new", "session_id": str(job.session_id)}
    log.debug("No new messages to summarise for %s", job.session_id, extra=extra)
    ended(job, JobState.DONE)


def ended(job: Job, status: JobState) -> None:
    """A job came to its end."""
    extra = {"event": "status_changed", "job_id": str(job.id), "status": status.value}
    log.debug("Job %s status updated to %s", job.id, status.value, extra=extra)


def summarised(row_id: UUID, read: SeqRange, base: Summary | None, summary: Summary, millis: int) -> None:
    """Messages were summarised in so many milliseconds, and perhaps older ones left the window."""
    session_id = str(row_id)
    log.info(
        "Summarised messages %d-%d for %s in %d ms",
        read.start,
        read.stop - 1,
        session_id,
        millis,
        extra={"event": "summarised", "start": read.start, "stop": read.stop, "session_id": session_id},
    )
    if summary.range.start > 0 and (base is None or base.range.start < summary.range.start):
        log.info(
            "Sliding window: dropping seq 0-%d for %s",
            summary.range.start - 1,
            session_id,
            extra={"event": "window_dropped", "stop": summary.range.start, "session_id": session_id},
        )
