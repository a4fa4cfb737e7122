"""Sessions as people handle them: list, number, end, reset, rebuild, look into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey, check_limit, check_names, subtract, union, uuid7
from anaphora.domain.messages import Message, Receipt, ReceiptState
from anaphora.domain.moments import AsOf
from anaphora.domain.summaries import Summary
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.erasure import mark_of_receipt
from anaphora.services.learning import Learning
from anaphora.services.planning import Planning
from anaphora.services.settings import Strategies, live_reader
from anaphora.strategies.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """What can be done with a session besides talking in it."""

    store: Store
    strategies: Strategies
    planning: Planning
    learning: Learning
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint

    async def list(
        self,
        tenant: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        limit: int = 50,
        before: UUID | None = None,
    ) -> Sequence[SessionRow]:
        """Sessions, the last used first; with `before`, those that come behind the one with that id.

        Raises:
            InvalidInput: a limit out of range, or a name that cannot be.
            NotFound: `before` is no session of the user.

        """
        check_limit(limit)
        check_names(tenant=tenant, user=user, agent=agent)

        def read(unit: Unit) -> Sequence[SessionRow]:
            last = None if before is None else unit.sessions.get(tenant, before)
            if before is not None and (last is None or user not in (None, last.key.user)):
                raise NotFound(f"there is no session {before} to go on behind: begin with the last used ones again")
            return unit.sessions.list(tenant, user=user, agent=agent, limit=limit, before=last)

        return await self.store.read(tenant, read)

    async def find(self, key: SessionKey) -> SessionRow | None:
        """The session, or None if nothing was ever said in it."""
        return await self.store.read(key.tenant, lambda unit: unit.sessions.find(key))

    async def open_numbered(self, *, tenant: str, user: str, agent: str, strategy: str | None = None) -> SessionKey:
        """A new session named by the next free number of this user and agent."""
        self.strategies.get(strategy)
        check_names(tenant=tenant, user=user, agent=agent)

        def create(unit: Unit) -> SessionKey:
            number = unit.sessions.next_number(tenant, user, agent)
            key = SessionKey(tenant=tenant, user=user, agent=agent, session=str(number))
            self._create(unit, key, strategy)
            return key

        key = await self.store.write(tenant, create)
        self.failpoint("session.numbered")
        return key

    async def end(self, key: SessionKey) -> bool:
        """Mark as ended and plan what is due at the end; twice is harmless. False if there is no such session."""

        def end(unit: Unit) -> bool:
            row = unit.sessions.find(key)
            if row is None:
                return False
            if row.ended_at is None:
                unit.sessions.set_ended(key.tenant, row.id, ended_at=self.clock.now())
                row = _existing(unit, key)
            self.planning.plan_compaction(unit, row, now=self.clock.now())
            self.planning.plan_extract(unit, row, now=self.clock.now())
            self.planning.plan_reflect(unit, row, now=self.clock.now())
            return True

        was_there = await self.store.write(key.tenant, end)
        self.failpoint("session.ended")
        return was_there

    async def reset(self, key: SessionKey) -> int:
        """Delete every message and everything made of them; work in flight is fenced off.

        Returns how many messages went that were there: those that were deleted before are not counted.
        """

        def reset(unit: Unit) -> int:
            row = unit.sessions.find(key)
            if row is None:
                return 0
            now = self.clock.now()
            self.learning.unsay(unit, row, None, now=now)
            self.planning.unreflect(unit, row, None, now=now)
            unit.sessions.reset(key.tenant, row.id, now=now)
            return row.state(0).live(SeqRange(0, row.head)) if row.head else 0

        gone = await self.store.write(key.tenant, reset)
        self.failpoint("session.reset")
        return gone

    async def rebuild(self, key: SessionKey, *, from_seq: int = 0) -> bool:
        """Queue making the summaries anew from a message on; the old ones are served until then.

        Returns:
            False if a rebuild is live already.

        Raises:
            NotFound: no such session.
            InvalidInput: the message does not exist.

        """

        def rebuild(unit: Unit) -> bool:
            row = _existing(unit, key)
            if not 0 <= from_seq <= row.head:
                raise InvalidInput(f"session {key.session!r} has messages 0 to {row.head - 1}, not {from_seq}")
            now = self.clock.now()
            waiting = tuple(_withdraw_waiting(unit, row, now=now))
            if waiting:
                self.planning.forget_rebuild(unit, row, now=now)
            return self.planning.plan_rebuild(unit, row, from_seq=min([from_seq, *waiting]), now=now)

        queued = await self.store.write(key.tenant, rebuild)
        self.failpoint("session.rebuild_queued")
        return queued

    async def messages(
        self, key: SessionKey, *, start: int = 0, stop: int | None = None, limit: int = 100
    ) -> Sequence[Message]:
        """Messages that are not deleted, in order, the first `limit` of the range."""
        check_limit(limit)

        def read(unit: Unit) -> Sequence[Message]:
            row = unit.sessions.find(key)
            if row is None:
                return ()
            end = row.head if stop is None else min(stop, row.head)
            return unit.messages.range(key.tenant, row.id, SeqRange(min(start, end), end), limit=limit)

        return await self.store.read(key.tenant, read)

    async def newest(
        self, key: SessionKey, *, stop: int | None = None, limit: int = 100, as_of: AsOf | None = None
    ) -> Sequence[Message]:
        """The last `limit` messages that are not deleted (before `stop`), in order; with `as_of`, as they were then."""
        check_limit(limit)

        def read(unit: Unit) -> Sequence[Message]:
            row = unit.sessions.find(key)
            if row is None:
                return ()
            moment = None if as_of is None else unit.history.moment(row, as_of)
            end = row.head if moment is None else moment.head
            span = SeqRange(0, end if stop is None else max(0, min(stop, end)))
            if moment is not None:
                found = unit.history.newest(row, span, moment=moment, limit=limit)
            else:
                found = unit.messages.newest(key.tenant, row.id, span, limit=limit)
            return tuple(reversed(found))

        return await self.store.read(key.tenant, read)

    async def appended_with(self, key: SessionKey, idempotency_key: str) -> tuple[Receipt, Sequence[Message]] | None:
        """The receipt of the append that came with the key, and what is left of its messages."""

        def read(unit: Unit) -> tuple[Receipt, Sequence[Message]] | None:
            row = unit.sessions.find(key)
            receipt = unit.messages.receipt_for(key.tenant, row.id, idempotency_key) if row else None
            if row is None or receipt is None:
                return None
            return receipt, unit.messages.range(key.tenant, row.id, receipt.range, limit=len(receipt.range))

        return await self.store.read(key.tenant, read)

    async def versions(self, key: SessionKey, *, start: int, stop: int) -> Sequence[Message]:
        """Every version of the messages of a range, by message, oldest first; tombstones stand at the end of theirs."""
        check_limit(stop - start)

        def read(unit: Unit) -> Sequence[Message]:
            row = unit.sessions.find(key)
            if row is None:
                return ()
            span = SeqRange(0, row.head).clip(SeqRange(max(0, start), max(0, start, stop)))
            current = unit.messages.range(key.tenant, row.id, span, limit=len(span), deleted=True)
            earlier = unit.history.versions(key.tenant, row.id, span)
            return sorted((*earlier, *current), key=lambda message: (message.seq, message.version))

        return await self.store.read(key.tenant, read)

    async def summaries(
        self, key: SessionKey, *, limit: int = 20, before: int | None = None, as_of: AsOf | None = None
    ) -> Sequence[Summary]:
        """Versions of the session's strategy, newest first; with `as_of`, those that there were, as they were."""
        check_limit(limit)

        def read(unit: Unit) -> Sequence[Summary]:
            row = unit.sessions.find(key)
            if row is None:
                return ()
            tenant, strategy = key.tenant, self.strategies.get(row.strategy).name
            moment = None if as_of is None else unit.history.moment(row, as_of)
            if moment is None:
                return unit.summaries.chain(tenant, row.id, strategy=strategy, limit=limit, before=before)
            return unit.history.chain(tenant, row.id, strategy=strategy, moment=moment, limit=limit, before=before)

        return await self.store.read(key.tenant, read)

    async def stats(self, tenant: str, *, user: str | None = None) -> Mapping[str, Any]:
        """How many summaries were made, and how long they took."""
        return await self.store.read(tenant, lambda unit: unit.summaries.stats(tenant, user=user))

    async def receipt(self, tenant: str, receipt_id: UUID, *, user: str | None = None) -> ReceiptState:
        """What became of an append; with `user`, of one of theirs.

        Raises:
            NotFound: no such receipt, or not theirs. Once a session was erased, nobody knows any more whose it was.

        """

        def look(unit: Unit) -> ReceiptState:
            found = unit.messages.receipt(tenant, receipt_id)
            row = None if found is None else unit.sessions.get(tenant, found.session_id)
            if user is not None and (row is None or row.key.user != user):
                raise NotFound(f"there is no receipt {receipt_id}")
            if found is None:
                if unit.erasures.marked(tenant, [mark_of_receipt(self.learning.secret, receipt_id)]):
                    return ReceiptState.ERASED
                raise NotFound(f"there is no receipt {receipt_id}")
            if row is None or row.epoch != found.epoch:
                return ReceiptState.ERASED
            left = subtract((found.range,), row.deleted)
            if not left:
                return ReceiptState.DELETED
            strategy = self.strategies.get(row.strategy)
            if isinstance(strategy, Topics):
                return _in_topics(unit, row, left)
            head, summary = unit.summaries.served(tenant, row.id, live_reader(strategy.name))
            if left[-1].stop > head.position or head.summary_id is None:
                return ReceiptState.APPENDED
            covered = union(r for point in summary.points for r in point.covered) if summary else ()
            return ReceiptState.ELIDED if subtract(left, covered) else ReceiptState.SUMMARISED

        return await self.store.read(tenant, look)

    def _create(self, unit: Unit, key: SessionKey, strategy: str | None) -> SessionRow:
        now = self.clock.now()
        session_id = uuid7(now, self.randomness(10))
        return unit.sessions.create(key, session_id=session_id, strategy=strategy, subject=None, now=now)


def _withdraw_waiting(unit: Unit, row: SessionRow, *, now: datetime) -> Iterator[int]:
    """End rebuilds that wait for a model, so that one which does not wait can take their place; where they start."""
    for job in unit.jobs.list(row.key.tenant, states=[JobState.QUEUED], session_id=row.id):
        if job.kind is JobKind.REBUILD and job.needs_model and unit.jobs.withdraw(job.tenant, job.id, now=now):
            yield job.from_seq or 0


def _in_topics(unit: Unit, row: SessionRow, left: Sequence[SeqRange]) -> ReceiptState:
    """What became of messages in a session that is served by its topics: the open one stands word by word."""
    span = SeqRange(left[0].start, left[-1].stop)
    found = unit.topics.between(row.key.tenant, row.id, span, limit=len(span))
    told = [topic.range for topic in found if topic.summary is not None]
    return ReceiptState.APPENDED if subtract(left, told) else ReceiptState.SUMMARISED


def _existing(unit: Unit, key: SessionKey) -> SessionRow:
    row = unit.sessions.find(key)
    if row is None:
        raise NotFound(f"there is no session {key.session!r} of user {key.user!r}")
    return row
