"""Stores that break the laws of who reads which facts, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.facts import Fact, FactState, Visibility
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.fact_tools import ALICE, EVERY_STATE

Place = tuple[UUID, int]


class Misreads(Broken):
    """Takes the reader for another."""

    def taken_for(self, reader: Reader) -> Reader:
        return reader

    def facts_get(self, unit: Unit, reader: Reader, fact_id: UUID) -> Fact | None:
        return unit.facts.get(self.taken_for(reader), fact_id)

    def facts_list(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        return unit.facts.list(self.taken_for(reader), **how)

    def facts_standing(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        return unit.facts.standing(self.taken_for(reader), **how)

    def facts_with_terms(self, unit: Unit, reader: Reader, *terms: Any, **how: Any) -> Sequence[tuple[Fact, int]]:
        return unit.facts.with_terms(self.taken_for(reader), *terms, **how)

    def facts_with_sources(self, unit: Unit, reader: Reader, places: Iterable[Place]) -> Sequence[tuple[Fact, Place]]:
        return unit.facts.with_sources(self.taken_for(reader), places)


class Shows(Broken):
    """Shows more, by one of the ways to get at a fact."""

    def shows(self, unit: Unit, reader: Reader, fact: Fact, /) -> bool:
        raise NotImplementedError

    def facts_get(self, unit: Unit, reader: Reader, fact_id: UUID) -> Fact | None:
        there = unit.facts.get(ALICE, fact_id)
        if there is not None and self.shows(unit, reader, there):
            return there
        return unit.facts.get(reader, fact_id)


# -- lists ---------------------------------------------------------------------------------------------------------


@caught_by("test_facts_are_listed_newest_first_page_by_page")
class ListsTheFirstPageAgain(Broken):
    def facts_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Fact]:
        return unit.facts.list(*args, **how | {"after": None})


@caught_by("test_facts_are_listed_newest_first_page_by_page")
class ListsTheOldestFirst(Broken):
    def facts_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Fact]:
        return unit.facts.list(*args, **how)[::-1]


@caught_by("test_facts_are_listed_newest_first_page_by_page")
class ListsItsOwnFirst(Broken):
    def facts_list(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        return sorted(unit.facts.list(reader, **how), key=lambda fact: fact.owner != reader.user)


@caught_by("test_a_list_of_facts_can_be_narrowed")
class ListsEveryCategory(Broken):
    def facts_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Fact]:
        return unit.facts.list(*args, **how | {"category": None})


@caught_by("test_a_list_of_facts_can_be_narrowed")
class ListsEveryState(Broken):
    def facts_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Fact]:
        return unit.facts.list(*args, **how | {"states": EVERY_STATE})


@caught_by("test_a_list_of_facts_can_be_narrowed")
class ListsFactsAboutAll(Misreads):
    def taken_for(self, reader: Reader) -> Reader:
        return replace(reader, about=reader.about or None)


@caught_by("test_an_agent_sees_the_facts_that_it_learned_and_those_that_were_added")
class KnowsNoAgents(Misreads):
    def taken_for(self, reader: Reader) -> Reader:
        return replace(reader, agent=None)


@caught_by("test_an_agent_sees_the_facts_that_it_learned_and_those_that_were_added")
class HidesWhatWasAdded(Broken):
    def facts_list(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        return [fact for fact in unit.facts.list(reader, **how) if fact.agent is not None or reader.agent is None]


@caught_by("test_an_agent_sees_the_facts_that_it_learned_and_those_that_were_added")
class HidesWhatOtherAgentsShare(Broken):
    def facts_list(self, unit: Unit, reader: Reader, **how: Any) -> Sequence[Fact]:
        return [fact for fact in unit.facts.list(reader, **how) if reader.agent in {None, fact.agent} or not fact.agent]


# -- who -----------------------------------------------------------------------------------------------------------


@caught_by("test_nobody_sees_facts_of_other_users_and_tenants")
class GetsById(Shows):
    def shows(self, _unit: Unit, _reader: Reader, _fact: Fact) -> bool:
        return True


@caught_by("test_nobody_sees_facts_of_other_users_and_tenants")
class ReadsForAlice(Misreads):
    """Everybody in the tenant is one."""

    def taken_for(self, reader: Reader) -> Reader:
        return replace(reader, user="alice")


@caught_by("test_nobody_sees_facts_of_other_users_and_tenants", "test_facts_are_found_by_what_they_were_learned_from")
class FindsByTheMessagesOfOthers(Broken):
    def facts_with_sources(self, unit: Unit, reader: Reader, places: Iterable[Place]) -> Sequence[tuple[Fact, Place]]:
        wanted = list(places)
        readers = (replace(reader, user=user) for user in ("alice", "bob"))
        return [found for each in readers for found in unit.facts.with_sources(each, wanted)]


@caught_by("test_a_shared_fact_is_seen_by_members_as_long_as_it_is_shared")
class RemembersWhatItShowed(Broken):
    """Who saw a fact once sees it for ever."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.seen: dict[tuple[Reader, UUID], Fact] = {}

    def facts_get(self, unit: Unit, reader: Reader, fact_id: UUID) -> Fact | None:
        fact = unit.facts.get(reader, fact_id) or self.seen.get((reader, fact_id))
        if fact is not None:
            self.seen[reader, fact_id] = fact
        return fact


@caught_by("test_a_shared_fact_is_seen_by_members_as_long_as_it_is_shared")
class ShowsWhatWaitsForAReview(Shows):
    def shows(self, unit: Unit, reader: Reader, fact: Fact) -> bool:
        subject = unit.subjects.get(reader.tenant, fact.subject or "")
        member = subject is not None and reader.user in subject.members
        return member and fact.visibility is Visibility.SHARED and fact.state is FactState.REVIEW


@caught_by("test_a_shared_fact_is_seen_by_members_as_long_as_it_is_shared")
class ShowsThePrivateToo(Shows):
    def shows(self, unit: Unit, reader: Reader, fact: Fact) -> bool:
        subject = unit.subjects.get(reader.tenant, fact.subject or "")
        return subject is not None and reader.user in subject.members and fact.state is FactState.ACTIVE


@caught_by("test_a_shared_fact_is_seen_by_members_of_its_own_subject_and_tenant")
class SharesWithMembersOfAnything(Shows):
    def shows(self, unit: Unit, reader: Reader, fact: Fact) -> bool:
        member = bool(unit.subjects.of(reader.tenant, reader.user, limit=1))
        return member and reader.tenant == ALICE.tenant and fact.visibility is Visibility.SHARED


@caught_by("test_a_shared_fact_is_seen_by_members_of_its_own_subject_and_tenant")
class SharesAcrossTenants(Shows):
    def shows(self, unit: Unit, reader: Reader, fact: Fact) -> bool:
        subject = unit.subjects.get(reader.tenant, fact.subject or "")
        return subject is not None and reader.user in subject.members and fact.visibility is Visibility.SHARED


@caught_by("test_facts_of_users_and_subjects_with_similar_names_are_not_confused")
class IgnoresCase(Misreads):
    def taken_for(self, reader: Reader) -> Reader:
        return replace(reader, user=reader.user.lower())


@caught_by("test_facts_of_users_and_subjects_with_similar_names_are_not_confused")
class ReadsNamesAsPatterns(Broken):
    def facts_known(self, unit: Unit, tenant: str, owner: str, *args: Any, **how: Any) -> Sequence[Fact]:
        if owner != "%":
            return unit.facts.known(tenant, owner, *args, **how)
        return [fact for each in ("%", "al", "alice") for fact in unit.facts.known(tenant, each, *args, **how)]


@caught_by("test_facts_of_users_and_subjects_with_similar_names_are_not_confused")
class StripsNames(Misreads):
    def taken_for(self, reader: Reader) -> Reader:
        return replace(reader, user=reader.user.strip())


# -- which first ---------------------------------------------------------------------------------------------------


@caught_by("test_standing_facts_come_first_that_a_prompt_wants_most")
class WantsTheNewest(Broken):
    def facts_standing(self, unit: Unit, reader: Reader, *, limit: int) -> Sequence[Fact]:
        return unit.facts.list(reader, states=[FactState.ACTIVE], limit=limit)


@caught_by("test_standing_facts_come_first_that_a_prompt_wants_most")
class LimitsBothTogether(Broken):
    def facts_standing(self, unit: Unit, reader: Reader, *, limit: int) -> Sequence[Fact]:
        return unit.facts.standing(reader, limit=limit)[:limit]


@caught_by("test_standing_facts_come_first_that_a_prompt_wants_most")
class WantsWhatWaits(Broken):
    def facts_standing(self, unit: Unit, reader: Reader, *, limit: int) -> Sequence[Fact]:
        waiting = unit.facts.list(reader, states=[FactState.REVIEW], limit=limit)
        return [*waiting, *unit.facts.standing(reader, limit=limit)]


@caught_by("test_facts_are_found_by_their_terms_those_with_most_first")
class CountsEachFactOnce(Broken):
    def facts_with_terms(self, unit: Unit, *args: Any, **how: Any) -> Sequence[tuple[Fact, int]]:
        return [(fact, 1) for fact, _ in unit.facts.with_terms(*args, **how)]


@caught_by("test_facts_are_found_by_their_terms_those_with_most_first")
class FindsTheNewest(Broken):
    def facts_with_terms(self, unit: Unit, *args: Any, **how: Any) -> Sequence[tuple[Fact, int]]:
        found = unit.facts.with_terms(*args, **how)
        return sorted(found, key=lambda pair: pair[0].id, reverse=True)


@caught_by("test_facts_are_found_by_their_terms_those_with_most_first")
class LimitsWhatItFindsTogether(Broken):
    def facts_with_terms(self, unit: Unit, *args: Any, limit: int) -> Sequence[tuple[Fact, int]]:
        return unit.facts.with_terms(*args, limit=limit)[:limit]


@caught_by("test_facts_are_found_by_their_terms_those_with_most_first")
class FindsByPartsOfWords(Broken):
    def facts_with_terms(
        self, unit: Unit, reader: Reader, terms: Sequence[str], **how: Any
    ) -> Sequence[tuple[Fact, int]]:
        longer = ["tea" if "tea".startswith(term) else term for term in terms]
        return unit.facts.with_terms(reader, longer, **how)


@caught_by("test_facts_are_found_by_what_they_were_learned_from")
class FindsAFactForEachMessage(Broken):
    def facts_with_sources(self, unit: Unit, reader: Reader, places: Iterable[Place]) -> Sequence[tuple[Fact, Place]]:
        return [found for place in places for found in unit.facts.with_sources(reader, [place])]


@caught_by("test_facts_are_found_by_what_they_were_learned_from")
class FindsWhatIsClosed(Broken):
    def facts_with_sources(self, unit: Unit, reader: Reader, places: Iterable[Place]) -> Sequence[tuple[Fact, Place]]:
        wanted = list(places)
        found = {fact.id: (fact, place) for fact, place in unit.facts.with_sources(reader, wanted)}
        for fact in unit.facts.list(reader, states=[FactState.CLOSED], limit=99):
            for source in fact.sources:
                if (source.session_id, source.seq) in wanted:
                    found[fact.id] = (fact, (source.session_id, source.seq))
        return list(found.values())


@caught_by("test_facts_are_found_by_what_they_were_learned_from")
class NamesItsFirstSource(Broken):
    """Whichever was asked for."""

    def facts_with_sources(self, unit: Unit, reader: Reader, places: Iterable[Place]) -> Sequence[tuple[Fact, Place]]:
        found = []
        for fact, _ in unit.facts.with_sources(reader, places):
            whole = unit.facts.get(reader, fact.id)
            assert whole is not None
            found.append((fact, (whole.sources[0].session_id, whole.sources[0].seq)))
        return found


class Knows(Broken):
    """Knows something else."""

    def facts_known(
        self, unit: Unit, tenant: str, owner: str, subject: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[Fact]:
        return self.known(unit, tenant, owner, subject, terms)[:limit]

    def known(self, unit: Unit, tenant: str, owner: str, subject: str, terms: Sequence[str], /) -> Sequence[Fact]:
        raise NotImplementedError


@caught_by("test_known_facts_of_a_subject_come_by_terms_and_then_by_standing")
class KnowsByStandingAlone(Knows):
    def known(self, unit: Unit, tenant: str, owner: str, subject: str, _terms: Sequence[str]) -> Sequence[Fact]:
        return unit.facts.known(tenant, owner, subject, (), limit=99)


@caught_by("test_known_facts_of_a_subject_come_by_terms_and_then_by_standing")
class KnowsTheNewestOfThoseAlike(Knows):
    def known(self, unit: Unit, tenant: str, owner: str, subject: str, terms: Sequence[str]) -> Sequence[Fact]:
        having = dict.fromkeys((fact.id for fact in unit.facts.known(tenant, owner, subject, (), limit=99)), 0)
        for fact, count in unit.facts.with_terms(Reader(tenant=tenant, user=owner), terms, limit=99):
            having[fact.id] = count
        found = unit.facts.known(tenant, owner, subject, (), limit=99)
        alike = [fact for fact in found if having[fact.id]]
        alike.sort(key=lambda fact: (having[fact.id], fact.id), reverse=True)
        return [*alike, *(fact for fact in found if not having[fact.id])]


@caught_by("test_known_facts_of_a_subject_come_by_terms_and_then_by_standing")
class KnowsWhatIsActive(Knows):
    def known(self, unit: Unit, tenant: str, owner: str, subject: str, terms: Sequence[str]) -> Sequence[Fact]:
        found = unit.facts.known(tenant, owner, subject, terms, limit=99)
        return [fact for fact in found if fact.state is FactState.ACTIVE]


@caught_by("test_known_facts_of_a_subject_come_by_terms_and_then_by_standing")
class KnowsEverySubject(Knows):
    def known(self, unit: Unit, tenant: str, owner: str, subject: str, terms: Sequence[str]) -> Sequence[Fact]:
        subjects = dict.fromkeys((subject, "", "family"))
        return [fact for each in subjects for fact in unit.facts.known(tenant, owner, each, terms, limit=99)]


@caught_by("test_known_facts_of_a_subject_come_by_terms_and_then_by_standing")
class KnowsMoreThanIsAsked(Broken):
    def facts_known(self, unit: Unit, *args: Any, limit: int) -> Sequence[Fact]:
        return unit.facts.known(*args, limit=2 * limit)
