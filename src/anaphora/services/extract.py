"""Read the log for facts, and say what each stretch was about: claim, read, ask, judge, commit (I5, I8, I9, I15).

Two kinds of job: EXTRACT goes on where its reader stands; REEXTRACT makes again what a change or a missing model has
left. No transaction and no connection is held while a model is asked. Chunk, facts, head and the job's end are one
commit: there is no chunk whose facts were never kept (hole 2.7).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import Fact
from anaphora.domain.jobs import Fence, Job, JobKind
from anaphora.domain.keys import SeqRange, subtract, uuid7
from anaphora.domain.messages import Message, Role, least_trusted
from anaphora.domain.pauses import Pause, paused_at
from anaphora.domain.summaries import Method
from anaphora.errors import LeaseLost, ModelOutputInvalid
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.extraction import ExtractionDraft, ExtractionRequest, Extractor
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.ports.strategies import Extraction
from anaphora.rules.batching import BatchLimits, batch_stop, got_no_answer, got_no_use, next_size
from anaphora.rules.language.words import terms
from anaphora.rules.text import truncate
from anaphora.rules.validity import checked_text
from anaphora.services.fencing import still_ours
from anaphora.services.learning import Judged, Learned, Learning, Origin, judged
from anaphora.services.planning import Planning
from anaphora.services.settings import Work, live_reader

log = logging.getLogger("anaphora.extract")

#: known facts that stand in the prompt, so that they are not learned twice
_KNOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is read for facts, and for whom."""

    row: SessionRow
    range: SeqRange
    messages: tuple[Message, ...]
    known: tuple[Fact, ...]
    speaker: str | None
    subject: str | None
    #: what was said in one of these is summarised, and never learned from
    pauses: tuple[Pause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What is to be kept of a reading."""

    chunk: Chunk | None
    found: tuple[Judged, ...]
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    reading: Reading
    head: Head
    #: of REEXTRACT: what is made again
    old: Chunk | None
    #: messages that are looked at, and whether that is more than one turn
    size: int = 0
    divisible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """Runs jobs of kind EXTRACT and REEXTRACT; and keeps what another call has read on the way."""

    store: Store
    extraction: Extraction
    planning: Planning
    learning: Learning
    #: None: no language model is configured
    model: Extractor | None
    #: agents with a model of their own
    model_by_agent: Mapping[str, Extractor]
    spoken: Extractor
    counter: TokenCounter
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    work: Work
    categories: tuple[str, ...]
    #: tokens of a chunk
    chunk_tokens: int

    async def run(self, job: Job, fence: Fence) -> None:
        """Do what a claimed job asks for, and end it.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.
            ModelError: the model failed; the caller decides when to try again.

        """
        assignment = await self._assigned(job, fence)
        spoilt = got_no_use(job)
        while assignment is not None:
            await still_ours(self.store, fence)
            try:
                result, reason = await self._read(job, assignment, spoilt=spoilt)
                break
            except _Smaller:
                spoilt, half = True, assignment.size // 2
                assignment = await self._assigned(job, fence, half)
        if assignment is None:
            return
        self.failpoint("extract.after_model")
        learned = await self.store.write(
            job.tenant, lambda unit: self._commit(unit, job, fence, assignment, result, reason)
        )
        self.failpoint("extract.after_commit")
        _report(job, assignment.reading, learned)

    async def _read(self, job: Job, assignment: _Assignment, *, spoilt: bool) -> tuple[Result, str | None]:
        """What is to be kept of the messages; and what was wrong, if it had to be found without the model.

        One turn that no answer fits must not stop the others, nor take them along (I9): the batch is halved until that
        turn is alone, then rules read it, and the job says so. What is known may be what no answer fits: after an
        answer that was not usable it is left out.

        Raises:
            ModelError: the model failed, or may do better later.
            _Smaller: there is no later, and the batch is more than one turn.

        """
        reading = assignment.reading
        extractor = self.model_by_agent.get(job.key.agent, self.model) or self.spoken
        reason = "every earlier attempt ended without a result"
        ways = () if job.attempt > job.max_attempts else (False,) if spoilt or not reading.known else (True, False)
        for known in ways:
            try:
                return self.result(reading, await extractor.extract(self.request(reading, known=known))), None
            except ModelOutputInvalid as error:
                if job.attempt < job.max_attempts:
                    raise
                if assignment.divisible:
                    raise _Smaller from None
                if not known and got_no_answer(job):  # what came after an outage says little: a later job asks again
                    raise
                reason = str(error)
        draft = await self.spoken.extract(self.request(reading))
        try:
            return self.result(reading, replace(draft, method=Method.DIGEST)), reason
        except ModelOutputInvalid:
            return Result(chunk=None, found=(), origin=_origin(reading, None)), reason

    def abandon(self, unit: Unit, job: Job) -> None:
        """Every attempt failed: try again later, after twice as long each time; an outage may last.

        Not if its workers died of it: they would die again.
        """
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or job.attempt > job.max_attempts:
            return
        self.planning.plan_later(unit, row, job, now=self.clock.now())

    def request(self, reading: Reading, *, known: bool = True) -> ExtractionRequest:
        """What to ask for; with what is known, or without."""
        return ExtractionRequest(
            messages=reading.messages,
            range=reading.range,
            speaker=reading.speaker,
            subject=reading.subject,
            known=reading.known if known else (),
            categories=self.categories,
            max_tokens=self.chunk_tokens,
        )

    def result(self, reading: Reading, draft: ExtractionDraft) -> Result:
        """What is to be kept of a draft: a chunk that may be stored, and facts that passed the gate. Pure.

        Raises:
            ModelOutputInvalid: the summary is empty, a refusal, or repeats the prompt.

        """
        text = checked_text(draft.summary, echoes=draft.echoes)
        text = truncate(text, 2 * self.chunk_tokens, self.counter.count)
        now = self.clock.now()
        found = judged(
            draft.candidates,
            [message for message in reading.messages if not paused_at(reading.pauses, message.created_at)],
            speaker=reading.speaker,
            subject=reading.subject,
            memory=[fact.content for fact in reading.known],
            echoes=draft.echoes,
        )
        chunk = Chunk(
            id=uuid7(now, self.randomness(10)),
            session_id=reading.row.id,
            range=reading.range,
            text=text,
            tokens=self.counter.count(text),
            method=draft.method,
            model=draft.model,
            prompt_version=draft.prompt_version,
            trust=least_trusted(message.trust for message in reading.messages),
            first_at=min(message.created_at for message in reading.messages),
            last_at=max(message.created_at for message in reading.messages),
            created_at=now,
        )
        return Result(chunk=chunk, found=tuple(found), origin=_origin(reading, draft))

    def reading(self, unit: Unit, row: SessionRow, span: SeqRange, messages: Sequence[Message]) -> Reading:
        """What is needed to read these messages, from the same snapshot."""
        said = " ".join(message.content for message in messages if message.role is Role.USER)
        abouts = ("",) if row.subject is None else (row.subject, "")  # users speak of themselves in every session
        known = [
            fact
            for about in abouts
            for fact in unit.facts.known(row.key.tenant, row.key.user, about, terms(said), limit=_KNOWN // len(abouts))[
                : _KNOWN // len(abouts)
            ]
        ]
        named = None if row.subject is None else unit.subjects.get(row.key.tenant, row.subject)
        times = [message.created_at for message in messages]
        pauses = unit.pauses.between(row.key.tenant, row.key.user, min(times), max(times)) if times else ()
        return Reading(
            row=row,
            range=span,
            messages=tuple(messages),
            known=tuple(known),
            speaker=_speaker(messages),
            subject=named.name if named is not None else row.subject,
            pauses=tuple(pauses),
        )

    def keep(self, unit: Unit, row: SessionRow, head: Head, result: Result, stop: int, *, now: datetime) -> Learned:
        """Keep what was read of a stretch that begins at the reader's head, and move the head behind it.

        Raises:
            LeaseLost: the head is not there any more; nothing is to be kept.

        """
        new = Head(position=stop, summary_id=None)
        reader = live_reader(self.extraction.name)
        if not unit.summaries.move_head(row, reader, old=head, new=new, now=now):
            raise LeaseLost(f"messages of session {row.id} were read by somebody else")
        if result.chunk is not None:
            unit.chunks.insert(row, result.chunk)
        return self.learning.learn(unit, result.found, result.origin, now=now)

    def head(self, unit: Unit, row: SessionRow) -> Head:
        """How far the session was read for facts."""
        return unit.summaries.head(row.key.tenant, row.id, live_reader(self.extraction.name))

    # -- claim -------------------------------------------------------------------------------------------------

    async def _assigned(self, job: Job, fence: Fence, most: int | None = None) -> _Assignment | None:
        assignment = await self.store.write(job.tenant, lambda unit: self._assign(unit, job, fence, most))
        self.failpoint("extract.assigned")
        return assignment

    def _assign(self, unit: Unit, job: Job, fence: Fence, most: int | None) -> _Assignment | None:
        """Decide in the claim's own transaction what to read; None if nothing is due (the job is done then).

        At most so many messages, unless one turn is longer.
        """
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        found: _Assignment | None = None
        if self.planning.schedule is not None:  # planned before it was switched off, there is nothing to do
            found = self._next(unit, job, row, most) if job.kind is JobKind.EXTRACT else self._again(unit, row)
        if found is None:
            self._end(unit, job, fence)
        elif not unit.jobs.set_range(fence, found.reading.range, now=self.clock.now()):
            raise LeaseLost(f"job {job.id} is not ours any more")
        return found

    def _next(self, unit: Unit, job: Job, row: SessionRow, most: int | None) -> _Assignment | None:
        """The next batch behind the head."""
        head = self.head(unit, row)
        due = self.extraction.due(row.state(head.position), quiet=self.planning.is_quiet(row, self.clock.now()))
        if due is None:
            return None
        first = subtract((due,), row.deleted)[0].start
        span = SeqRange(first, due.stop)
        most = min(self.extraction.batch, next_size(job, first) if most is None else most)
        limits = BatchLimits(messages=max(1, most), tokens=self.work.input_tokens)
        messages = unit.messages.range(job.tenant, row.id, span, limit=4 * limits.messages + 1, deleted=True)
        stop = min(batch_stop(messages, span, limits), span.stop)
        live = [message for message in messages if message.seq < stop and not message.deleted]
        reading = self.reading(unit, row, SeqRange(due.start, stop), live)
        divisible = stop > batch_stop(messages, span, replace(limits, messages=1))
        return _Assignment(reading=reading, head=head, old=None, size=stop - first, divisible=divisible)

    def _again(self, unit: Unit, row: SessionRow) -> _Assignment | None:
        """The next chunk that must be made again; those of which every message was deleted go."""
        tenant = row.key.tenant
        with_model = bool(self.model_by_agent.get(row.key.agent, self.model))
        while (old := unit.chunks.to_redo(tenant, row.id, without_model=with_model)) is not None:
            live = unit.messages.range(tenant, row.id, old.range, limit=len(old.range))
            if live:
                reading = self.reading(unit, row, old.range, live)
                return _Assignment(reading=reading, head=Head(), old=old)
            unit.chunks.replace(row, old, None)
        return None

    # -- commit ------------------------------------------------------------------------------------------------

    def _commit(
        self, unit: Unit, job: Job, fence: Fence, assignment: _Assignment, result: Result, reason: str | None
    ) -> Learned:
        """Chunk, facts, head and the job's end together, or nothing (I8)."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        now = self.clock.now()
        if assignment.old is None:
            stop = assignment.reading.range.stop
            learned = self.keep(unit, row, assignment.head, result, stop, now=now)
        else:
            if not unit.chunks.replace(row, assignment.old, result.chunk):
                raise LeaseLost(f"a chunk of session {row.id} was replaced by somebody else")
            learned = self.learning.learn(unit, result.found, result.origin, now=now)
        self._end(unit, job, fence, reason=reason)
        if result.chunk is not None and result.chunk.method is Method.EXTRACTIVE:
            self.planning.plan_reextract_with_model(unit, row, now=now)
        return learned

    def _end(self, unit: Unit, job: Job, fence: Fence, *, reason: str | None = None) -> None:
        """End the job, and queue what is left to be read."""
        now = self.clock.now()
        if reason is not None:
            unit.jobs.fail(fence, reason=reason, now=now)
        else:
            unit.jobs.finish(fence, now=now)
        # read again: on a database with many writers, appends that waited for this job's row are visible only now
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None:
            return
        self.planning.plan_extract(unit, row, now=now)
        if self.planning.schedule is None:
            return
        with_model = bool(self.model_by_agent.get(row.key.agent, self.model))
        if unit.chunks.to_redo(row.key.tenant, row.id, without_model=with_model) is not None:
            self.planning.plan_reextract(unit, row, now=now)


class _Smaller(Exception):
    """The batch is to be halved, in the same attempt."""


def _origin(reading: Reading, draft: ExtractionDraft | None) -> Origin:
    return Origin(
        row=reading.row,
        speaker=reading.speaker,
        named=reading.subject,
        model=draft.model if draft else None,
        prompt_version=draft.prompt_version if draft else None,
    )


def _speaker(messages: Sequence[Message]) -> str | None:
    """What the user is called in these messages, if they say it."""
    names = Counter(message.name for message in messages if message.role is Role.USER and message.name)
    return names.most_common(1)[0][0] if names else None


def _report(job: Job, reading: Reading, learned: Learned) -> None:
    """Log events carry ids and numbers only."""
    extra = {
        "event": "extracted",
        "session_id": str(job.session_id),
        "start": reading.range.start,
        "stop": reading.range.stop,
        "facts": len(learned.facts),
        "repeated": learned.repeated,
        "buried": learned.buried,
        "taken_up": learned.taken_up,
        "aside": learned.aside,
        "dropped": learned.dropped,
    }
    log.info("Read messages %s of %s for facts", reading.range, job.session_id, extra=extra)
