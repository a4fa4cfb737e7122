"""How much of a claim one model call reads: bounded, so that any backlog drains (holes 0.11, 4.8)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from anaphora.domain.jobs import Job
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Role
from anaphora.errors import NOT_USABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """The largest batch that one call reads."""

    messages: int = 40
    #: of the messages' text together; longer ones are shortened in the prompt
    tokens: int = 6000

    def halved(self, times: int) -> BatchLimits:
        """Smaller limits after failures: the failing message ends up alone (I9)."""
        factor: int = 2 ** max(0, times)
        return BatchLimits(messages=max(1, self.messages // factor), tokens=self.tokens)


def batch_stop(messages: Sequence[Message], span: SeqRange, limits: BatchLimits) -> int:
    """Where the batch that starts at `span.start` ends: before a turn, or at the end of the span.

    The largest batch of whole turns within the limits; if the first turn alone is larger, that turn; if its end is
    not in sight, as much of it as the limits allow, ending before a message that is no tool result.

    Args:
        messages: the first messages of the span, in order; more than `limits.messages` of them if there are.
        span: the claim.
        limits: the largest batch wanted.

    """
    if not messages:
        return span.stop
    turns = [index for index, message in enumerate(messages) if index and message.seq == message.turn]
    if messages[-1].seq + 1 >= span.stop:
        turns.append(len(messages))
    others = [index for index, message in enumerate(messages) if index and message.role is not Role.TOOL]
    for ends in (turns, others):
        if ends:
            return span.start + max((end for end in ends if _within(messages[:end], limits)), default=ends[0])
    return span.start + len(messages)


def got_no_use(job: Job) -> bool:
    """The attempt before got an answer that was not usable."""
    return (job.reason or "").startswith(NOT_USABLE)


def got_no_answer(job: Job) -> bool:
    """The attempt before got no answer."""
    return job.attempt > 1 and job.reason is not None and not got_no_use(job)


def next_size(job: Job, first: int) -> int:
    """How many messages from the first on an attempt may read: half of those that the one before failed at.

    Those that got no answer are asked about again as they are: an outage says nothing about them. Those at which the
    workers themselves died again and again are left to rules, one turn of them.
    """
    if job.attempt > job.max_attempts:
        return 1
    if job.attempt == 1 or job.range is None or job.range.stop <= first:
        return sys.maxsize
    last = job.range.stop - first
    return last if got_no_answer(job) else max(1, last // 2)


def _within(messages: Sequence[Message], limits: BatchLimits) -> bool:
    return len(messages) <= limits.messages and sum(m.tokens for m in messages) <= limits.tokens
