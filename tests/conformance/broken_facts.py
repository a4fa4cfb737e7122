"""Stores that break the laws of keeping and changing facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.facts import Fact, FactAction, FactState, FactVersion
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.fact_tools import EVERY_STATE, words
from anaphora.testing.conformance.store_laws.tools import TENANT


def of_owner(unit: Unit, tenant: str, owner: str, *states: FactState) -> Sequence[Fact]:
    """The facts of an owner, with their sources."""
    reader = Reader(tenant=tenant, user=owner)
    found = unit.facts.list(reader, states=states or EVERY_STATE, limit=1000)
    return [fact for fact in found if fact.owner == owner]


class Alters(Broken):
    """What is kept is not what was given."""

    changes: ClassVar[Mapping[str, Any]]

    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        return unit.facts.insert(tenant, replace(fact, **self.changes), **how)


# -- keeping -------------------------------------------------------------------------------------------------------


@caught_by("test_a_fact_comes_back_as_it_was_kept")
class ForgetsSources(Alters):
    changes: ClassVar[Mapping[str, Any]] = {"sources": ()}


@caught_by("test_a_fact_comes_back_as_it_was_kept")
class ForgetsDoubts(Alters):
    changes: ClassVar[Mapping[str, Any]] = {"doubt": None}


@caught_by("test_a_fact_comes_back_as_it_was_kept")
class ForgetsSinceWhenItIsTrue(Broken):
    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        return unit.facts.insert(tenant, replace(fact, valid_from=fact.created_at), **how)


@caught_by("test_a_fact_comes_back_as_it_was_kept", "test_a_source_of_a_fact_is_kept_once")
class TellsTheNewestSourceFirst(Broken):
    def facts_get(self, unit: Unit, reader: Reader, fact_id: UUID) -> Fact | None:
        fact = unit.facts.get(reader, fact_id)
        return fact and replace(fact, sources=fact.sources[::-1])


@caught_by("test_what_a_fact_was_learned_from_is_its_owners_alone_to_see")
class ShowsSourcesToAll(Broken):
    def facts_get(self, unit: Unit, reader: Reader, fact_id: UUID) -> Fact | None:
        fact = unit.facts.get(reader, fact_id)
        return fact and unit.facts.get(Reader(tenant=reader.tenant, user=fact.owner), fact_id)


@caught_by("test_what_a_fact_was_learned_from_is_its_owners_alone_to_see")
class ListsSourcesForAll(Broken):
    def facts_list(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        found = unit.facts.list(reader, **how)
        owners = [Reader(tenant=reader.tenant, user=fact.owner) for fact in found]
        return [unit.facts.get(owner, fact.id) or fact for owner, fact in zip(owners, found, strict=True)]


@caught_by(
    "test_an_owner_has_a_fact_of_one_content_and_subject_once", "test_of_facts_of_one_content_at_once_one_is_kept"
)
class KeepsEveryContent(Broken):
    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        return unit.facts.insert(tenant, fact, key=f"{key} {fact.id}", **how)


@caught_by("test_an_owner_has_a_fact_of_one_content_and_subject_once")
class LetsDoublesWait(Broken):
    """Only what is active is compared."""

    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        wanted = f"{key} {fact.id}" if fact.state is FactState.REVIEW else key
        return unit.facts.insert(tenant, fact, key=wanted, **how)


@caught_by("test_an_owner_has_a_fact_of_one_content_and_subject_once")
class KeepsTheSourcesOfADouble(Broken):
    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        kept = unit.facts.insert(tenant, fact, **how)
        for old in () if kept else of_owner(unit, tenant, fact.owner):
            for source in fact.sources:
                unit.facts.add_source(tenant, old.id, source)
        return kept


@caught_by("test_one_content_may_be_in_several_facts_that_do_not_meet")
class HasOneOwner(Broken):
    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        others = [old for owner in ("alice", "bob") for old in of_owner(unit, tenant, owner, FactState.ACTIVE)]
        same = any(old.content == fact.content and old.subject == fact.subject for old in others)
        return not same and unit.facts.insert(tenant, fact, key=key, **how)


@caught_by("test_one_content_may_be_in_several_facts_that_do_not_meet")
class ComparesWithClosedOnes(Broken):
    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        same = any(old.content == fact.content for old in of_owner(unit, tenant, fact.owner, FactState.CLOSED))
        return not same and unit.facts.insert(tenant, fact, **how)


@caught_by("test_of_facts_of_one_content_at_once_one_is_kept")
class ComparesWithWhatItKeptItself(Broken):
    """Another process has kept something else."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.keys: set[str] = set()

    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        if key in self.keys:
            return False
        self.keys.add(key)
        return unit.facts.insert(tenant, fact, key=f"{key} {id(self)}", **how)


@caught_by("test_who_is_alone_with_an_owners_facts_sees_what_others_kept_before")
class ListsFromASnapshot(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.lists: dict[Reader, Sequence[Fact]] = {}

    def facts_list(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        return self.lists.setdefault(reader, unit.facts.list(reader, **how))


# -- changing ------------------------------------------------------------------------------------------------------


@caught_by("test_a_fact_changes_to_its_next_version_only")
class ChangesFromAnyVersion(Broken):
    def facts_change(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        now = unit.facts.get(Reader(tenant=tenant, user=fact.owner), fact.id)
        return now is not None and unit.facts.change(tenant, replace(fact, version=now.version + 1), **how)


@caught_by("test_a_fact_changes_to_its_next_version_only", "test_a_fact_does_not_change_to_what_another_says")
class SaysThatItChanged(Broken):
    def facts_change(self, unit: Unit, *args: Any, **how: Any) -> bool:
        unit.facts.change(*args, **how)
        return True


@caught_by("test_every_version_of_a_fact_is_noted_whole")
class ForgetsWhatWasUndone(Broken):
    def facts_change(self, unit: Unit, *args: Any, **how: Any) -> bool:
        return unit.facts.change(*args, **how | {"restores": None})


@caught_by("test_every_version_of_a_fact_is_noted_whole")
class CallsEverythingAnEdit(Broken):
    def facts_change(self, unit: Unit, *args: Any, **how: Any) -> bool:
        return unit.facts.change(*args, **how | {"action": FactAction.EDITED})


@caught_by("test_every_version_of_a_fact_is_noted_whole")
class NotesTheNewestFirst(Broken):
    def facts_versions(self, unit: Unit, *which: Any) -> Sequence[FactVersion]:
        return unit.facts.versions(*which)[::-1]


@caught_by("test_every_version_of_a_fact_is_noted_whole")
class NotesContentsAlone(Broken):
    def facts_versions(self, unit: Unit, *which: Any) -> Sequence[FactVersion]:
        return [replace(entry, pinned=False) for entry in unit.facts.versions(*which)]


@caught_by("test_every_version_of_a_fact_is_noted_whole", "test_nobody_sees_facts_of_other_users_and_tenants")
class TellsHistoriesToAll(Broken):
    def facts_versions(self, unit: Unit, _tenant: str, fact_id: UUID) -> Sequence[FactVersion]:
        return unit.facts.versions(TENANT, fact_id)


@caught_by(
    "test_a_fact_does_not_change_to_what_another_says", "test_of_facts_that_change_to_one_content_at_once_one_does"
)
class ChangesToAnything(Broken):
    def facts_change(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        return unit.facts.change(tenant, fact, key=f"{key} {fact.id}", **how)


@caught_by("test_a_fact_does_not_change_to_what_another_says")
class IsInItsOwnWay(Broken):
    def facts_change(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        same = any(old.content == fact.content for old in of_owner(unit, tenant, fact.owner, FactState.ACTIVE))
        return not same and unit.facts.change(tenant, fact, **how)


@caught_by("test_a_fact_does_not_change_to_what_another_says")
class OpensWhatIsThereAgain(Broken):
    """Looks only where the content changes."""

    def facts_change(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        old = unit.facts.get(Reader(tenant=tenant, user=fact.owner), fact.id)
        wanted = f"{key} {fact.id}" if old is not None and old.content == fact.content else key
        return unit.facts.change(tenant, fact, key=wanted, **how)


@caught_by("test_a_changed_fact_is_found_by_what_it_says_now")
class FindsByWhatItOnceSaid(Broken):
    def facts_change(self, unit: Unit, tenant: str, fact: Fact, *, terms: Sequence[str], **how: Any) -> bool:
        before = [word for entry in unit.facts.versions(tenant, fact.id) for word in words(entry.content)]
        return unit.facts.change(tenant, fact, terms=[*terms, *before], **how)


@caught_by("test_a_tenant_with_nothing_but_facts_or_subjects_is_listed")
class ListsWhoTalks(Broken):
    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        found = await self.real.tenants(after=after, limit=limit)
        talking = [await self.real.read(name, partial(_talks, name)) for name in found]
        return [name for name, talks in zip(found, talking, strict=True) if talks]


def _talks(tenant: str, unit: Unit) -> bool:
    return bool(unit.sessions.list(tenant, limit=1))
