"""Carry a chain of summaries on, or make it anew: claim, read, ask, validate, commit (I3, I5, I6, I8, I9, I20).

No transaction and no connection is held while a model is asked. What was read is committed only if the fence, the
epoch and the reader's head are what they were when the work began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, subtract, uuid7
from anaphora.domain.messages import Message, least_trusted
from anaphora.domain.plans import Plan
from anaphora.domain.structures import Structure
from anaphora.domain.summaries import Method, Point, Summary, SummaryStatus
from anaphora.errors import LeaseLost, ModelError, ModelOutputInvalid, ModelRefused
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.models import Summariser, SummaryDraft, SummaryRequest, TokenCounter
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.ports.strategies import Compaction
from anaphora.rules import points as rule
from anaphora.rules.batching import batch_stop, got_no_use
from anaphora.rules.drafted import points_of
from anaphora.rules.retention import Retention
from anaphora.rules.structured import carried, checked_structure
from anaphora.services import summary_events as events
from anaphora.services.archiving import Archive, Archiving, Compressed
from anaphora.services.extract import Extract, Reading, Result
from anaphora.services.fencing import still_ours
from anaphora.services.planning import Planning
from anaphora.services.settings import Strategies, Work, live_reader, rebuild_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one claim took on, read in one snapshot."""

    fence: Fence
    row: SessionRow
    strategy: Compaction
    reader: str
    head: Head
    base: Summary | None
    plan: Plan
    #: up to where there is something to read, in one call or several
    aim: int
    messages: tuple[Message, ...]
    #: of the messages those that are read for facts in the same call, and where their reader stands
    reading: Reading | None = None
    read_to: Head = field(default_factory=Head)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What a claim came to."""

    summary: Summary
    read: Result | None
    #: what is kept as a document, if it is
    archive: Archive | None = None
    #: why no model made it
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """Runs jobs of kind SUMMARISE and REBUILD."""

    store: Store
    strategies: Strategies
    planning: Planning
    #: None: no language model is configured
    model: Summariser | None
    #: agents with a model of their own
    model_by_agent: Mapping[str, Summariser]
    extractive: Summariser
    digest: Summariser
    archiving: Archiving
    counter: TokenCounter
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    work: Work
    #: when sessions expire: then they are summarised to their ends
    retention: Retention = field(default_factory=Retention)
    #: who reads for facts, if the same model does both: what is unread is read in the same call
    extract: Extract | None = None

    async def run(self, job: Job, fence: Fence) -> None:
        """Do what a claimed job asks for, and end it.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.
            ModelError: the model failed; the caller decides when to try again.

        """
        assignment = await self.store.write(job.tenant, lambda unit: self._assign(unit, job, fence))
        self.failpoint("summarise.assigned")
        if assignment is None:
            events.nothing_new(job)
            return
        last = job.attempt >= job.max_attempts
        started = self.clock.monotonic()
        reason: str | None = None
        try:
            model = self.model_by_agent.get(job.key.agent, self.model)
            if model is not None and job.attempt > job.max_attempts:
                raise ModelOutputInvalid("unparsable", "every earlier attempt ended without a result")
            await still_ours(self.store, fence)
            draft = await self._draft(assignment, model or self.extractive)
            points, fresh = self._points(assignment, draft, last=last)
        except ModelError as error:
            if job.kind is JobKind.REBUILD or not (last or isinstance(error, ModelRefused)):
                raise
            reason = str(error)
            draft = await self._draft(assignment, self.digest)
            points, fresh = self._points(assignment, draft, last=last)
        self.failpoint("summarise.after_model")
        millis = round((self.clock.monotonic() - started) * 1000)
        made = self._made(assignment, draft, points, fresh, millis)
        made = replace(made, reason=reason)
        await self.store.write(job.tenant, lambda unit: self._commit(unit, job, assignment, made))
        self.failpoint("summarise.after_commit")
        events.ended(job, JobState.DONE if reason is None else JobState.FAILED)
        events.summarised(assignment.row.id, assignment.plan.read, assignment.base, made.summary, millis)

    # -- claim -------------------------------------------------------------------------------------------------

    def _assign(self, unit: Unit, job: Job, fence: Fence) -> Assignment | None:
        """Decide in the claim's own transaction what to read; None if nothing is due (the job is done then)."""
        now = self.clock.now()
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        strategy = self.strategies.get(row.strategy)
        reader, head, plan = self._due(unit, job, row, strategy)
        if plan is None:
            self._end(unit, job, fence, row)
            return None
        limits = self.work.batch.halved(min(job.attempt - 1, 6) if got_no_use(job) else 0)
        # what was deleted at the beginning is nothing to read; the new points answer for it all the same
        first = subtract((plan.read,), row.deleted)[0].start
        span = SeqRange(first, plan.read.stop)
        messages = unit.messages.range(job.tenant, row.id, span, limit=4 * limits.messages + 1, deleted=True)
        stop = min(batch_stop(messages, span, limits), span.stop)
        read = SeqRange(plan.read.start, stop)
        if not unit.jobs.set_range(fence, read, now=now):
            raise LeaseLost(f"job {job.id} is not ours any more")
        live = tuple(message for message in messages if message.seq < stop and not message.deleted)
        reading, read_to = self._reading(unit, job, row, read, live)
        return Assignment(
            fence=fence,
            row=row,
            strategy=strategy,
            reader=reader,
            head=head,
            base=unit.summaries.get(job.tenant, head.summary_id) if head.summary_id else None,
            plan=replace(plan, read=read),
            aim=plan.read.stop,
            messages=live,
            reading=reading,
            read_to=read_to,
        )

    def _reading(
        self, unit: Unit, job: Job, row: SessionRow, read: SeqRange, live: Sequence[Message]
    ) -> tuple[Reading | None, Head]:
        """What of the claim was not read for facts yet, if its reader stands within it."""
        asks_model = self.model_by_agent.get(job.key.agent, self.model) is not None
        if self.extract is None or job.kind is not JobKind.SUMMARISE or not asks_model:
            return None, Head()
        head = self.extract.head(unit, row)
        unread = [message for message in live if message.seq >= head.position]
        if head.position not in read or not unread:
            return None, Head()
        reading = self.extract.reading(unit, row, SeqRange(head.position, read.stop), unread)
        # what is known may be what no answer fits: after one that was not usable it is left out
        return (replace(reading, known=()) if got_no_use(job) else reading), head

    def _due(self, unit: Unit, job: Job, row: SessionRow, strategy: Compaction) -> tuple[str, Head, Plan | None]:
        live = unit.summaries.head(job.tenant, row.id, live_reader(strategy.name))
        if job.kind is JobKind.SUMMARISE:
            plan = strategy.plan(row.state_at(live)) or self._closing(row, live, strategy)
            return live_reader(strategy.name), live, plan
        reader = rebuild_reader(strategy.name)
        head = unit.summaries.head(job.tenant, row.id, reader)
        if head == Head():
            base = unit.summaries.base_for(job.tenant, row.id, strategy=strategy.name, stop=job.from_seq or 0)
            if base is not None:
                start = Head(position=base.range.stop, summary_id=base.id)
                unit.summaries.move_head(row, reader, old=head, new=start, now=self.clock.now())
                head = start
        return reader, head, strategy.rebuild_plan(row.state(head.position), live.position)

    def _closing(self, row: SessionRow, live: Head, strategy: Compaction) -> Plan | None:
        """The rest of a session that is about to expire, which is not to happen unsummarised."""
        policy = self.retention
        if policy.unsummarised or not policy.is_over(row.key.agent, row.keep_days, row.updated_at, self.clock.now()):
            return None
        return strategy.rebuild_plan(row.state_at(live), row.head)

    # -- ask and validate --------------------------------------------------------------------------------------

    async def _draft(self, assignment: Assignment, summariser: Summariser) -> SummaryDraft:
        kept, base = self._kept(assignment), assignment.base
        share = rule.shares(kept, assignment.plan.max_tokens)
        return await summariser.summarise(
            SummaryRequest(
                points=kept,
                merge=share.merge,
                messages=assignment.messages,
                range=assignment.plan.read,
                max_tokens=share.new,
                merged_tokens=share.merged,
                extraction=self.extract.request(assignment.reading) if self.extract and assignment.reading else None,
                structure=(base.structure if base else Structure()) if assignment.plan.structured else None,
            )
        )

    def _read(self, assignment: Assignment, draft: SummaryDraft) -> Result | None:
        """What the same call has read for facts; None if nothing, or nothing that may be kept."""
        if self.extract is None or assignment.reading is None or draft.extraction is None:
            return None
        try:
            return self.extract.result(assignment.reading, draft.extraction)
        except ModelOutputInvalid:
            return None

    def _kept(self, assignment: Assignment) -> tuple[Point, ...]:
        return rule.slide(assignment.base.points, assignment.plan.keep_from) if assignment.base else ()

    def _points(
        self, assignment: Assignment, draft: SummaryDraft, *, last: bool
    ) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
        """The points of the new version, and those that are new."""
        kept, deleted = self._kept(assignment), assignment.row.deleted
        return points_of(draft, kept, assignment.plan, deleted=deleted, count=self.counter.count, last=last)

    def _made(
        self,
        assignment: Assignment,
        draft: SummaryDraft,
        points: Sequence[Point],
        fresh: Sequence[Point],
        millis: int,
    ) -> _Made:
        """The new version, and what goes with it into one commit."""
        plan, base = assignment.plan, assignment.base
        new, structure = Structure(), Structure()
        if plan.structured:
            new = checked_structure(draft.lists, assignment.messages, echoes=draft.echoes)
            structure = carried(base.structure if base else Structure(), new, answered=draft.answered)
        summary = replace(self._summary(assignment, draft, points, millis), structure=structure)
        archive: Archive | None = None
        if plan.archive:
            found = Compressed(span=plan.read, messages=assignment.messages, points=fresh, structure=new)
            now = self.clock.now()
            archive = self.archiving.made_of(
                assignment.row, found, document_id=uuid7(now, self.randomness(10)), now=now
            )
        return _Made(summary=summary, read=self._read(assignment, draft), archive=archive)

    def _summary(self, assignment: Assignment, draft: SummaryDraft, points: Sequence[Point], millis: int) -> Summary:
        now = self.clock.now()
        trusts = [message.trust for message in assignment.messages]
        if assignment.base is not None:
            trusts.append(assignment.base.trust)
        return Summary(
            id=uuid7(now, self.randomness(10)),
            base_id=assignment.base.id if assignment.base else None,
            version=0,  # given in the transaction that stores it
            strategy=assignment.strategy.name,
            range=SeqRange(points[0].range.start, assignment.plan.read.stop),
            points=tuple(points),
            status=SummaryStatus.COMPLETED,
            method=draft.method,
            model=draft.model,
            prompt_version=draft.prompt_version,
            trust=least_trusted(trusts),
            created_at=now,
            generation_ms=millis,
            tokens=sum(point.tokens for point in points),
        )

    # -- commit ------------------------------------------------------------------------------------------------

    def _commit(self, unit: Unit, job: Job, assignment: Assignment, made: _Made) -> None:
        """Version, points, facts, heads and the job's end together, or nothing (I8)."""
        fence, strategy = assignment.fence, assignment.strategy.name
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        now = self.clock.now()
        summary = replace(
            made.summary,
            version=unit.summaries.next_version(job.tenant, row.id, strategy),
            status=_status(job, assignment.base),
            created_at=now,
        )
        unit.summaries.insert(row, summary, now=now)
        head = Head(position=summary.range.stop, summary_id=summary.id, aim=assignment.aim)
        live = job.kind is JobKind.SUMMARISE
        if not unit.summaries.move_head(row, assignment.reader, old=assignment.head, new=head, now=now, counts=live):
            raise LeaseLost(f"the head of session {row.id} was moved by somebody else")
        if made.archive is not None and summary.status is not SummaryStatus.STALE:
            made.archive.keep(unit, row)
        if made.read is not None and self.extract is not None and self.extract.head(unit, row) == assignment.read_to:
            self.extract.keep(unit, row, assignment.read_to, made.read, assignment.plan.read.stop, now=now)
        self._end(unit, job, fence, row, reason=made.reason)
        if summary.method is Method.MODEL:
            self.planning.model_is_back(unit, row, summary, now=self.clock.now())
        else:
            self.planning.plan_redo(unit, row, summary, now=self.clock.now())
        if summary.status is SummaryStatus.STALE:
            self.planning.plan_rebuild(unit, row, from_seq=0, now=now)

    def _end(self, unit: Unit, job: Job, fence: Fence, row: SessionRow, *, reason: str | None = None) -> None:
        """End the job; take the live chain's place if a rebuild has caught up; queue what is due next."""
        now = self.clock.now()
        if reason is not None:
            unit.jobs.fail(fence, reason=reason, now=now)
        else:
            unit.jobs.finish(fence, now=now)
        # read again: on a database with many writers, appends that waited for this job's row are visible only now
        row = unit.sessions.get(job.tenant, row.id) or row
        strategy = self.strategies.get(row.strategy)
        if job.kind is JobKind.REBUILD and not self._take_over(unit, row, strategy, job.from_seq or 0):
            self.planning.plan_rebuild(unit, row, from_seq=job.from_seq or 0, now=now, needs_model=job.needs_model)
        self.planning.plan_compaction(unit, row, now=now)

    def _take_over(self, unit: Unit, row: SessionRow, strategy: Compaction, from_seq: int) -> bool:
        """Serve the rebuilt chain if it reaches as far as the live one, or if nothing that is left lies between."""
        tenant, name, now = row.key.tenant, strategy.name, self.clock.now()
        live = unit.summaries.head(tenant, row.id, live_reader(name))
        built = unit.summaries.head(tenant, row.id, rebuild_reader(name))
        if strategy.rebuild_plan(row.state(built.position), live.position) is not None:
            return False
        if built != live:
            base = unit.summaries.base_for(tenant, row.id, strategy=name, stop=from_seq)
            keep_to = base.version if base else 0
            unit.summaries.replace_chain(row, strategy=name, after_version=keep_to, now=now)
            new = replace(built, aim=live.aim)
            unit.summaries.move_head(row, live_reader(name), old=live, new=new, now=now, counts=True)
        unit.summaries.drop_head(tenant, row.id, rebuild_reader(name))
        return True

    def abandon(self, unit: Unit, job: Job) -> None:
        """A rebuild failed for good: forget what it built; the old chain is served as before.

        One that is needed, for a digest or a stale version, is planned again, after as long as that is old: an outage
        may last. Not if its workers died of it: they would die again.
        """
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or job.kind is not JobKind.REBUILD:
            return
        strategy = self.strategies.get(row.strategy).name
        self.planning.forget_rebuild(unit, row, now=self.clock.now())
        _, served = unit.summaries.served(job.tenant, row.id, live_reader(strategy))
        if served is None or job.attempt > job.max_attempts:
            return
        if job.needs_model or served.status is SummaryStatus.STALE:
            self.planning.plan_again(unit, row, served, job, now=self.clock.now())


def _status(job: Job, base: Summary | None) -> SummaryStatus:
    """What carries a stale version on is stale too: it was made before an edit as much as that."""
    if job.kind is JobKind.REBUILD:
        return SummaryStatus.BUILDING
    return SummaryStatus.STALE if base is not None and base.status is SummaryStatus.STALE else SummaryStatus.COMPLETED
