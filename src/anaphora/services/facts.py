"""What people do with facts: see, add, correct, share, delete, and take back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from anaphora.domain.facts import (
    CHANGEABLE,
    DEFAULT_IMPORTANCE,
    Fact,
    FactAction,
    FactState,
    FactVersion,
    Visibility,
    checked_category,
    checked_content,
    checked_importance,
)
from anaphora.domain.keeping import AsideFor, FactCounts
from anaphora.domain.keys import check_limit, checked_id, uuid7
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
from anaphora.rules.facts.keeping import aside_for
from anaphora.services.learning import Learning
from anaphora.services.settling import check_shared, close, contradicted, is_member, settled

_BELIEVED = (FactState.ACTIVE, FactState.REVIEW)

T = TypeVar("T")
_Change = Callable[[Unit, Fact, datetime], Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of one user. Every change is one transaction, and one entry of the fact's history."""

    store: Store
    learning: Learning
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    categories: tuple[str, ...]

    async def list(
        self,
        reader: Reader,
        *,
        states: Sequence[FactState] = (FactState.ACTIVE,),
        category: str | None = None,
        after: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[Fact]:
        """Facts that the reader may see, newest first; `after`: those older than that one.

        Raises:
            InvalidInput: a limit out of range.
            UnknownName: no such category.

        """
        check_limit(limit)
        if category is not None:
            checked_category(category, self.categories)
        return await self.store.read(
            reader.tenant,
            lambda unit: unit.facts.list(reader, states=states, category=category, after=after, limit=limit),
        )

    async def get(self, reader: Reader, fact_id: UUID) -> Fact:
        """One fact; with what it was learned from if it is the reader's own.

        Raises:
            NotFound: there is none that the reader may see.

        """
        return await self.store.read(reader.tenant, lambda unit: _found(unit, reader, fact_id))

    async def history(self, reader: Reader, fact_id: UUID) -> Sequence[FactVersion]:
        """Every version of a fact of the reader's own, the oldest first."""

        def read(unit: Unit) -> Sequence[FactVersion]:
            fact = _own(unit, reader, fact_id)
            return unit.facts.versions(reader.tenant, fact.id)

        return await self.store.read(reader.tenant, read)

    async def counts(self, reader: Reader) -> FactCounts:
        """How many of the reader's own facts stand where, and why those are set aside that are."""
        rows = await self.store.read(reader.tenant, lambda unit: unit.facts.counts(reader))
        by_state: Counter[FactState] = Counter()
        aside: Counter[AsideFor] = Counter()
        for state, reason, many in rows:
            by_state[state] += many
            if state is FactState.ASIDE:
                aside[aside_for(reason)] += many
        return FactCounts(by_state=dict(by_state), aside_for=dict(aside))

    async def add(
        self,
        reader: Reader,
        content: str,
        *,
        category: str,
        importance: int = DEFAULT_IMPORTANCE,
        subject: str | None = None,
        pinned: bool = False,
    ) -> Fact:
        """Keep what the owner says: it needs no quote, and nothing that is learned puts an end to it.

        What it contradicts is closed. If the same is known already, that is confirmed.

        Raises:
            InvalidInput: content, importance or subject cannot be kept; nothing was changed.
            UnknownName: no such category.

        """
        checked_content(content)
        checked_importance(importance)
        checked_category(category, self.categories)
        if subject is not None:
            checked_id(subject, "subject")

        def add(unit: Unit) -> Fact:
            now = self.clock.now()
            unit.facts.alone(reader.tenant, reader.user)
            self.learning.unbury(unit, reader.tenant, reader.user, subject or "", content)
            fact = Fact(
                id=uuid7(now, self.randomness(10)),
                owner=reader.user,
                agent=None,
                subject=subject,
                category=category,
                content=content,
                importance=importance,
                pinned=pinned,
                trust=Trust.OWNER_CONFIRMED,
                valid_from=now,
                created_at=now,
                updated_at=now,
            )
            return _own(unit, reader, settled(self.learning, unit, reader, fact, now=now).id)

        return await self._written(reader, add)

    async def edit(
        self,
        reader: Reader,
        fact_id: UUID,
        *,
        content: str | None = None,
        category: str | None = None,
        importance: int | None = None,
    ) -> Fact:
        """Correct a fact: what is not given stays. The owner stands for it from now on.

        Raises:
            NotFound: no such fact.
            InvalidInput: it cannot be kept so, is closed, or another fact says that already; nothing was changed.

        """
        values: dict[str, Any] = {}
        if content is not None:
            values["content"] = checked_content(content)
        if category is not None:
            values["category"] = checked_category(category, self.categories)
        if importance is not None:
            values["importance"] = checked_importance(importance)

        def edit(unit: Unit, fact: Fact, now: datetime) -> Fact:
            _check_believed(fact)
            if all(getattr(fact, name) == value for name, value in values.items()):
                return fact
            edited = self._believed(unit, reader, fact, FactAction.EDITED, now, values)
            if edited.content != fact.content:
                self.learning.corrected(unit, reader.tenant, fact, edited.content, now=now)
            return edited

        return await self._change(reader, fact_id, edit)

    async def pin(self, reader: Reader, fact_id: UUID, *, pinned: bool) -> Fact:
        """Want a fact in every prompt, or no longer."""
        action = FactAction.PINNED if pinned else FactAction.UNPINNED

        def pin(unit: Unit, fact: Fact, now: datetime) -> Fact:
            _check_believed(fact)
            return fact if fact.pinned == pinned else self._changed(unit, reader, fact, action, now, {"pinned": pinned})

        return await self._change(reader, fact_id, pin)

    async def confirm(self, reader: Reader, fact_id: UUID) -> Fact:
        """Stand for a fact: it waits for no review, and nothing that is learned puts an end to it."""

        def confirm(unit: Unit, fact: Fact, now: datetime) -> Fact:
            _check_believed(fact)
            if fact.kept_by_owner and fact.state is FactState.ACTIVE and not contradicted(unit, reader, fact):
                return fact
            return self._believed(unit, reader, fact, FactAction.CONFIRMED, now, {})

        return await self._change(reader, fact_id, confirm)

    async def take_up(self, reader: Reader, fact_id: UUID) -> Fact:
        """Believe a fact again that was set aside. The owner stands for it: it is not set aside again.

        Raises:
            NotFound: no such fact.
            InvalidInput: it is not set aside, or another fact says that already; nothing was changed.

        """

        def take_up(unit: Unit, fact: Fact, now: datetime) -> Fact:
            if fact.state is not FactState.ASIDE:
                raise InvalidInput(f"fact {fact.id} is not set aside")
            return self._believed(unit, reader, fact, FactAction.TAKEN_UP, now, {})

        return await self._change(reader, fact_id, take_up)

    async def share(self, reader: Reader, fact_id: UUID, *, shared: bool) -> Fact:
        """Let the members of its subject read a fact, or no longer.

        Raises:
            NotFound: no such fact.
            InvalidInput: it is about the owner alone, or about a subject that the owner is no member of.

        """
        wanted = Visibility.SHARED if shared else Visibility.PRIVATE
        action = FactAction.SHARED if shared else FactAction.UNSHARED

        def share(unit: Unit, fact: Fact, now: datetime) -> Fact:
            if shared:
                _check_shareable(unit, reader, fact)
            if fact.visibility is wanted:
                return fact
            return self._changed(unit, reader, fact, action, now, {"visibility": wanted})

        return await self._change(reader, fact_id, share)

    async def delete(self, reader: Reader, fact_id: UUID) -> None:
        """Leave nothing of a fact; what says the same is not learned again, unless the owner adds it.

        Raises:
            NotFound: no such fact.

        """

        def delete(unit: Unit) -> None:
            unit.facts.alone(reader.tenant, reader.user)
            self.learning.bury(unit, reader.tenant, _own(unit, reader, fact_id), now=self.clock.now())

        await self._written(reader, delete)

    async def undo(self, reader: Reader, fact_id: UUID) -> Fact | None:
        """Take the last change back; again, the one before. Taking back its beginning deletes the fact.

        Returns:
            The fact as it is now; None if it is gone.

        Raises:
            NotFound: no such fact.
            InvalidInput: another fact took its place: undo that one.

        """

        def undo(unit: Unit) -> Fact | None:
            now = self.clock.now()
            unit.facts.alone(reader.tenant, reader.user)
            fact = _own(unit, reader, fact_id)
            if fact.superseded_by is not None:
                raise InvalidInput(f"fact {fact.superseded_by} took its place: undo that one")
            versions = {version.version: version for version in unit.facts.versions(reader.tenant, fact.id)}
            last = versions[fact.version]
            target = (last.restores or last.version) - 1
            if target < 1:
                self.learning.bury(unit, reader.tenant, fact, now=now)
                return None
            values = _values(versions[target])
            if values["content"] != fact.content:
                self.learning.restored(unit, reader.tenant, fact, values["content"])
            if values["trust"] is not Trust.OWNER_CONFIRMED and not fact.sources:
                # only the owner stood for it: the messages that said it are gone
                self.learning.forget(unit, reader.tenant, fact, now=now)
                return None
            restores = versions[target].restores or target
            meant = ("content", "state", "trust")
            if fact.state is FactState.ACTIVE and any(getattr(fact, name) != values[name] for name in meant):
                since = versions[target + 1].at
                self.learning.reopen_replaced(unit, reader.tenant, fact, now=now, since=since)
            undone = self.learning.changed(
                unit, reader.tenant, fact, FactAction.UNDONE, now=now, restores=restores, **values
            )
            check_shared(unit, reader, undone)
            return undone

        return await self._written(reader, undo)

    def _changed(
        self, unit: Unit, reader: Reader, fact: Fact, action: FactAction, now: datetime, values: Mapping[str, Any]
    ) -> Fact:
        changed = self.learning.changed(unit, reader.tenant, fact, action, now=now, **values)
        check_shared(unit, reader, changed)
        return changed

    def _believed(
        self, unit: Unit, reader: Reader, fact: Fact, action: FactAction, now: datetime, values: Mapping[str, Any]
    ) -> Fact:
        """The owner stands for a fact from now on: what it contradicts is closed."""
        stands = {"trust": Trust.OWNER_CONFIRMED, "state": FactState.ACTIVE, "doubt": None}
        believed = self._changed(unit, reader, fact, action, now, {**values, **stands})
        close(self.learning, unit, reader, believed, contradicted(unit, reader, believed), now=now)
        return believed

    async def _change(self, reader: Reader, fact_id: UUID, change: _Change) -> Fact:
        def work(unit: Unit) -> Fact:
            unit.facts.alone(reader.tenant, reader.user)
            return change(unit, _own(unit, reader, fact_id), self.clock.now())

        return await self._written(reader, work)

    async def _written(self, reader: Reader, work: Callable[[Unit], T]) -> T:
        done = await self.store.write(reader.tenant, work)
        self.failpoint("fact.changed")
        return done


def _found(unit: Unit, reader: Reader, fact_id: UUID) -> Fact:
    fact = unit.facts.get(reader, fact_id)
    if fact is None:
        raise NotFound(f"there is no fact {fact_id}")
    return fact


def _own(unit: Unit, reader: Reader, fact_id: UUID) -> Fact:
    fact = _found(unit, reader, fact_id)
    if fact.owner != reader.user:
        raise NotFound(f"fact {fact_id} is {fact.owner!r}'s: only its owner may change it or see its history")
    return fact


def _check_believed(fact: Fact) -> None:
    if fact.state is FactState.ASIDE:
        raise InvalidInput(f"fact {fact.id} is set aside: take it up first")
    if fact.state not in _BELIEVED:
        raise InvalidInput(f"fact {fact.id} is no longer true: add a new one")


def _check_shareable(unit: Unit, reader: Reader, fact: Fact) -> None:
    _check_believed(fact)
    if fact.state is FactState.REVIEW:
        raise InvalidInput(f"fact {fact.id} waits for a review: confirm it first")
    if fact.subject is None:
        raise InvalidInput("this fact is about its owner alone: only facts about a subject can be shared")
    if not is_member(unit, reader, fact.subject):
        raise InvalidInput(
            f"{reader.user!r} is no member of subject {fact.subject!r}: facts are shared with its members"
        )


def _values(version: FactVersion) -> Mapping[str, Any]:
    """What of a fact a version says."""
    return {name: getattr(version, name) for name in CHANGEABLE}
