"""Stores that break the laws of what facts were learned from, and of their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by
from tests.conformance.broken_facts import of_owner

from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import Fact, FactAction, FactState, FactVersion, Source
from anaphora.errors import AnaphoraError
from anaphora.ports.facts import Reader
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import TENANT

Tomb = tuple[UUID, Sequence[str]]


@caught_by("test_a_source_of_a_fact_is_kept_once")
class HasTheSourcesThatItBeganWith(Broken):
    def facts_add_source(self, _unit: Unit, _tenant: str, _fact_id: UUID, _source: Source) -> None:
        return


@caught_by("test_a_source_of_a_fact_is_kept_once")
class KeepsTheLastQuote(Broken):
    def facts_add_source(self, unit: Unit, tenant: str, fact_id: UUID, source: Source) -> None:
        row = unit.sessions.get(tenant, source.session_id)
        assert row is not None
        unit.facts.unsay(row, source.seq)
        unit.facts.add_source(tenant, fact_id, source)


@caught_by("test_facts_of_a_message_that_says_nothing_any_more")
class UnsaysTheWholeSession(Broken):
    def facts_unsay(self, unit: Unit, row: SessionRow, _seq: int | None) -> Sequence[Fact]:
        return unit.facts.unsay(row, None)


@caught_by("test_facts_of_a_message_that_says_nothing_any_more", "test_facts_of_a_session_that_says_nothing_any_more")
class NamesAllThatTheMessageSaid(Broken):
    """Whoever else says it, or stands for it."""

    def facts_unsay(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        places = [(row.id, at) for at in range(row.head) if seq in {None, at}]
        said = unit.facts.with_sources(Reader(tenant=row.key.tenant, user=row.key.user), places)
        return [*unit.facts.unsay(row, seq), *(fact for fact, _ in said)]


@caught_by("test_facts_of_a_message_that_says_nothing_any_more")
class OverlooksWhatIsClosed(Broken):
    def facts_unsay(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        return [fact for fact in unit.facts.unsay(row, seq) if fact.state is not FactState.CLOSED]


@caught_by("test_facts_of_a_message_that_says_nothing_any_more")
class DeletesWhatIsUnsaid(Broken):
    def facts_unsay(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        gone = unit.facts.unsay(row, seq)
        for fact in gone:
            unit.facts.delete(row.key.tenant, fact.id)
        return gone


@caught_by("test_facts_of_a_session_that_says_nothing_any_more")
class UnsaysTheFirstMessage(Broken):
    def facts_unsay(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        return unit.facts.unsay(row, seq or 0)


@caught_by("test_facts_of_a_session_that_says_nothing_any_more", "test_facts_of_a_message_that_says_nothing_any_more")
class UnsaysAllSessions(Broken):
    def facts_unsay(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        rows = unit.sessions.list(row.key.tenant, user=row.key.user)
        return [fact for each in rows for fact in unit.facts.unsay(each, seq)]


@caught_by(
    "test_nothing_is_left_of_a_fact_that_is_deleted", "test_a_fact_that_is_deleted_makes_room_for_one_of_its_content"
)
class HidesWhatIsDeleted(Broken):
    """It is in review for ever."""

    def facts_delete(self, unit: Unit, tenant: str, fact_id: UUID) -> None:
        old = unit.facts.get(Reader(tenant=tenant, user="alice"), fact_id)
        if old is not None:
            new = replace(old, state=FactState.REVIEW, version=old.version + 1)
            unit.facts.change(tenant, new, action=FactAction.EDITED, key=old.content.lower(), terms=())


@caught_by("test_nothing_is_left_of_a_fact_that_is_deleted")
class KeepsHistoriesOfTheDeleted(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.old: dict[UUID, Sequence[FactVersion]] = {}

    def facts_delete(self, unit: Unit, tenant: str, fact_id: UUID) -> None:
        self.old[fact_id] = unit.facts.versions(tenant, fact_id)
        unit.facts.delete(tenant, fact_id)

    def facts_versions(self, unit: Unit, tenant: str, fact_id: UUID) -> Sequence[FactVersion]:
        return [*self.old.get(fact_id, ()), *unit.facts.versions(tenant, fact_id)]


@caught_by("test_nothing_is_left_of_a_fact_that_is_deleted")
class KeepsSourcesOfTheDeleted(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.old: dict[UUID, tuple[Source, ...]] = {}

    def facts_delete(self, unit: Unit, tenant: str, fact_id: UUID) -> None:
        self.old |= {fact.id: fact.sources for fact in of_owner(unit, tenant, "alice") if fact.id == fact_id}
        unit.facts.delete(tenant, fact_id)

    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        return unit.facts.insert(tenant, replace(fact, sources=self.old.get(fact.id, fact.sources)), **how)


@caught_by("test_a_fact_that_is_deleted_makes_room_for_one_of_its_content")
class RemembersWhatWasDeleted(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.gone: set[str] = set()

    def facts_delete(self, unit: Unit, tenant: str, fact_id: UUID) -> None:
        self.gone |= {fact.content for fact in of_owner(unit, tenant, "alice") if fact.id == fact_id}
        unit.facts.delete(tenant, fact_id)

    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        return fact.content not in self.gone and unit.facts.insert(tenant, fact, **how)


@caught_by("test_a_fact_that_is_deleted_makes_room_for_one_of_its_content")
class DeletesForAnybody(Broken):
    def facts_delete(self, unit: Unit, _tenant: str, fact_id: UUID) -> None:
        unit.facts.delete(TENANT, fact_id)


@caught_by("test_a_fact_knows_whose_place_it_took")
class NamesWhatIsBelieved(Broken):
    def facts_replaced_by(self, unit: Unit, *which: Any) -> Sequence[Fact]:
        return [fact for fact in unit.facts.replaced_by(*which) if fact.state is FactState.ACTIVE]


@caught_by("test_a_fact_knows_whose_place_it_took")
class NamesThePlacesOfAllOwners(Broken):
    def facts_replaced_by(self, unit: Unit, tenant: str, _owner: str, fact_id: UUID) -> Sequence[Fact]:
        return [fact for owner in ("alice", "bob") for fact in unit.facts.replaced_by(tenant, owner, fact_id)]


@caught_by("test_a_fact_knows_whose_place_it_took")
class NamesThemWithoutSources(Broken):
    def facts_replaced_by(self, unit: Unit, *which: Any) -> Sequence[Fact]:
        return [replace(fact, sources=()) for fact in unit.facts.replaced_by(*which)]


@caught_by("test_tombstones_of_facts_are_of_an_owner_and_a_subject")
class ShowsTheOldestTombFirst(Broken):
    def facts_tombstones(self, unit: Unit, *whose: Any, limit: int) -> Sequence[Tomb]:
        return unit.facts.tombstones(*whose, limit=99)[::-1][:limit]


@caught_by("test_tombstones_of_facts_are_of_an_owner_and_a_subject")
class SortsMarks(Broken):
    def facts_tombstones(self, unit: Unit, *whose: Any, limit: int) -> Sequence[Tomb]:
        return [(uid, sorted(set(marks))) for uid, marks in unit.facts.tombstones(*whose, limit=limit)]


@caught_by("test_tombstones_of_facts_are_of_an_owner_and_a_subject")
class BuriesWithoutASubject(Broken):
    def facts_bury(self, unit: Unit, tenant: str, owner: str, _subject: str, *what: Any, **how: Any) -> None:
        unit.facts.bury(tenant, owner, "", *what, **how)


@caught_by("test_tombstones_of_facts_are_forgotten_by_name")
class ForgetsAllTombs(Broken):
    def facts_unbury(self, unit: Unit, tenant: str, tombs: Iterable[UUID]) -> None:
        if list(tombs):
            unit.facts.unbury(tenant, [uid for uid, _ in unit.facts.tombstones(tenant, "alice", "", limit=99)])


@caught_by("test_tombstones_of_facts_are_forgotten_by_name")
class ForgetsTombsEverywhere(Broken):
    def facts_unbury(self, unit: Unit, _tenant: str, tombs: Iterable[UUID]) -> None:
        wanted = list(tombs)
        for tenant in (TENANT, "t2"):
            unit.facts.unbury(tenant, wanted)


def _bury(tomb: tuple[tuple[Any, ...], dict[str, Any]], unit: Unit) -> None:
    unit.facts.bury(*tomb[0], **tomb[1])


@caught_by("test_facts_and_chunks_of_a_transaction_that_failed_are_not_there")
class BuriesBesideTheTransaction(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.tombs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    async def write(self, tenant: str, work: Any) -> Any:
        try:
            return await super().write(tenant, work)
        except AnaphoraError:
            for tomb in self.tombs:
                await self.real.write(tenant, partial(_bury, tomb))
            raise

    def facts_bury(self, unit: Unit, *what: Any, **how: Any) -> None:
        self.tombs.append((what, how))
        unit.facts.bury(*what, **how)


def _chunk(row: SessionRow, chunk: Chunk, unit: Unit) -> None:
    unit.chunks.insert(row, chunk)


@caught_by("test_facts_and_chunks_of_a_transaction_that_failed_are_not_there")
class ChunksBesideTheTransaction(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.chunks: list[tuple[SessionRow, Chunk]] = []

    async def write(self, tenant: str, work: Any) -> Any:
        try:
            return await super().write(tenant, work)
        except AnaphoraError:
            for row, chunk in self.chunks:
                await self.real.write(tenant, partial(_chunk, row, chunk))
            raise

    def chunks_insert(self, unit: Unit, row: SessionRow, chunk: Chunk) -> None:
        self.chunks.append((row, chunk))
        unit.chunks.insert(row, chunk)
