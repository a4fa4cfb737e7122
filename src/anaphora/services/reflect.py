"""Write a notepad's next page from a session that ended: claim, read, ask, judge, commit (I5, I8, I9, I16).

No transaction is held while the model is asked. Page, head and the job's end are one commit. Two sessions of one user
may end at once: who comes second finds that the page before is another one, and begins again with that.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from anaphora.domain.jobs import Fence, Job
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, least_trusted
from anaphora.domain.notepad import Page, PageAction
from anaphora.domain.pauses import paused_at
from anaphora.domain.summaries import Method
from anaphora.errors import LeaseLost, ModelOutputInvalid, ModelUnavailable
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import TokenCounter
from anaphora.ports.reflection import ReflectionDraft, ReflectionRequest, Reflector
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.notepad import LEAST_MESSAGES, READ, noted, worth_a_page
from anaphora.services.fencing import still_ours
from anaphora.services.planning import Planning
from anaphora.services.settings import NOTEPAD_READER, Work

log = logging.getLogger("anaphora.reflect")

#: messages that are read at a time
_PAGE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    row: SessionRow
    head: Head
    #: the newest that fit, in order
    messages: tuple[Message, ...]
    range: SeqRange
    before: Page | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What is to be kept: a text and how it was made, or nothing."""

    text: str | None = None
    draft: ReflectionDraft | None = None
    #: why there is nothing, if there should be
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflect:
    """Runs jobs of kind REFLECT. Without a language model there is no page: rules cannot reflect."""

    store: Store
    planning: Planning
    #: None: no language model is configured
    model: Reflector | None
    #: agents with a model of their own
    model_by_agent: Mapping[str, Reflector]
    counter: TokenCounter
    clock: Clock
    failpoint: Failpoint
    work: Work

    async def run(self, job: Job, fence: Fence) -> None:
        """Do what a claimed job asks for, and end it.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.
            ModelError: the model failed; the caller decides when to try again.

        """
        assignment = await self.store.write(job.tenant, lambda unit: self._assign(unit, job, fence))
        self.failpoint("reflect.assigned")
        if assignment is None:
            return
        await still_ours(self.store, fence)
        result = await self._ask(job, assignment)
        self.failpoint("reflect.after_model")
        page = await self.store.write(job.tenant, lambda unit: self._commit(unit, job, fence, assignment, result))
        self.failpoint("reflect.after_commit")
        _report(job, assignment, page)

    def abandon(self, unit: Unit, job: Job) -> None:
        """Every attempt failed: try again later, after twice as long each time; an outage may last.

        Not if its workers died of it: they would die again.
        """
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is not None and job.attempt <= job.max_attempts:
            self.planning.plan_later(unit, row, job, now=self.clock.now())

    async def _ask(self, job: Job, assignment: _Assignment) -> _Result:
        """What is to be noted. A session that no answer fits must not stop the others (I9): it is passed by."""
        model = self.model_by_agent.get(job.key.agent, self.model)
        if model is None:
            raise ModelUnavailable(f"agent {job.key.agent!r} has no language model, and no page is written without one")
        before = assignment.before.text if assignment.before is not None else ""
        tokens = self.planning.notes.tokens
        reason = "every earlier attempt ended without a result"
        if job.attempt <= job.max_attempts:
            request = ReflectionRequest(messages=assignment.messages, page=before, max_tokens=tokens)
            try:
                draft = await model.reflect(request)
                text = noted(
                    draft.notes, before=before, max_tokens=tokens, count=self.counter.count, echoes=draft.echoes
                )
                return _Result(text=text if text != before else None, draft=draft)
            except ModelOutputInvalid as error:
                if job.attempt < job.max_attempts:
                    raise
                reason = str(error)
        return _Result(reason=reason)

    # -- claim -------------------------------------------------------------------------------------------------

    def _assign(self, unit: Unit, job: Job, fence: Fence) -> _Assignment | None:
        """Decide in the claim's own transaction what to read; None if nothing is due (the job is done then)."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        now = self.clock.now()
        head = unit.summaries.head(job.tenant, row.id, NOTEPAD_READER)
        messages: tuple[Message, ...] = ()
        if self.planning.reflects(row):
            messages = self._newest(unit, row, SeqRange(head.position, max(head.position, row.head)))
            if not worth_a_page(_by_topic(unit, row, messages)) and self.planning.unreflected(unit, row):
                # what tools and strangers said: nothing of it will ever be noted
                new = Head(position=row.head)
                unit.summaries.move_head(row, NOTEPAD_READER, old=head, new=new, now=now)
        if not worth_a_page(_by_topic(unit, row, messages)):
            unit.jobs.finish(fence, now=now)
            return None
        span = SeqRange(messages[0].seq, row.head)
        if not unit.jobs.set_range(fence, span, now=now):
            raise LeaseLost(f"job {job.id} is not ours any more")
        before = unit.notepads.newest(job.tenant, row.key.user, row.key.agent)
        return _Assignment(row=row, head=head, messages=messages, range=span, before=before)

    def _newest(self, unit: Unit, row: SessionRow, span: SeqRange) -> tuple[Message, ...]:
        """The newest messages of the span that may be read, as many as fit, in order."""
        found: list[Message] = []
        tokens, stop = 0, span.stop
        while stop > span.start:
            page = unit.messages.newest(row.key.tenant, row.id, SeqRange(span.start, stop), limit=_PAGE)
            times = [message.created_at for message in page]
            pauses = unit.pauses.between(row.key.tenant, row.key.user, min(times), max(times)) if times else ()
            for message in page:
                if message.trust not in READ or paused_at(pauses, message.created_at):
                    continue
                tokens += message.tokens
                if len(found) >= LEAST_MESSAGES and tokens > self.work.input_tokens:
                    return tuple(reversed(found))
                found.append(message)
            if len(page) < _PAGE:
                break
            stop = page[-1].seq
        return tuple(reversed(found))

    # -- commit ------------------------------------------------------------------------------------------------

    def _commit(self, unit: Unit, job: Job, fence: Fence, assignment: _Assignment, result: _Result) -> Page | None:
        """Page, head and the job's end together, or nothing (I8)."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        now = self.clock.now()
        key = row.key
        unit.notepads.alone(key.tenant, key.user, key.agent)
        if (
            unit.notepads.newest(key.tenant, key.user, key.agent) != assignment.before
            or unit.summaries.head(key.tenant, row.id, NOTEPAD_READER) != assignment.head
        ):
            # somebody else wrote or forgot a page meanwhile: begin again with what there is now
            unit.jobs.release(fence, now=now)
            return None
        page = self._page(assignment, result, now)
        if page is not None and not unit.notepads.insert(key.tenant, page):
            raise LeaseLost(f"page {page.version} was written by somebody else")
        new = Head(position=assignment.range.stop)
        if not unit.summaries.move_head(row, NOTEPAD_READER, old=assignment.head, new=new, now=now):
            raise LeaseLost(f"messages of session {row.id} were read by somebody else")
        if result.reason is not None:
            unit.jobs.fail(fence, reason=result.reason, now=now)
        else:
            unit.jobs.finish(fence, now=now)
        # read again: on a database with many writers, appends that waited for this job's row are visible only now
        after = unit.sessions.get(job.tenant, job.session_id)
        if after is not None:
            self.planning.plan_reflect(unit, after, now=now)
        return page

    def _page(self, assignment: _Assignment, result: _Result, now: datetime) -> Page | None:
        """The next page. Its time is that of the move of the head: by it an export knows that both are there."""
        if result.text is None or result.draft is None:
            return None
        key, before = assignment.row.key, assignment.before
        trusts = [message.trust for message in assignment.messages]
        return Page(
            user=key.user,
            agent=key.agent,
            version=before.version + 1 if before is not None else 1,
            action=PageAction.REFLECTED,
            text=result.text,
            tokens=self.counter.count(result.text),
            session=key,
            session_id=assignment.row.id,
            range=assignment.range,
            method=Method.MODEL,
            model=result.draft.model,
            prompt_version=result.draft.prompt_version,
            trust=least_trusted([*trusts, *((before.trust,) if before is not None and before.text else ())]),
            created_at=now,
        )


def _report(job: Job, assignment: _Assignment, page: Page | None) -> None:
    """Log events carry ids and numbers only."""
    extra = {
        "event": "reflected",
        "session_id": str(job.session_id),
        "start": assignment.range.start,
        "stop": assignment.range.stop,
        "version": page.version if page is not None else None,
    }
    log.info("Reflected upon messages %s of %s", assignment.range, job.session_id, extra=extra)


def _by_topic(unit: Unit, row: SessionRow, messages: Sequence[Message]) -> Sequence[int]:
    """How many of the messages each topic has; of a session that keeps none, all of them are one."""
    if not messages:
        return ()
    span = SeqRange(messages[0].seq, messages[-1].seq + 1)
    topics = [topic.range for topic in unit.topics.between(row.key.tenant, row.id, span, limit=len(messages))]
    counts = Counter(next((at for at, topic in enumerate(topics) if message.seq in topic), -1) for message in messages)
    return list(counts.values())
