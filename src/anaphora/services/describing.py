"""Give closed topics their names and summaries: claim, read, ask, check, commit (I5, I8, I9, I20).

Until a topic is described it stands in the prompt word by word: no answer waits, and nothing is missing meanwhile
(holes 3.7, 3.8). What no model would describe, rules do, and it is done again when a model is there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from anaphora.domain.jobs import Fence, Job
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Topic, TopicVector
from anaphora.domain.vectors import Space
from anaphora.errors import LeaseLost, ModelError
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.ports.topics import TopicDescriber, TopicDraft, TopicRequest
from anaphora.rules.topics.described import described
from anaphora.services.fencing import still_ours
from anaphora.services.meanings import Meanings
from anaphora.services.planning import Planning
from anaphora.services.settings import Strategies
from anaphora.strategies.topics import Topics

log = logging.getLogger("anaphora.topics")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    row: SessionRow
    topic: Topic
    messages: tuple[Message, ...]
    summary_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    topic: Topic
    #: what its views mean, and where; None: there is no embedder
    vectors: tuple[TopicVector, ...]
    space: Space | None
    #: why no model described it, if one should have
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """Runs jobs of kind DESCRIBE."""

    store: Store
    strategies: Strategies
    planning: Planning
    meanings: Meanings
    #: None: no language model is configured
    model: TopicDescriber | None
    #: agents with a model of their own
    model_by_agent: Mapping[str, TopicDescriber]
    #: without a model; and where the model failed for good
    sentences: TopicDescriber
    digest: TopicDescriber
    counter: TokenCounter
    clock: Clock
    failpoint: Failpoint

    async def run(self, job: Job, fence: Fence) -> None:
        """Describe the oldest topic that wants it, and queue the next.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.
            ModelError: the model failed; the caller decides when to try again.

        """
        assignment = await self.store.write(job.tenant, lambda unit: self._assign(unit, job, fence))
        self.failpoint("describe.assigned")
        if assignment is None:
            return
        await still_ours(self.store, fence)
        topic, reason = await self._described(job, assignment)
        space, vectors = await self.meanings.of_topic(topic)
        made = _Made(topic=topic, vectors=vectors, space=space, reason=reason)
        self.failpoint("describe.after_model")
        await self.store.write(job.tenant, lambda unit: self._commit(unit, job, fence, assignment, made))
        self.failpoint("describe.after_commit")
        extra = {"event": "described", "session_id": str(job.session_id), "method": str(topic.method)}
        log.info("Described messages %s of %s", topic.range, job.session_id, extra=extra)

    def abandon(self, unit: Unit, job: Job) -> None:
        """Every attempt failed: try again later, after twice as long each time; an outage may last.

        Not if its workers died of it: they would die again.
        """
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is not None and job.attempt <= job.max_attempts:
            self.planning.plan_later(unit, row, job, now=self.clock.now())

    # -- claim -------------------------------------------------------------------------------------------------

    def _assign(self, unit: Unit, job: Job, fence: Fence) -> _Assignment | None:
        """What to describe; topics of which every message was deleted go. None, and the job is done, if nothing is."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        strategy = self.strategies.get(row.strategy)
        tokens = strategy.summary_tokens if isinstance(strategy, Topics) else Topics().summary_tokens
        while (topic := self._next(unit, row)) is not None:
            live = unit.messages.range(job.tenant, row.id, topic.range, limit=len(topic.range))
            if live:
                if not unit.jobs.set_range(fence, topic.range, now=self.clock.now()):
                    raise LeaseLost(f"job {job.id} is not ours any more")
                return _Assignment(row=row, topic=topic, messages=tuple(live), summary_tokens=tokens)
            unit.topics.replace(row, topic, None)
        now = self.clock.now()
        unit.jobs.finish(fence, now=now)
        # look again: on a database with many writers, what waited for this job's row is visible only now
        if self._next(unit, row) is not None:
            self.planning.plan_describe(unit, row, now=now)
        return None

    def _next(self, unit: Unit, row: SessionRow) -> Topic | None:
        """The oldest topic of which nothing true is told; then, if there is a model, the oldest told without one."""
        found = unit.topics.to_describe(row.key.tenant, row.id, without_model=False)
        if found is None and self._model(row) is not None:
            found = unit.topics.to_describe(row.key.tenant, row.id, without_model=True)
        return found

    def _model(self, row: SessionRow) -> TopicDescriber | None:
        return self.model_by_agent.get(row.key.agent, self.model)

    # -- ask ---------------------------------------------------------------------------------------------------

    async def _described(self, job: Job, assignment: _Assignment) -> tuple[Topic, str | None]:
        """The topic with its description; and what was wrong, if the model failed for good."""
        request = TopicRequest(
            messages=assignment.messages, range=assignment.topic.range, max_tokens=assignment.summary_tokens
        )
        model = self._model(assignment.row)
        if model is None:
            return self._checked(assignment, await self.sentences.describe(request)), None
        reason = "every earlier attempt ended without a result"
        if job.attempt <= job.max_attempts:
            try:
                return self._checked(assignment, await model.describe(request)), None
            except ModelError as error:
                last = job.attempt >= job.max_attempts
                # a description by rules is there: it is served until a model is back
                if not last or (assignment.topic.summary is not None and not assignment.topic.stale):
                    raise
                reason = str(error)
        return self._checked(assignment, await self.digest.describe(request)), reason

    def _checked(self, assignment: _Assignment, draft: TopicDraft) -> Topic:
        return described(
            assignment.topic,
            assignment.messages,
            draft,
            summary_tokens=assignment.summary_tokens,
            count=self.counter.count,
            now=self.clock.now(),
            head=assignment.row.head,
        )

    # -- commit ------------------------------------------------------------------------------------------------

    def _commit(self, unit: Unit, job: Job, fence: Fence, assignment: _Assignment, made: _Made) -> None:
        """Description, vectors and the job's end together, or nothing (I8): no vector of another topic (hole 3.3)."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        topic, now = made.topic, self.clock.now()
        if not unit.topics.replace(row, assignment.topic, replace(topic, described_at=now, described_head=row.head)):
            raise LeaseLost(f"a topic of session {row.id} was described by somebody else")
        if made.space is not None:
            unit.topics.put_vectors(job.tenant, made.space, made.vectors)
        if made.reason is None:
            unit.jobs.finish(fence, now=now)
        else:
            unit.jobs.fail(fence, reason=made.reason, now=now)
        with_model = self._model(row) is not None and made.reason is None
        if unit.topics.to_describe(job.tenant, row.id, without_model=with_model) is not None:
            self.planning.plan_describe(unit, row, now=now)
        elif topic.method is not Method.MODEL:
            self.planning.plan_describe_with_model(unit, row, now=now)
