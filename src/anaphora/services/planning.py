"""Which background work a session needs next. Everything here runs inside somebody's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, uuid7
from anaphora.domain.plans import State
from anaphora.domain.summaries import Method, Summary
from anaphora.ports.clock import Randomness
from anaphora.ports.erasures import Purged
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.ports.strategies import Extraction
from anaphora.rules.notepad import worth_a_page
from anaphora.services.settings import NOTEPAD_READER, Notes, Strategies, Work, live_reader, rebuild_reader

#: how many waiting re-dos one success pulls forward
_PULL = 16
#: seconds after which a digest is tried again, however long the model has been away
_LONGEST_PAUSE = 86_400.0
#: they read messages beside the chain of summaries
_READS = frozenset({JobKind.EXTRACT, JobKind.REEXTRACT, JobKind.REFLECT})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSchedule:
    """When a session is read for facts: at once when enough is unread, else when nothing more was said for a while."""

    extraction: Extraction
    #: seconds without a word after which nothing more is waited for
    idle_seconds: float

    @property
    def reader(self) -> str:
        """The name of the reader."""
        return live_reader(self.extraction.name)

    def is_quiet(self, row: SessionRow, now: datetime) -> bool:
        """Nothing was said for so long that nothing more is waited for."""
        return now - row.updated_at >= timedelta(seconds=self.idle_seconds)

    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        """When to read what is behind the reader's position; None if there is nothing."""
        state = row.state(position)
        if self.extraction.due(state, quiet=self.is_quiet(row, now)) is not None:
            return now
        if not state.live(SeqRange(position, max(position, row.head))):
            return None
        return row.updated_at + timedelta(seconds=self.idle_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """Queues jobs. At most one of a kind is live in a session, whoever asks (I4)."""

    strategies: Strategies
    randomness: Randomness
    work: Work
    #: whether messages get vectors
    embeds: bool = False
    #: when sessions are read for facts; None: never
    schedule: ReadingSchedule | None = None
    #: which sessions are reflected upon
    notes: Notes = field(default_factory=Notes)

    def due(self, strategy: str | None, state: State) -> JobKind | None:
        """By which job the live reader of a session goes on, if it has something to do: asked inside every append."""
        compaction = self.strategies.get(strategy)
        return compaction.job if compaction.plan(state) is not None else None

    def plan_compaction(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue what the session's strategy wants: a summary if one is due, or following its topics."""
        strategy = self.strategies.get(row.strategy)
        head = unit.summaries.head(row.key.tenant, row.id, live_reader(strategy.name))
        state = row.state_at(head)
        # what was followed to its end is not yet closed when the session ends
        closes = strategy.job is JobKind.FOLLOW and state.ended and state.head > 0
        if not closes and strategy.plan(state) is None:
            return False
        return self._plan(unit, row, strategy.job, now=now, run_at=now)

    def covered(self, unit: Unit, row: SessionRow) -> int:
        """Up to which message a summary, a topic or a chunk answers for the session."""
        tenant = row.key.tenant
        strategy = self.strategies.get(row.strategy)
        read = max((chunk.range.stop for chunk in unit.chunks.list(tenant, row.id, limit=1)), default=0)
        if strategy.job is JobKind.FOLLOW and row.ended_at is None:
            return read  # its last topic is open, and has no description
        return max(unit.summaries.head(tenant, row.id, live_reader(strategy.name)).position, read)

    def plan_closing(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue what brings the session's strategy to its end, due or not; topics are closed where a session ends."""
        job = self.strategies.get(row.strategy).job
        if job is JobKind.FOLLOW and row.ended_at is None:
            unit.sessions.set_ended(row.key.tenant, row.id, ended_at=now)
        return self._plan(unit, row, job, now=now, run_at=now)

    def plan_describe(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue describing topics that have no description, or one that is stale."""
        self._withdraw_waiting_for_model(unit, row, JobKind.DESCRIBE, now=now)
        return self._plan(unit, row, JobKind.DESCRIBE, now=now, run_at=now)

    def plan_describe_with_model(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """A topic was described without a model: do it again when one is there."""
        later = now + timedelta(seconds=self.work.redo_seconds)
        return self._plan(unit, row, JobKind.DESCRIBE, now=now, run_at=later, needs_model=True)

    def plan_embed(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue the vectors of messages that have none."""
        return self.embeds and self._plan(unit, row, JobKind.EMBED, now=now, run_at=now)

    def is_quiet(self, row: SessionRow, now: datetime) -> bool:
        """Nothing was said in the session for so long that nothing more is waited for."""
        return self.schedule is not None and self.schedule.is_quiet(row, now)

    def plan_extract(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue reading for facts: at once, or for when nothing more is said."""
        if self.schedule is None:
            return False
        head = unit.summaries.head(row.key.tenant, row.id, self.schedule.reader)
        run_at = self.schedule.run_at(row, head.position, now)
        return run_at is not None and self._plan(unit, row, JobKind.EXTRACT, now=now, run_at=run_at)

    def plan_reextract(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue reading again what was changed."""
        return self.schedule is not None and self._plan(unit, row, JobKind.REEXTRACT, now=now, run_at=now)

    def plan_reextract_with_model(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Something was read without a model: read it again when one is there."""
        later = now + timedelta(seconds=self.work.redo_seconds)
        return self.schedule is not None and self._plan(
            unit, row, JobKind.REEXTRACT, now=now, run_at=later, needs_model=True
        )

    def plan_later(self, unit: Unit, row: SessionRow, job: Job, *, now: datetime) -> None:
        """Every attempt failed: the pauses double, so that a long outage costs few calls."""
        pause = max(self.work.retry.max_seconds, (now - job.created_at).total_seconds())
        later = now + timedelta(seconds=min(pause, _LONGEST_PAUSE))
        # it waits for the model: what is said meanwhile does not hurry it
        self._plan(unit, row, job.kind, now=now, run_at=later, needs_model=True)

    def reflects(self, row: SessionRow) -> bool:
        """Whether the session is one that is reflected upon."""
        return self.notes.of(self.strategies.get(row.strategy).name)

    def unreflected(self, unit: Unit, row: SessionRow) -> bool:
        """Whether enough was said since the session was last reflected upon."""
        head = unit.summaries.head(row.key.tenant, row.id, NOTEPAD_READER)
        unread = SeqRange(head.position, max(head.position, row.head))
        return worth_a_page([row.state(head.position).live(unread)])

    def plan_reflect(self, unit: Unit, row: SessionRow, *, now: datetime) -> bool:
        """Queue a page of the notepad if the session is over; it waits for a model, because rules cannot reflect."""
        if row.ended_at is None or not self.reflects(row) or not self.unreflected(unit, row):
            return False
        return self._plan(unit, row, JobKind.REFLECT, now=now, run_at=now, needs_model=True)

    def unreflect(self, unit: Unit, row: SessionRow, seq: int | None, *, now: datetime) -> None:
        """A message says something else, or nothing any more (None: all of them): no page that was made of it stays.

        Sessions whose reflections went with them are reflected upon again.
        """
        tenant = row.key.tenant
        for uid in unit.notepads.forget(row, seq):
            unit.summaries.drop_head(tenant, uid, NOTEPAD_READER)
            other = unit.sessions.get(tenant, uid) if uid != row.id else None
            if other is not None:
                self.plan_reflect(unit, other, now=now)
        if seq is not None:
            self.plan_reflect(unit, row, now=now)

    def plan_rebuild(
        self,
        unit: Unit,
        row: SessionRow,
        *,
        from_seq: int,
        now: datetime,
        needs_model: bool = False,
        run_at: datetime | None = None,
    ) -> bool:
        """Queue a rebuild of the chain from a message on."""
        return self._plan(
            unit, row, JobKind.REBUILD, now=now, run_at=run_at or now, from_seq=from_seq, needs_model=needs_model
        )

    def plan_redo(self, unit: Unit, row: SessionRow, summary: Summary, *, now: datetime) -> None:
        """A summary was made without a model: make it again when one is there."""
        from_seq = first_without_model(summary)
        if from_seq is not None:
            later = now + timedelta(seconds=self.work.redo_seconds)
            self.plan_rebuild(unit, row, from_seq=from_seq, now=now, needs_model=True, run_at=later)

    def plan_again(self, unit: Unit, row: SessionRow, served: Summary, job: Job, *, now: datetime) -> None:
        """Every attempt of a rebuild failed: the pauses double, so that a long outage costs few calls."""
        pause = max(self.work.retry.max_seconds, (now - served.created_at).total_seconds())
        later = now + timedelta(seconds=min(pause, _LONGEST_PAUSE))
        self.plan_rebuild(unit, row, from_seq=job.from_seq or 0, now=now, needs_model=job.needs_model, run_at=later)

    def changed(self, unit: Unit, row: SessionRow, seq: int, *, now: datetime) -> None:
        """A message was edited or deleted: what speaks of it becomes stale and is made again; nobody waits for that.

        Work in hand that may have read the old text is withdrawn: its result would be refused anyway (I5).
        """
        tenant = row.key.tenant
        unit.summaries.mark_stale(row, seq, now=now)
        unit.documents.forget(row, seq)
        live, served = unit.summaries.served(tenant, row.id, live_reader(self.strategies.get(row.strategy).name))
        starts = [seq] if served is not None and seq in served.range else []
        unit.embedding.changed(row, seq)
        self.plan_embed(unit, row, now=now)
        for job in unit.jobs.list(tenant, states=[JobState.QUEUED, JobState.RUNNING], session_id=row.id):
            if job.kind in {JobKind.EMBED, JobKind.DESCRIBE}:
                continue  # vectors of what a message said before are not kept; of topics below
            if job.kind in _READS:
                if job.state is JobState.RUNNING:
                    unit.jobs.withdraw(tenant, job.id, now=now)
                continue
            rebuilds = job.kind is JobKind.REBUILD
            if (rebuilds and seq < live.position) or (not rebuilds and job.state is JobState.RUNNING):
                unit.jobs.withdraw(tenant, job.id, now=now)
                starts.extend([job.from_seq or 0] if rebuilds else [])
        if starts:
            self.forget_rebuild(unit, row, now=now)
            self.plan_rebuild(unit, row, from_seq=min(starts), now=now)
        self.plan_compaction(unit, row, now=now)
        if unit.chunks.mark_stale(row, seq) is not None:
            self._withdraw_waiting_for_model(unit, row, JobKind.REEXTRACT, now=now)
            self.plan_reextract(unit, row, now=now)
        if unit.topics.mark_stale(row, seq):
            self._withdraw(unit, row, JobKind.DESCRIBE, now=now)
            self.plan_describe(unit, row, now=now)
        self.plan_extract(unit, row, now=now)
        self.unreflect(unit, row, seq, now=now)

    def erased(self, unit: Unit, row: SessionRow, seqs: Sequence[int], purged: Purged, *, now: datetime) -> None:
        """Nothing is left of these messages, or of what was made of them: queue what is to be made anew."""
        for seq in seqs:
            unit.embedding.changed(row, seq)
        self.plan_embed(unit, row, now=now)
        self.plan_compaction(unit, row, now=now)
        if purged.chunks:
            self._withdraw_waiting_for_model(unit, row, JobKind.REEXTRACT, now=now)
            self.plan_reextract(unit, row, now=now)
        if purged.topics:
            self.plan_describe(unit, row, now=now)
        self.plan_extract(unit, row, now=now)

    def _withdraw(self, unit: Unit, row: SessionRow, kind: JobKind, *, now: datetime) -> None:
        """Whoever is at it may have read what was said before."""
        for job in unit.jobs.list(row.key.tenant, states=[JobState.RUNNING], session_id=row.id):
            if job.kind is kind:
                unit.jobs.withdraw(row.key.tenant, job.id, now=now)

    def _withdraw_waiting_for_model(self, unit: Unit, row: SessionRow, kind: JobKind, *, now: datetime) -> None:
        """What was changed is read again at once, by rules if there is no model."""
        for job in unit.jobs.list(row.key.tenant, states=[JobState.QUEUED], session_id=row.id):
            if job.kind is kind and job.needs_model:
                unit.jobs.withdraw(row.key.tenant, job.id, now=now)

    def forget_rebuild(self, unit: Unit, row: SessionRow, *, now: datetime) -> None:
        """Drop what a rebuild has built so far."""
        strategy = self.strategies.get(row.strategy).name
        unit.summaries.drop_building(row, strategy=strategy, now=now)
        unit.summaries.drop_head(row.key.tenant, row.id, rebuild_reader(strategy))

    def model_is_back(self, unit: Unit, row: SessionRow, summary: Summary, *, now: datetime) -> None:
        """A model has just answered: what waits for one need not wait longer."""
        if first_without_model(summary) is not None:
            self.plan_redo(unit, row, summary, now=now)
        for kind in (JobKind.REBUILD, JobKind.REEXTRACT, JobKind.DESCRIBE, JobKind.REFLECT):
            unit.jobs.pull_forward(row.key.tenant, kind, now=now, limit=_PULL)

    def _plan(
        self,
        unit: Unit,
        row: SessionRow,
        kind: JobKind,
        *,
        now: datetime,
        run_at: datetime,
        from_seq: int | None = None,
        needs_model: bool = False,
    ) -> bool:
        return unit.jobs.plan(
            row,
            kind,
            job_id=uuid7(now, self.randomness(10)),
            run_at=run_at,
            now=now,
            max_attempts=self.work.retry.max_attempts,
            needs_model=needs_model,
            from_seq=from_seq,
        )


def first_without_model(summary: Summary) -> int | None:
    """Start of the oldest point that no model wrote, or None."""
    return next((p.range.start for p in summary.points if p.method is not Method.MODEL), None)
