"""Find where the topics of a session end: claim, read, judge, commit (I4, I5, I8).

Where a message is doubtful, a model is asked, and nobody waits for it: until it answers the message stands in the open
topic, word by word. Doubts, and topics that ended, wait until there are enough messages, so that one call settles and
describes many. Topics, the reader's head and the job's end are one commit, so that a turn is in one topic and in one
only (hole 3.6).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from anaphora.domain.jobs import Fence, Job
from anaphora.domain.keys import SeqRange, uuid7
from anaphora.domain.messages import Message, least_trusted
from anaphora.domain.topics import OPENED_AFTER, Closed, ClosedTopic, Opened, OpenTopic, Topic, TopicVector, Utterance
from anaphora.domain.vectors import Space
from anaphora.errors import LeaseLost, ModelError, ModelOutputInvalid
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.ports.topics import SegmentDraft, SegmentsRequest, TopicDraft, TopicJudge
from anaphora.rules.topics.described import described
from anaphora.rules.topics.detector import MAX_CLOSED, Track, carry_on
from anaphora.rules.topics.views import RECENT, heard
from anaphora.rules.topics.walking import Cut, Numbered, Walked, doubts, settled, unsettled, walk
from anaphora.services.fencing import still_ours
from anaphora.services.meanings import Meanings
from anaphora.services.planning import Planning
from anaphora.services.settings import Strategies, live_reader
from anaphora.strategies.topics import Topics

log = logging.getLogger("anaphora.topics")

#: messages that one claim follows
_BATCH: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    row: SessionRow
    strategy: Topics
    head: Head
    #: the newest closed topics, oldest first: what is said may go back to them, and the open one begins behind the last
    closed: tuple[Topic, ...]
    #: of the open topic, followed already; and what comes next
    before: tuple[Message, ...]
    messages: tuple[Message, ...]
    stop: int
    #: the session has ended, and these are its last messages
    ends: bool

    @property
    def opened_at(self) -> int:
        """Where the open topic begins."""
        return self.closed[-1].range.stop if self.closed else 0

    def live(self, span: SeqRange) -> list[Message]:
        """The messages of the span."""
        return [message for message in (*self.before, *self.messages) if message.seq in span]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What came of following: topics that ended, and how far the reader is."""

    topics: tuple[Topic, ...]
    stop: int
    #: what the described ones mean, and where; None: there is no embedder
    space: Space | None = None
    vectors: tuple[TopicVector, ...] = ()


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
    counter: TokenCounter
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
        await still_ours(self.store, fence)
        made = await self._made(assignment, fence)
        self.failpoint("follow.judged")
        await self.store.write(job.tenant, lambda unit: self._commit(unit, job, fence, assignment, made))
        self.failpoint("follow.after_commit")
        extra = {"event": "followed", "session_id": str(job.session_id), "stop": made.stop, "topics": len(made.topics)}
        log.info("Followed %s to message %d", job.session_id, made.stop, extra=extra)

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
            strategy=strategy,
            head=head,
            closed=closed,
            before=tuple(before),
            messages=tuple(messages),
            stop=stop,
            ends=ends,
        )

    # -- judge -------------------------------------------------------------------------------------------------

    async def _made(self, assignment: _Assignment, fence: Fence) -> _Made:
        """The topics that end, in order, and how far all is settled. No transaction is open."""
        model = self.judge_by_agent.get(assignment.row.key.agent, self.judge)
        track, said = await self._heard(assignment)
        limits, scale = assignment.strategy.limits, self.meanings.scale
        if not assignment.before and not assignment.messages:
            return self._ended(assignment, ())
        if model is None:
            return self._ended(assignment, walk(track, said, settle=None, scale=scale, limits=limits).cuts)
        clear = walk(track, said, settle=unsettled, scale=scale, limits=limits)
        certain = self._certain(assignment, clear)
        if not assignment.ends and (certain.stop == assignment.stop or _waits(assignment, clear)):
            return certain
        rest = [] if clear.waits_at is None else [each for each in said if each[0] >= clear.waits_at]
        doubtful = doubts(clear.track, rest, scale=scale, limits=limits)
        drafts = await self._asked(model, assignment, fence, clear.cuts, doubtful)
        begins = {draft.first for draft in drafts}
        answers = {seq: seq in begins for seq in doubtful} if drafts else {}
        settled_ = walk(clear.track, rest, settle=settled(answers, limits), scale=scale, limits=limits)
        made = self._ended(assignment, (*clear.cuts, *settled_.cuts))
        return await self._told(assignment, made, drafts)

    async def _heard(self, assignment: _Assignment) -> tuple[Track, list[Numbered]]:
        """The session as it stands before the claim, and what the claim says."""
        compared = (*[m for m in assignment.before if heard(m.role)][-RECENT:], *assignment.messages)
        vectors = await self.meanings.of([message for message in compared if heard(message.role)])
        opened = OpenTopic()
        for message in assignment.before:
            opened = carry_on(opened, _utterance(message, vectors))
        closed = tuple(ClosedTopic(id=str(topic.id), words=frozenset(topic.words)) for topic in assignment.closed)
        return Track(open=opened, closed=closed), [(m.seq, _utterance(m, vectors)) for m in assignment.messages]

    async def _asked(
        self, model: TopicJudge, assignment: _Assignment, fence: Fence, cuts: Sequence[Cut], doubtful: Sequence[int]
    ) -> tuple[SegmentDraft, ...]:
        """What the model says of the stretch; nothing if it does not answer: rules decide then."""
        request = SegmentsRequest(
            messages=(*assignment.before, *assignment.messages),
            certain=tuple(cut.seq for cut in cuts),
            doubtful=tuple(doubtful),
            least=assignment.strategy.least_messages,
            ends=assignment.ends,
            max_tokens=assignment.strategy.summary_tokens,
        )
        await still_ours(self.store, fence)
        try:
            return await model.segments(request)
        except ModelError as error:
            extra = {"event": "undecided", "session_id": str(assignment.row.id), "error": type(error).__name__}
            log.warning("The model gave no verdict on %s: rules decide", assignment.row.id, extra=extra)
            return ()

    def _ended(self, assignment: _Assignment, cuts: Sequence[Cut]) -> _Made:
        """All of the claim is settled; the last topic ends with its session."""
        return _Made(topics=self._topics(assignment, cuts, ends=assignment.ends), stop=assignment.stop)

    def _certain(self, assignment: _Assignment, walked: Walked) -> _Made:
        """The topics up to the last that has grown as long as one may; what follows it waits."""
        sure = max((at for at, cut in enumerate(walked.cuts, 1) if cut.why is Closed.FULL), default=0)
        waits_at = assignment.stop if walked.waits_at is None else walked.waits_at
        stop = walked.cuts[sure].seq if sure < len(walked.cuts) else waits_at
        return _Made(topics=self._topics(assignment, walked.cuts[:sure]), stop=stop)

    def _topics(self, assignment: _Assignment, cuts: Sequence[Cut], *, ends: bool = False) -> tuple[Topic, ...]:
        """The topics that were cut off, not described yet."""
        made: list[Topic] = []
        ids: dict[str, UUID] = {}
        last = assignment.closed[-1] if assignment.closed else None
        for cut in cuts:
            leads_to = None if cut.leads_to is None else ids.get(cut.leads_to) or UUID(cut.leads_to)
            last = self._topic(assignment, last, cut.seq, cut.why, leads_to, cut.words)
            ids[str(cut.number)] = last.id
            made.append(last)
        start = last.range.stop if last else 0
        if ends and assignment.live(SeqRange(start, assignment.stop)):
            made.append(self._topic(assignment, last, assignment.stop, Closed.ENDED, None, frozenset()))
        return tuple(made)

    def _topic(
        self,
        assignment: _Assignment,
        last: Topic | None,
        stop: int,
        why: Closed,
        leads_to: UUID | None,
        words: frozenset[str],
    ) -> Topic:
        now, span = self.clock.now(), SeqRange(last.range.stop if last else 0, stop)
        said = assignment.live(span)
        return Topic(
            id=uuid7(now, self.randomness(10)),
            session_id=assignment.row.id,
            range=span,
            opened=OPENED_AFTER[last.closed] if last else Opened.FIRST,
            closed=why,
            continues=last.leads_to if last else None,
            leads_to=leads_to,
            name=None,
            summary=None,
            tokens=0,
            words=tuple(sorted(words)),
            method=None,
            model=None,
            prompt_version=None,
            trust=least_trusted(message.trust for message in said),
            first_at=min(message.created_at for message in said),
            last_at=max(message.created_at for message in said),
            closed_at=now,
            closed_head=assignment.row.head,
            described_at=None,
            described_head=None,
        )

    async def _told(self, assignment: _Assignment, made: _Made, drafts: Sequence[SegmentDraft]) -> _Made:
        """The topics with what was said of them; what was not, or is not fit, is described by itself later."""
        stops = [*(draft.first for draft in drafts[1:]), assignment.stop]
        spoken = {(draft.first, stop): draft.draft for draft, stop in zip(drafts, stops, strict=False)}
        topics: list[Topic] = []
        vectors: list[TopicVector] = []
        space = None
        for topic in made.topics:
            said = assignment.live(topic.range)
            # a deleted beginning is not in the prompt
            told = self._described(assignment, topic, said, spoken.get((said[0].seq, topic.range.stop)))
            if told.summary is not None:
                space, meant = await self.meanings.of_topic(told)
                vectors.extend(meant)
            topics.append(told)
        return replace(made, topics=tuple(topics), space=space, vectors=tuple(vectors))

    def _described(
        self, assignment: _Assignment, topic: Topic, said: Sequence[Message], draft: TopicDraft | None
    ) -> Topic:
        if draft is None:
            return topic
        try:
            return described(
                topic,
                said,
                draft,
                summary_tokens=assignment.strategy.summary_tokens,
                count=self.counter.count,
                now=self.clock.now(),
                head=assignment.row.head,
            )
        except ModelOutputInvalid:
            return topic

    # -- commit ------------------------------------------------------------------------------------------------

    def _commit(self, unit: Unit, job: Job, fence: Fence, assignment: _Assignment, made: _Made) -> None:
        """Topics, head and the job's end together, or nothing (I8)."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        now = self.clock.now()
        reader = live_reader(self.strategies.get(row.strategy).name)
        new = Head(position=made.stop, summary_id=None)
        if new != assignment.head and not unit.summaries.move_head(row, reader, old=assignment.head, new=new, now=now):
            raise LeaseLost(f"session {row.id} was followed by somebody else")
        for topic in made.topics:
            told = replace(topic, described_at=now, described_head=row.head) if topic.summary is not None else topic
            unit.topics.insert(row, replace(told, closed_at=now, closed_head=row.head))
        if made.space is not None:
            unit.topics.put_vectors(job.tenant, made.space, made.vectors)
        self._end(unit, job, fence, assignment.row, assignment.stop)
        if any(topic.summary is None for topic in made.topics):
            self.planning.plan_describe(unit, row, now=now)

    def _end(self, unit: Unit, job: Job, fence: Fence, read: SessionRow, stop: int) -> None:
        """End the job, and queue what is due next: more was said since, or the session has ended."""
        now = self.clock.now()
        unit.jobs.finish(fence, now=now)
        # read again: on a database with many writers, appends that waited for this job's row are visible only now
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is not None and (row.ended_at != read.ended_at or self._more(unit, row, stop)):
            self.planning.plan_compaction(unit, row, now=now)

    def _more(self, unit: Unit, row: SessionRow, stop: int) -> bool:
        """Whether something can be followed beyond what was read; what waits in that is not looked at again."""
        strategy = self.strategies.get(row.strategy)
        plan = strategy.plan(row.state_at(unit.summaries.head(row.key.tenant, row.id, live_reader(strategy.name))))
        return plan is not None and plan.read.stop > stop


def _waits(assignment: _Assignment, walked: Walked) -> bool:
    """Whether what is behind the first end or doubt waits for more, so that one call settles and describes it all."""
    open_from = assignment.stop if walked.waits_at is None else walked.waits_at
    first = walked.cuts[0].seq if walked.cuts else open_from
    doubtful = sum(len(message.content) for message in assignment.messages if message.seq >= open_from)
    return assignment.strategy.may_wait(
        messages=assignment.stop - first,
        tokens=sum(message.tokens for message in assignment.messages if message.seq >= first),
        opened=sum(message.tokens for message in (*assignment.before, *assignment.messages)),
        characters=walked.track.open.characters + doubtful,
    )


def _utterance(message: Message, vectors: Mapping[UUID, Sequence[float]]) -> Utterance:
    return Utterance(role=message.role, text=message.content, vector=vectors.get(message.id))
