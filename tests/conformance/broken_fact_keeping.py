"""Stores that break the laws of which facts are kept: what is set aside shows, or is miscounted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by
from tests.conformance.broken_facts import of_owner

from anaphora.domain.facts import Fact, FactState
from anaphora.domain.keeping import Held
from anaphora.domain.keys import SeqRange
from anaphora.ports.facts import Reader
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.fact_tools import ALICE, id_of
from anaphora.testing.conformance.store_laws.tools import TENANT

Counts = Sequence[tuple[FactState, str | None, int]]

# -- set aside -----------------------------------------------------------------------------------------------------

HIDDEN = "test_a_fact_set_aside_is_listed_when_asked_for_and_found_by_no_other_way"


@caught_by(HIDDEN)
class WantsWhatIsAside(Broken):
    def facts_standing(self, unit: Unit, reader: Reader, *, limit: int) -> Sequence[Fact]:
        aside = unit.facts.list(reader, states=[FactState.ASIDE], limit=limit)
        return [*unit.facts.standing(reader, limit=limit), *aside]


@caught_by(HIDDEN)
class KnowsWhatIsAside(Broken):
    def facts_known(self, unit: Unit, tenant: str, owner: str, subject: str, *rest: Any, limit: int) -> Sequence[Fact]:
        found = unit.facts.known(tenant, owner, subject, *rest, limit=limit)
        aside = of_owner(unit, tenant, owner, FactState.ASIDE)
        return [*found, *(fact for fact in aside if (fact.subject or "") == subject)]


@caught_by(HIDDEN)
class ShowsOthersWhatIsAside(Broken):
    def facts_get(self, unit: Unit, reader: Reader, fact_id: UUID) -> Fact | None:
        there = unit.facts.get(ALICE, fact_id)
        return there if there is not None and there.state is FactState.ASIDE else unit.facts.get(reader, fact_id)


@caught_by(HIDDEN)
class HidesWhatIsAside(Broken):
    def facts_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Fact]:
        return [fact for fact in unit.facts.list(*args, **how) if fact.state is not FactState.ASIDE]


@caught_by("test_a_fact_set_aside_is_in_the_way_of_no_other")
class ComparesWithWhatIsAside(Broken):
    def facts_insert(self, unit: Unit, tenant: str, fact: Fact, **how: Any) -> bool:
        same = any(old.content == fact.content for old in of_owner(unit, tenant, fact.owner, FactState.ASIDE))
        return not same and unit.facts.insert(tenant, fact, **how)


@caught_by("test_a_fact_set_aside_is_in_the_way_of_no_other")
class TakesUpWhateverItIs(Broken):
    def facts_change(self, unit: Unit, tenant: str, fact: Fact, *, key: str, **how: Any) -> bool:
        return unit.facts.change(tenant, fact, key=f"{key} {fact.version}", **how)


# -- what says the same --------------------------------------------------------------------------------------------


class Says(Broken):
    """Finds something else by a key."""

    def facts_saying(
        self, unit: Unit, tenant: str, owner: str, subject: str, keys: Iterable[str]
    ) -> Sequence[tuple[str, Fact]]:
        return self.found(unit, tenant, owner, subject, list(keys))

    def found(
        self, unit: Unit, tenant: str, owner: str, subject: str, keys: Sequence[str], /
    ) -> Sequence[tuple[str, Fact]]:
        raise NotImplementedError


SAYING = "test_facts_that_say_the_same_are_found_by_their_key"


@caught_by(SAYING)
class SaysWhatIsBelieved(Says):
    def found(self, unit: Unit, *which: Any) -> Sequence[tuple[str, Fact]]:
        return [pair for pair in unit.facts.saying(*which) if pair[1].state is not FactState.ASIDE]


@caught_by(SAYING)
class SaysWhatIsClosed(Says):
    def found(
        self, unit: Unit, tenant: str, owner: str, subject: str, keys: Sequence[str]
    ) -> Sequence[tuple[str, Fact]]:
        closed = [(fact.content.lower(), fact) for fact in of_owner(unit, tenant, owner, FactState.CLOSED)]
        return [*unit.facts.saying(tenant, owner, subject, keys), *(pair for pair in closed if pair[0] in keys)]


@caught_by(SAYING)
class SaysTheOldestFirst(Says):
    def found(self, unit: Unit, *which: Any) -> Sequence[tuple[str, Fact]]:
        return unit.facts.saying(*which)[::-1]


@caught_by(SAYING)
class SaysItOfEverySubject(Says):
    def found(
        self, unit: Unit, tenant: str, owner: str, _subject: str, keys: Sequence[str]
    ) -> Sequence[tuple[str, Fact]]:
        return [pair for each in ("family", "") for pair in unit.facts.saying(tenant, owner, each, keys)]


# -- counting ------------------------------------------------------------------------------------------------------

COUNTED = "test_facts_are_counted_by_state"


@caught_by(COUNTED)
class CountsEverySubject(Broken):
    def facts_count(self, unit: Unit, tenant: str, owner: str, subject: str, state: FactState) -> int:
        subjects = dict.fromkeys((subject, "family"))
        return sum(unit.facts.count(tenant, owner, each, state) for each in subjects)


@caught_by(COUNTED)
class CountsEveryState(Broken):
    def facts_count(self, unit: Unit, tenant: str, owner: str, subject: str, _state: FactState) -> int:
        return sum(unit.facts.count(tenant, owner, subject, state) for state in FactState)


@caught_by(COUNTED)
class CountsDoubtsOneByOne(Broken):
    def facts_counts(self, unit: Unit, reader: Reader) -> Counts:
        found = [row for row in unit.facts.counts(reader) if row[0] is not FactState.REVIEW]
        waiting = unit.facts.list(reader, states=[FactState.REVIEW], limit=99)
        return [*found, *((FactState.REVIEW, fact.doubt, 1) for fact in waiting)]


@caught_by(COUNTED)
class CountsNoReasons(Broken):
    def facts_counts(self, unit: Unit, reader: Reader) -> Counts:
        rows = unit.facts.counts(reader)
        return [(state, None, sum(many for each, _, many in rows if each is state)) for state, _, _ in rows]


@caught_by(COUNTED)
class CountsWhatIsShared(Broken):
    def facts_counts(self, unit: Unit, reader: Reader) -> Counts:
        others = list(unit.facts.list(reader, states=[FactState.ACTIVE], limit=99))
        rest = [row for row in unit.facts.counts(reader) if row[0] is not FactState.ACTIVE]
        return [(FactState.ACTIVE, None, len(others)), *rest]


# -- how often it was said -----------------------------------------------------------------------------------------

HELD = "test_facts_come_with_how_often_they_were_said"


class Holds(Broken):
    """Tells something else of what is held."""

    def facts_held(self, unit: Unit, *which: Any, limit: int) -> Sequence[Held]:
        return self.held(unit, *which)[:limit]

    def held(self, unit: Unit, *which: Any) -> Sequence[Held]:
        return unit.facts.held(*which, limit=99)


@caught_by(HELD)
class CountsMessages(Holds):
    def held(self, unit: Unit, tenant: str, owner: str, *which: Any) -> Sequence[Held]:
        reader = Reader(tenant=tenant, user=owner)
        found = unit.facts.held(tenant, owner, *which, limit=99)
        whole = [unit.facts.get(reader, each.fact.id) for each in found]
        return [
            replace(each, sessions=len(fact.sources) if fact else 0) for each, fact in zip(found, whole, strict=True)
        ]


@caught_by(HELD)
class TellsWhenItWasMade(Holds):
    def held(self, unit: Unit, *which: Any) -> Sequence[Held]:
        return [replace(each, said_at=each.fact.created_at) for each in unit.facts.held(*which, limit=99)]


@caught_by(HELD)
class HoldsTheBestFirst(Holds):
    def held(self, unit: Unit, *which: Any) -> Sequence[Held]:
        return unit.facts.held(*which, limit=99)[::-1]


@caught_by(HELD)
class HoldsWhatWasSaid(Holds):
    def held(self, unit: Unit, *which: Any) -> Sequence[Held]:
        return [each for each in unit.facts.held(*which, limit=99) if each.sessions]


@caught_by(HELD)
class HoldsMoreThanIsAsked(Broken):
    def facts_held(self, unit: Unit, *which: Any, limit: int) -> Sequence[Held]:
        return unit.facts.held(*which, limit=2 * limit)


# -- what rests on what --------------------------------------------------------------------------------------------

RESTING = "test_what_nothing_but_some_messages_says_is_counted"
DAYS = "test_what_some_messages_say_is_counted_for_the_day_since_when_it_is_true"


@caught_by(RESTING)
class CountsWhatIsSaidElsewhereToo(Broken):
    def facts_resting(self, unit: Unit, tenant: str, session: UUID, span: SeqRange, **how: Any) -> int:
        places = [(session, seq) for seq in span]
        return unit.facts.resting(tenant, session, span, **how) + (
            len(unit.facts.with_sources(Reader(tenant=tenant, user="alice"), places)) > 2
        )


@caught_by(RESTING)
class CountsTheWholeSession(Broken):
    def facts_resting(self, unit: Unit, tenant: str, session: UUID, _span: SeqRange, **how: Any) -> int:
        return unit.facts.resting(tenant, session, SeqRange(0, 1000), **how)


@caught_by(RESTING)
class CountsWhatItsOwnerWants(Broken):
    def facts_resting(self, unit: Unit, tenant: str, session: UUID, span: SeqRange, **how: Any) -> int:
        pinned = unit.facts.get(Reader(tenant=tenant, user="alice"), id_of(9))
        return unit.facts.resting(tenant, session, span, **how) + (pinned is not None)


@caught_by(RESTING)
class CountsForAnyTenant(Broken):
    def facts_resting(self, unit: Unit, _tenant: str, session: UUID, span: SeqRange, **how: Any) -> int:
        return unit.facts.resting(TENANT, session, span, **how)


@caught_by(DAYS)
class CountsEveryDay(Broken):
    def facts_resting(self, unit: Unit, *which: Any, day: date | None = None) -> int:  # noqa: ARG002 - the law names it
        return unit.facts.resting(*which)


@caught_by(DAYS)
class CountsTwoDays(Broken):
    def facts_resting(self, unit: Unit, *which: Any, day: date | None = None) -> int:
        if day is None:
            return unit.facts.resting(*which)
        return sum(unit.facts.resting(*which, day=each) for each in (day, day + timedelta(days=1)))
