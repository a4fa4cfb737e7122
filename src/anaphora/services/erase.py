"""Erasing: what is to go is written down first, then it goes step by step, and what is left is a number.

The first transaction notes what is asked for, keeps the marks by which it is known again, and takes running jobs from
their workers: no result of theirs can be committed any more. Each further step is one transaction and leaves nothing
half erased; a session is one step. Who is killed on the way has left the note, and the next worker, or the next
erasure, goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from anaphora.domain.erasure import Erasure, ErasureKind, ErasureReport, ErasureState, Target, checked_asker
from anaphora.domain.keys import SeqRange, SessionKey, check_limit, uuid7
from anaphora.domain.messages import IMPORT_MARK, Message
from anaphora.errors import NotFound
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.erasures import Place
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.erasure import (
    mark_of_agent,
    mark_of_fact,
    mark_of_import,
    mark_of_message,
    mark_of_receipt,
    mark_of_session,
    mark_of_target,
    mark_of_user,
)
from anaphora.services.learning import Learning
from anaphora.services.planning import Planning

#: sessions that are looked up at once, facts that go in one step, and messages
_SESSIONS: Final = 50
_FACTS: Final = 200
_MESSAGES: Final = 100
_DOCUMENTS: Final = 50
#: what was made after an erasure was asked for is not meant, unless by a clock that goes that wrong
_CLOCKS_DIFFER: Final = timedelta(minutes=10)
#: tenants whose unfinished erasures are finished at a time
_TENANTS: Final = 100

Counts = Mapping[str, int]
_Step = Callable[[Unit], Counts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Erases users, sessions, messages, facts, and what came from a source."""

    store: Store
    planning: Planning
    learning: Learning
    #: the store's own: marks are keyed by it
    secret: bytes
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint

    async def plan(self, tenant: str, target: Target) -> ErasureReport:
        """What would go: numbers and ids, never content. Nothing is changed."""
        counts, ids = await self.store.read(tenant, lambda unit: unit.purging.count(tenant, target))
        return ErasureReport(
            id=None, kind=target.kind, counts=counts, ids={kind: tuple(of) for kind, of in ids.items()}
        )

    async def erase(self, tenant: str, target: Target, *, asked_by: str) -> ErasureReport:
        """Erase, for good. When this returns, nothing of it is left in any row.

        Args:
            tenant: whose store.
            target: what is to go.
            asked_by: kept in the account, as long as that is.

        Raises:
            NotFound: there is no such session, message or fact; of a user or a source nothing may be there.
            StoreError: the database failed; what went is gone, and erasing again, or any worker, goes on there.

        """
        checked_asker(asked_by)
        await self.finish(tenant)
        erasure = await self.store.write(tenant, lambda unit: self._begin(unit, tenant, target, asked_by))
        self.failpoint("erase.noted")
        return await self._go_on(tenant, erasure)

    async def finish(self, tenant: str) -> int:
        """Go on with what was begun and never finished; how many erasures."""
        left = await self.store.read(tenant, lambda unit: unit.erasures.list(tenant, limit=_TENANTS, running=True))
        for erasure in left:
            await self._go_on(tenant, erasure)
        return len(left)

    async def finish_all(self) -> int:
        """Finish what was begun, of every tenant; how many erasures."""
        return sum([await self.finish(tenant) for tenant in await self.store.unfinished(limit=_TENANTS)])

    async def list(self, tenant: str, *, limit: int = 50) -> Sequence[Erasure]:
        """The account of erasures, newest first.

        Raises:
            InvalidInput: a limit out of range.

        """
        check_limit(limit)
        return await self.store.read(tenant, lambda unit: unit.erasures.list(tenant, limit=limit))

    # -- the first transaction ---------------------------------------------------------------------------------

    def _begin(self, unit: Unit, tenant: str, target: Target, asked_by: str) -> Erasure:
        _check_there(unit, tenant, target)
        now = self.clock.now()
        erasure = Erasure(
            id=uuid7(now, self.randomness(10)),
            number=1,
            kind=target.kind,
            mark=mark_of_target(self.secret, target),
            asked_by=asked_by,
            asked_at=now,
            state=ErasureState.RUNNING,
            target=target,
        )
        erasure = unit.erasures.begin(tenant, erasure)
        unit.erasures.mark(tenant, erasure.id, self._marks(target), now=now)
        unit.purging.interrupt(tenant, user=target.user, now=now)
        return erasure

    def _marks(self, target: Target) -> Sequence[str]:
        """By what is known again what is named; the rest is marked as it goes."""
        match target.kind:
            case ErasureKind.USER if target.user is not None:
                return [mark_of_user(self.secret, target.user)]
            case ErasureKind.FACT if target.id is not None:
                return [mark_of_fact(self.secret, target.id)]
            case ErasureKind.MESSAGE if target.id is not None:
                return [mark_of_message(self.secret, target.id)]
            case ErasureKind.SOURCE if target.source_agent is not None and target.user is None:
                return [mark_of_agent(self.secret, target.source_agent)]
            case _:
                return []

    # -- step by step ------------------------------------------------------------------------------------------

    async def _go_on(self, tenant: str, erasure: Erasure) -> ErasureReport:
        target = erasure.target
        if target is not None:
            match target.kind:
                case ErasureKind.FACT:
                    await self._step(tenant, erasure, lambda unit: self._fact(unit, tenant, erasure, target))
                case ErasureKind.MESSAGE:
                    await self._step(tenant, erasure, lambda unit: self._message(unit, tenant, erasure, target))
                case _:
                    await self._whole(tenant, erasure, target)
        return await self._end(tenant, erasure)

    async def _whole(self, tenant: str, erasure: Erasure, target: Target) -> None:
        """Facts and pages first, then session by session, then what else names the user."""
        before = erasure.asked_at + _CLOCKS_DIFFER
        while await self._step(tenant, erasure, lambda unit: self._facts(unit, tenant, erasure, target, before)):
            pass
        await self._step(tenant, erasure, lambda unit: {"pages": unit.purging.pages(tenant, target, before=before)})
        while await self._step(tenant, erasure, lambda unit: _documents(unit, tenant, target, before)):
            pass
        while found := await self.store.read(
            tenant, lambda unit: unit.purging.sessions(tenant, target, before=before, limit=_SESSIONS)
        ):
            for row in found:
                await self._session(tenant, erasure, target, row)
        user = target.user
        if target.kind is ErasureKind.USER and user is not None:
            await self._step(tenant, erasure, lambda unit: unit.purging.of_user(tenant, user))

    async def _session(self, tenant: str, erasure: Erasure, target: Target, row: SessionRow) -> None:
        """One session; of a source perhaps only some of its messages."""
        source = target.source if target.source_agent is None else None
        if source is None or await self.store.read(tenant, lambda unit: unit.purging.only_from(row, source)):
            await self._step(tenant, erasure, lambda unit: self._drop(unit, erasure, row.key))
            return
        while await self._step(tenant, erasure, lambda unit: self._some(unit, erasure, row.key, source)):
            pass

    async def _step(self, tenant: str, erasure: Erasure, work: _Step) -> int:
        """One transaction, and what went in it is counted with it; how much that was."""

        def step(unit: Unit) -> int:
            counts = work(unit)
            unit.erasures.tally(tenant, erasure.id, counts)
            return sum(counts.values())

        count = await self.store.write(tenant, step)
        self.failpoint("erase.step")
        return count

    async def _end(self, tenant: str, erasure: Erasure) -> ErasureReport:
        await self.store.write(tenant, lambda unit: unit.erasures.finish(tenant, erasure.id, now=self.clock.now()))
        self.failpoint("erase.done")

        def look(unit: Unit) -> tuple[Erasure | None, bool]:
            return unit.erasures.get(tenant, erasure.id), unit.erasures.is_clean()

        done, clean = await self.store.read(tenant, look)
        counts = {} if done is None else done.counts
        return ErasureReport(id=erasure.id, kind=erasure.kind, counts=counts, residue=not clean)

    # -- what a step does --------------------------------------------------------------------------------------

    def _fact(self, unit: Unit, tenant: str, erasure: Erasure, target: Target) -> Counts:
        found = unit.purging.facts(tenant, target, before=erasure.asked_at + _CLOCKS_DIFFER, limit=1)
        for fact in found:
            unit.facts.alone(tenant, fact.owner)
            unit.purging.interrupt(tenant, user=fact.owner, now=self.clock.now())
            self.learning.bury(unit, tenant, fact, now=self.clock.now())
        return {"facts": len(found)}

    def _facts(self, unit: Unit, tenant: str, erasure: Erasure, target: Target, before: datetime) -> Counts:
        """The next facts of all that go with a user or an agent."""
        found = unit.purging.facts(tenant, target, before=before, limit=_FACTS)
        now = self.clock.now()
        unit.erasures.mark(tenant, erasure.id, [mark_of_fact(self.secret, fact.id) for fact in found], now=now)
        for fact in found:
            if target.kind is ErasureKind.USER:
                unit.facts.delete(tenant, fact.id)
            else:
                unit.purging.interrupt(tenant, user=fact.owner, now=now)
                self.learning.bury(unit, tenant, fact, now=now)
        return {"facts": len(found)}

    def _drop(self, unit: Unit, erasure: Erasure, key: SessionKey) -> Counts:
        """A session with all that was made of it; what it was called is free for another one."""
        row = unit.sessions.lock(key)
        if row is None:
            return {}
        tenant, now = key.tenant, self.clock.now()
        unit.purging.interrupt(tenant, user=key.user, now=now)
        marks = [mark_of_session(self.secret, key)]
        receipts = unit.purging.receipts(row)
        marks += [mark_of_receipt(self.secret, receipt) for receipt in receipts]
        marks += [mark_of_import(self.secret, key, source, digest) for source, digest in unit.purging.imported(row)]
        unit.erasures.mark(tenant, erasure.id, marks, now=now)
        counts, _ = unit.purging.count(tenant, _session_target(key))
        # facts and pages that were made of other sessions too are counted only where they go
        facts = self.learning.unsay(unit, row, None, now=now)
        self.planning.unreflect(unit, row, None, now=now)
        unit.sessions.reset(tenant, row.id, now=now)
        unit.purging.drop_session(row)
        return {**{name: count for name, count in counts.items() if name != "pages"}, "facts": facts}

    def _message(self, unit: Unit, tenant: str, erasure: Erasure, target: Target) -> Counts:
        place = _place(unit, tenant, target)
        return {} if place is None else self._take_out(unit, erasure, place[0], [place[1]])

    def _some(self, unit: Unit, erasure: Erasure, key: SessionKey, source: str) -> Counts:
        row = unit.sessions.lock(key)
        if row is None:
            return {}
        return self._take_out(unit, erasure, key, unit.purging.from_source(row, source, limit=_MESSAGES))

    def _take_out(self, unit: Unit, erasure: Erasure, key: SessionKey, seqs: Sequence[int]) -> Counts:
        """Single messages of a session, and whatever was made of them."""
        row = unit.sessions.lock(key)
        found = [] if row is None else [message for seq in seqs if (message := _at(unit, row, seq)) is not None]
        found = [message for message in found if not message.erased]
        if row is None or not found:
            return {}
        now, tenant = self.clock.now(), key.tenant
        marks = [mark_of_message(self.secret, message.id) for message in found]
        unit.purging.interrupt(tenant, user=key.user, now=now)
        facts = archived = 0
        others: list[Place] = []
        keyed: dict[str, str] = {}
        if any(IMPORT_MARK in message.metadata for message in found):
            first = min(message.seq for message in found)
            for source, digest in unit.purging.digests(row, first):
                keyed[digest] = mark_of_import(self.secret, key, source, digest)
        for message in found:
            mark = message.metadata.get(IMPORT_MARK)
            if isinstance(mark, Mapping):
                kept = mark.get("keyed") or keyed.get(str(mark.get("digest")))
                marks += [] if kept is None else [str(kept)]
            for rooted in unit.purging.rooted(row, message.seq):
                unit.facts.alone(tenant, rooted.fact.owner)
                self.learning.forget(unit, tenant, rooted.fact, now=now)
                facts += 1
                others += rooted.others
            if not message.deleted:
                row = unit.messages.amend(row, message, _blank(message, now), now=now)
            facts += self.learning.unsay(unit, row, message.seq, now=now)
            self.planning.unreflect(unit, row, message.seq, now=now)
            archived += unit.documents.forget(row, message.seq)
        unit.erasures.mark(tenant, erasure.id, marks, now=now)
        erased = [message.seq for message in found]
        purged = unit.purging.messages(row, erased, keyed)
        self.planning.erased(unit, row, erased, purged, now=now)
        self._read_again(unit, tenant, [place for place in others if place[0] != row.id or place[1] not in erased], now)
        return {**purged.counts, "facts": facts, "documents": archived}

    def _read_again(self, unit: Unit, tenant: str, places: Sequence[Place], now: datetime) -> None:
        """What other messages say was known in the words of one that is gone: let it be said in their own."""
        for uid, seq in places:
            row = unit.sessions.get(tenant, uid)
            if row is not None and unit.chunks.mark_stale(row, seq) is not None:
                self.planning.plan_reextract(unit, row, now=now)


def _documents(unit: Unit, tenant: str, target: Target, before: datetime) -> Counts:
    """The next documents of all that go with a user or a source; those made of sessions go with these."""
    found = unit.purging.documents(tenant, target, before=before, limit=_DOCUMENTS)
    return {"documents": sum(unit.documents.delete(tenant, namespace, uid) for namespace, uid in found)}


def _check_there(unit: Unit, tenant: str, target: Target) -> None:
    if target.kind is ErasureKind.SESSION and unit.sessions.lock(_key(tenant, target)) is None:
        raise NotFound(f"there is no session {target.session!r} of user {target.user!r}")
    if target.kind is ErasureKind.MESSAGE and _place(unit, tenant, target) is None:
        which = target.id or f"{target.seq} in session {target.session!r} of user {target.user!r}"
        raise NotFound(f"there is no message {which}")
    if target.kind is ErasureKind.FACT and not unit.purging.count(tenant, target)[0]:
        raise NotFound(f"there is no fact {target.id}")


def _place(unit: Unit, tenant: str, target: Target) -> tuple[SessionKey, int] | None:
    """Where the message stands that is named, if it is there and not erased."""
    if target.id is not None:
        found = unit.purging.place(tenant, target.id)
        if found is None or target.user not in {None, found[0].user}:
            return None
        key, seq = found
    else:
        key, seq = _key(tenant, target), target.seq or 0
    row = unit.sessions.lock(key)
    message = _at(unit, row, seq) if row is not None else None
    return None if message is None or message.erased else (key, seq)


def _at(unit: Unit, row: SessionRow, seq: int) -> Message | None:
    if not 0 <= seq < row.head:
        return None
    return next(iter(unit.messages.range(row.key.tenant, row.id, SeqRange(seq, seq + 1), limit=1, deleted=True)), None)


def _blank(message: Message, now: datetime) -> Message:
    """A tombstone; how far an import had come here is kept: without it, importing again would bring it back."""
    kept = {IMPORT_MARK: message.metadata[IMPORT_MARK]} if IMPORT_MARK in message.metadata else {}
    return replace(
        message,
        name=None,
        content="",
        parts=(),
        metadata=kept,
        tokens=0,
        deleted=True,
        version=message.version + 1,
        changed_at=now,
    )


def _key(tenant: str, target: Target) -> SessionKey:
    return SessionKey(tenant=tenant, user=target.user or "", agent=target.agent or "", session=target.session or "")


def _session_target(key: SessionKey) -> Target:
    return Target(kind=ErasureKind.SESSION, user=key.user, agent=key.agent, session=key.session)
