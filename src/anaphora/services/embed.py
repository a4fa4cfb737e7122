"""Give messages the vectors by which they are found by meaning: in the background, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from anaphora.domain.jobs import Fence, Job
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.topics import Topic, TopicVector
from anaphora.domain.vectors import Space
from anaphora.errors import LeaseLost
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import Embedder
from anaphora.ports.rows import PassageVector, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.passages import passages
from anaphora.services.fencing import still_ours
from anaphora.services.meanings import Meanings, vectors_of
from anaphora.services.planning import Planning
from anaphora.services.retrieve import space_of

log = logging.getLogger("anaphora.embed")

#: messages that one claim takes on
BATCH: Final = 128
#: topics that one claim takes on besides
_TOPICS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    row: SessionRow
    messages: Sequence[Message]
    #: described topics without vectors, such as a change of embedder leaves
    topics: Sequence[Topic]
    #: every live message before this one has its vectors when the batch is done
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    passages: Sequence[PassageVector]
    topics: Sequence[TopicVector]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """Runs jobs of kind EMBED."""

    store: Store
    planning: Planning
    embedder: Embedder
    meanings: Meanings
    clock: Clock
    failpoint: Failpoint

    async def run(self, job: Job, fence: Fence) -> None:
        """Embed the next messages of the session, and queue what is left.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.
            ModelError: the embedder failed; the caller decides when to try again.

        """
        # how long its vectors are may have to be asked for: that blocks, and whoever stops need not wait for it
        space = await anyio.to_thread.run_sync(space_of, self.embedder, abandon_on_cancel=True)
        assignment = await self.store.write(job.tenant, lambda unit: self._assign(unit, job, fence, space))
        self.failpoint("embed.assigned")
        if assignment is None:
            return
        await still_ours(self.store, fence)
        made = _Made(
            passages=await self._vectors(assignment.messages),
            topics=[one for topic in assignment.topics for one in (await self.meanings.of_topic(topic))[1]],
        )
        self.failpoint("embed.after_model")
        await self.store.write(job.tenant, lambda unit: self._commit(unit, job, fence, assignment, space, made))
        self.failpoint("embed.after_commit")
        extra = {"event": "embedded", "session_id": str(job.session_id), "messages": len(assignment.messages)}
        log.info("Embedded %d messages of %s", len(assignment.messages), job.session_id, extra=extra)

    def abandon(self, unit: Unit, job: Job) -> None:
        """Nothing is half made: what has no vectors is found by its words, and the next append tries again."""

    def _assign(self, unit: Unit, job: Job, fence: Fence, space: Space) -> _Assignment | None:
        """What has no vectors yet; None, and the job is done, if there is nothing."""
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None or not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        pending = unit.embedding.pending(row, space, limit=BATCH)
        # fewer than were asked for: behind the last of them nothing is left
        stop = pending[-1].seq + 1 if len(pending) == BATCH else row.head
        topics = unit.topics.without_vectors(row, space, limit=_TOPICS)
        if not pending and not topics:
            unit.embedding.embedded(row, space, stop)
            self._end(unit, job, fence, space, ())
            return None
        start = pending[0].seq if pending else stop
        unit.jobs.set_range(fence, SeqRange(start, stop), now=self.clock.now())
        return _Assignment(row=row, messages=pending, topics=topics, stop=stop)

    async def _vectors(self, messages: Sequence[Message]) -> list[PassageVector]:
        """The vectors of all passages."""
        wanted = [(message, part, text) for message in messages for part, text in enumerate(passages(message))]
        vectors = await vectors_of(self.embedder, [text for _, _, text in wanted])
        return [
            PassageVector(seq=m.seq, part=part, message_id=m.id, version=m.version, vector=vector)
            for (m, part, _), vector in zip(wanted, vectors, strict=True)
        ]

    def _commit(
        self,
        unit: Unit,
        job: Job,
        fence: Fence,
        assignment: _Assignment,
        space: Space,
        made: _Made,
    ) -> None:
        """Vectors, how far they go, and the job's end together, or nothing (I8)."""
        if not unit.jobs.holds(fence):
            raise LeaseLost(f"job {job.id} is not ours any more")
        unit.vectors.put(assignment.row, space, made.passages)
        unit.topics.put_vectors(job.tenant, space, made.topics)
        # what was edited meanwhile has no vectors still
        missing = unit.embedding.pending(assignment.row, space, limit=1)
        stop = min([assignment.stop, *(message.seq for message in missing)])
        unit.embedding.embedded(assignment.row, space, stop)
        self._end(unit, job, fence, space, assignment.topics)

    def _end(self, unit: Unit, job: Job, fence: Fence, space: Space, tried: Sequence[Topic]) -> None:
        """End the job; another takes what is left on, but not topics again that this one could do nothing for."""
        now = self.clock.now()
        unit.jobs.finish(fence, now=now)
        row = unit.sessions.get(job.tenant, job.session_id)
        if row is None:
            return
        bare = unit.topics.without_vectors(row, space, limit=1)
        if unit.embedding.pending(row, space, limit=1) or (bare and bare[0].id not in {topic.id for topic in tried}):
            self.planning.plan_embed(unit, row, now=now)
