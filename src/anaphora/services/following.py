"""Find where the topics of a session end: claim, read, judge, commit (I4, I5, I8).

Where a message is doubtful, a model is asked, and nobody waits for it: until the verdict is there the message stands in
the open topic, word by word. Topics, the reader's head and the job's end are one commit, so that a turn is in one topic
and in one only (hole 3.6).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from anaphora.domain.jobs import Fence, Job
from anaphora.domain.keys import SeqRange, uuid7
from anaphora.domain.messages import Message, least_trusted
from anaphora.domain.topics import (
    OPENED_AFTER,
    Closed,
    ClosedTopic,
    Opened,
    OpenTopic,
    Stage,
    Topic,
    Utterance,
    Verdict,
)
from anaphora.errors import LeaseLost, ModelError
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.ports.topics import TopicJudge
from anaphora.rules.topics.detector import MAX_CLOSED, Limits, carry_on, judge
from anaphora.rules.topics.views import RECENT, heard
from anaphora.services.meanings import Meanings
from anaphora.services.planning import Planning
from anaphora.services.settings import Strategies, live_reader
from anaphora.strategies.topics import Topics

log = logging.getLogger("anaphora.topics")

#: messages that one claim follows
_BATCH: Final = 128
#: the newest messages of a topic that a model is shown before it says whether the next goes on with it
_SHOWN: Final = 8
_CLOSED_BY: Final = {Stage.SHIFT: Closed.SHIFT, Stage.RETURN: Closed.RETURN, Stage.FULL: Closed.FULL}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    row: SessionRow
    limits: Limits
    head: Head
    #: the newest closed topics, oldest first: what is said may go back to them, and the open one begins behind the last
    closed: tuple[Topic, ...]
    #: of the open topic, followed already; and what comes next
    before: tuple[Message, ...]
    messages: tuple[Message, ...]
    stop: int
    #: the session has ended, and these are its last messages
    ends: bool


@dataclass(slots=True, kw_only=True)
class _Walk:
    """A session as it is followed."""

    #: topics that can be gone back to; the last of all; and those that ended on the way
    closed: list[ClosedTopic]
    last: Topic | None
    made: list[Topic] = field(default_factory=list)
    #: the open topic, and what was said in it
    open: OpenTopic = field(default_factory=OpenTopic)
    said: list[Message] = field(default_factory=list)

    def take(self, message: Message, utterance: Utterance) -> None:
        self.open = carry_on(self.open, utterance)
        self.said.append(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Runs jobs of kind FOLLOW."""

    store: Store
    strategies: Strategies
    planning: Planning
    meanings: Meanings
    #: None: no language model is configured
    judge: TopicJudge | None
    #: agents with a model of their own
    judge_by_agent: Mapping[str, TopicJudge]
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint

    async def run(self, job: Job, fence: Fence) -> None:
        """Follow what was said, and close the topics that ended.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.

        """
        assignment = await self.store.write(job.tenant, lambda unit: self._assign(unit, job, fence))
        self.failpoint("follow.assigned")
        if assignment is None:
            return
        made = await self._walk(assignment)
        self.failpoint("follow.judged")
        await self.store.write(job.tenant, lambda unit: self._commit(unit, job, fence, assignment, made))
        self.failpoint("follow.after_commit")
        extra = {"event": "followed", "session_id": str(job.session_id), "stop": assignment.stop, "topics": len(made)}
        log.info("Followed %s to message %d", job.session_id, assignment.stop, extra=extra)

    def abandon(self, unit: Unit, job: Job) -> None:
        """Nothing is half made: what was not followed stands word by word, and the next append tries again."""

    # -- claim -------------------------------------------------------------------------------------------------

    def _assign(self, unit: Unit, job: Job, fence: Fence) -> _Assignment | None:
        """What to follow; None, and the job is done, if there is nothing."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        strategy = self.strategies.get(row.strategy)
        found = self._next(unit, row, strategy) if isinstance(strategy, Topics) else None
        if found is None:
            self._end(unit, job, fence, row, row.head)
        elif not unit.jobs.set_range(fence, SeqRange(found.head.position, found.stop), now=self.clock.now()):
            raise LeaseLost(f"job {job.id} is not ours any more")
        return found

    def _next(self, unit: Unit, row: SessionRow, strategy: Topics) -> _Assignment | None:
        tenant = row.key.tenant
        head = unit.summaries.head(tenant, row.id, live_reader(strategy.name))
        closed = tuple(reversed(unit.topics.list(tenant, row.id, limit=MAX_CLOSED)))
        opened_at = closed[-1].range.stop if closed else 0
        plan = strategy.plan(row.state(head.position))
        stop = min(plan.read.stop, head.position + _BATCH) if plan else head.position
        ends = row.ended_at is not None and stop == row.head and opened_at < row.head
        if plan is None and not ends:
            return None
        before = unit.messages.range(
            tenant, row.id, SeqRange(opened_at, max(opened_at, head.position)), limit=strategy.most_messages + _BATCH
        )
        fresh = SeqRange(head.position, stop)
        messages = unit.messages.range(tenant, row.id, fresh, limit=len(fresh)) if fresh else ()
        return _Assignment(
            row=row,
            limits=strategy.limits,
            head=head,
            closed=closed,
            before=tuple(before),
            messages=tuple(messages),
            stop=stop,
            ends=ends,
        )

    # -- judge -------------------------------------------------------------------------------------------------

    async def _walk(self, assignment: _Assignment) -> tuple[Topic, ...]:
        """The topics that end, in order. No transaction is open."""
        walk = _Walk(
            closed=[ClosedTopic(id=str(topic.id), words=frozenset(topic.words)) for topic in assignment.closed],
            last=assignment.closed[-1] if assignment.closed else None,
        )
        compared = (*[m for m in assignment.before if heard(m.role)][-RECENT:], *assignment.messages)
        vectors = await self.meanings.of([message for message in compared if heard(message.role)])
        for message in assignment.before:
            walk.take(message, _utterance(message, vectors))
        for message in assignment.messages:
            said = _utterance(message, vectors)
            verdict = await self._verdict(assignment, walk, message, said)
            if verdict.shifts:
                back = UUID(verdict.continues) if verdict.continues else None
                self._close(assignment, walk, message.seq, _CLOSED_BY[verdict.stage], back)
            walk.take(message, said)
        if assignment.ends and walk.said:
            self._close(assignment, walk, assignment.stop, Closed.ENDED)
        return tuple(walk.made)

    async def _verdict(self, assignment: _Assignment, walk: _Walk, message: Message, said: Utterance) -> Verdict:
        """What is said of the message; a doubt is settled by the model, or by the rules alone if it does not answer."""
        model = self.judge_by_agent.get(assignment.row.key.agent, self.judge)
        scale = self.meanings.scale
        found = judge(
            walk.open, said, closed=walk.closed, model=model is not None, scale=scale, limits=assignment.limits
        )
        if found.stage is not Stage.DOUBT or model is None:
            return found
        try:
            same = await model.is_same(walk.said[-_SHOWN:], message)
        except ModelError as error:
            extra = {"event": "undecided", "session_id": str(assignment.row.id), "error": type(error).__name__}
            log.warning("The model gave no verdict on %s: rules decide", assignment.row.id, extra=extra)
            return judge(walk.open, said, closed=walk.closed, scale=scale, limits=assignment.limits)
        return Verdict(stage=Stage.SAME if same else Stage.SHIFT, sameness=found.sameness, reasons=found.reasons)

    def _close(
        self, assignment: _Assignment, walk: _Walk, stop: int, why: Closed, leads_to: UUID | None = None
    ) -> None:
        """End the open topic before the message `stop`."""
        now, last = self.clock.now(), walk.last
        topic = Topic(
            id=uuid7(now, self.randomness(10)),
            session_id=assignment.row.id,
            range=SeqRange(last.range.stop if last else 0, stop),
            opened=OPENED_AFTER[last.closed] if last else Opened.FIRST,
            closed=why,
            continues=last.leads_to if last else None,
            leads_to=leads_to,
            name=None,
            summary=None,
            tokens=0,
            words=tuple(sorted(walk.open.words)),
            method=None,
            model=None,
            prompt_version=None,
            trust=least_trusted(message.trust for message in walk.said),
            first_at=min(message.created_at for message in walk.said),
            last_at=max(message.created_at for message in walk.said),
            closed_at=now,
            closed_head=assignment.row.head,
            described_at=None,
            described_head=None,
        )
        walk.made.append(topic)
        walk.closed.append(ClosedTopic(id=str(topic.id), words=walk.open.words))
        del walk.closed[:-MAX_CLOSED]
        walk.last, walk.open, walk.said = topic, OpenTopic(), []

    # -- commit ------------------------------------------------------------------------------------------------

    def _commit(self, unit: Unit, job: Job, fence: Fence, assignment: _Assignment, made: Sequence[Topic]) -> None:
        """Topics, head and the job's end together, or nothing (I8)."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        now = self.clock.now()
        reader = live_reader(self.strategies.get(row.strategy).name)
        new = Head(position=assignment.stop, summary_id=None)
        if new != assignment.head and not unit.summaries.move_head(row, reader, old=assignment.head, new=new, now=now):
            raise LeaseLost(f"session {row.id} was followed by somebody else")
        for topic in made:
            unit.topics.insert(row, replace(topic, closed_at=now, closed_head=row.head))
        self._end(unit, job, fence, assignment.row, assignment.stop)
        if made:
            self.planning.plan_describe(unit, row, now=now)

    def _end(self, unit: Unit, job: Job, fence: Fence, read: SessionRow, stop: int) -> None:
        """End the job, and queue what is due next: more was said since, or the session has ended."""
        now = self.clock.now()
        unit.jobs.finish(fence, now=now)
        # read again: on a database with many writers, appends that waited for this job's row are visible only now
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is not None and (stop < row.head or row.ended_at != read.ended_at):
            self.planning.plan_compaction(unit, row, now=now)


def _utterance(message: Message, vectors: Mapping[UUID, Sequence[float]]) -> Utterance:
    return Utterance(role=message.role, text=message.content, vector=vectors.get(message.id))
