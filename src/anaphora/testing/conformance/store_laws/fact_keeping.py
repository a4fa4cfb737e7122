"""I16: facts that are set aside stand nowhere; and what decides which facts are kept is counted as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from anaphora.domain.facts import Fact, FactAction, FactState, Visibility
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import (
    ALICE,
    BOB,
    changed,
    fact,
    following,
    found,
    id_of,
    kept,
    known,
    learned_from,
    listed,
    made,
    sources,
    standing,
    with_terms,
)
from anaphora.testing.conformance.store_laws.tools import TENANT, after, key_of

ASIDE: dict[str, Any] = {"state": FactState.ASIDE, "doubt": "more than 500 facts"}
SECOND = key_of(session="s2")


async def count(
    store: Store,
    state: FactState = FactState.ACTIVE,
    *,
    owner: str = "alice",
    subject: str = "",
    tenant: str = TENANT,
) -> int:
    """How many facts an owner has of a subject in a state."""
    return await store.read(tenant, lambda unit: unit.facts.count(tenant, owner, subject, state))


async def counts(store: Store, reader: Reader = ALICE) -> dict[tuple[FactState, str | None], int]:
    """How many facts of the reader's own stand where."""
    rows = await store.read(reader.tenant, lambda unit: unit.facts.counts(reader))
    assert len({row[:2] for row in rows}) == len(rows), "two numbers for the same"
    return {(state, reason): many for state, reason, many in rows}


async def held(
    store: Store,
    state: FactState = FactState.ACTIVE,
    *,
    owner: str = "alice",
    subject: str = "",
    tenant: str = TENANT,
    limit: int = 99,
) -> list[tuple[UUID, int, datetime | None]]:
    """The ids of facts, in how many sessions they were said, and when they were last learned."""
    rows = await store.read(tenant, lambda unit: unit.facts.held(tenant, owner, subject, state, limit=limit))
    return [(each.fact.id, each.sessions, each.said_at) for each in rows]


async def saying(
    store: Store, *keys: str, owner: str = "alice", subject: str = "", tenant: str = TENANT
) -> list[tuple[str, UUID]]:
    """Content keys, with the ids of the facts that have them."""
    rows = await store.read(tenant, lambda unit: unit.facts.saying(tenant, owner, subject, iter(keys)))
    return [(key, item.id) for key, item in rows]


async def resting(
    store: Store, session: UUID, start: int, stop: int, *, day: date | None = None, tenant: str = TENANT
) -> int:
    """How many facts nothing but these messages says."""
    span = SeqRange(start, stop)
    return await store.read(tenant, lambda unit: unit.facts.resting(tenant, session, span, day=day))


def ids(found: Sequence[tuple[UUID, int, datetime | None]]) -> list[UUID]:
    """The ids alone."""
    return [uid for uid, _, _ in found]


class FactKeepingLaws(StoreLaws):
    """Facts where there are more than are kept."""

    async def test_a_fact_set_aside_is_listed_when_asked_for_and_found_by_no_other_way(self, tmp_path: Path) -> None:
        """I16: not by standing, words or messages, not among what is known, and by nobody it was shared with."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            (said,) = await sources(store, 1)
            shared: dict[str, Any] = {"subject": "family", "visibility": Visibility.SHARED, "sources": (said,)}
            item = fact(content="Tea.", importance=10, **shared)
            await kept(store, item)
            for how, seen in (({}, True), (ASIDE, False), ({"state": FactState.ACTIVE, "doubt": None}, True)):
                if how:
                    item = following(item, **how)
                    assert await changed(store, item, FactAction.TAKEN_UP if seen else FactAction.SET_ASIDE)
                expected = [item.id] if seen else []
                assert [each.id for each in await listed(store)] == expected
                assert await standing(store) == expected
                assert [uid for uid, _ in await with_terms(store, "tea")] == expected
                assert list(await learned_from(store, [(said.session_id, 1)])) == expected
                assert await known(store, "tea", subject="family") == expected
                assert await found(store, item) == item
                assert await listed(store, states=[FactState.ASIDE]) == ([] if seen else [item])
                assert (await found(store, item, BOB) is not None) == seen
                assert [each.id for each in await listed(store, BOB, states=tuple(FactState))] == expected
                assert await standing(store, BOB) == [uid for uid, _ in await with_terms(store, "tea", reader=BOB)]
                assert await standing(store, BOB) == expected

    async def test_a_fact_set_aside_is_in_the_way_of_no_other(self, tmp_path: Path) -> None:
        """I4: another may say the same; then the one that was set aside cannot come back."""
        async with self.opened(tmp_path) as store:
            first, second = fact(1, "Tea.", **ASIDE), fact(2, "Tea.")
            assert await kept(store, first, second, fact(3, "Tea.", **ASIDE)) == [True] * 3
            assert await kept(store, fact(4, "Tea.")) == [False]
            assert not await changed(store, following(first, state=FactState.ACTIVE, doubt=None))
            assert not await changed(store, following(first, state=FactState.REVIEW))
            assert await found(store, first) == first
            assert await changed(store, following(second, **ASIDE))
            assert await changed(store, following(first, state=FactState.ACTIVE, doubt=None))

    async def test_facts_that_say_the_same_are_found_by_their_key(self, tmp_path: Path) -> None:
        """I4: those of the owner and subject that are not closed, each with its key, the newest first."""
        async with self.opened(tmp_path) as store:
            await kept(
                store,
                fact(1, "Tea.", **ASIDE),
                fact(2, "Tea."),
                fact(3, "Rum.", state=FactState.REVIEW),
                fact(4, "Gin.", state=FactState.CLOSED),
                fact(5, "Ale."),
                fact(6, "Tea.", subject="family"),
                fact(7, "Tea.", owner="bob"),
            )
            await kept(store, fact(8, "Tea."), tenant="t2")
            assert await saying(store, "tea.", "rum.", "gin.", "tea.", "te%") == [
                ("rum.", id_of(3)),
                ("tea.", id_of(2)),
                ("tea.", id_of(1)),
            ]
            assert await saying(store, "tea.", subject="family") == [("tea.", id_of(6))]
            assert await saying(store) == await saying(store, "tea") == []

    async def test_facts_are_counted_by_state(self, tmp_path: Path) -> None:
        """I16: of one owner and subject; and of a reader's own, those set aside by reason."""
        low = "importance 1 is below 7"
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            await kept(
                store,
                fact(1, "1."),
                fact(2, "2.", agent=None),
                fact(3, "3.", state=FactState.REVIEW, doubt="who knows"),
                fact(4, "4.", state=FactState.REVIEW, doubt="nobody"),
                fact(5, "5.", state=FactState.CLOSED),
                fact(6, "6.", **ASIDE),
                fact(7, "7.", **ASIDE),
                fact(8, "8.", state=FactState.ASIDE, doubt=low),
                fact(9, "9.", subject="family", visibility=Visibility.SHARED),
                fact(10, "10.", owner="bob", subject="family", visibility=Visibility.SHARED),
            )
            await kept(store, fact(11, "11."), tenant="t2")
            expected = {"active": 2, "review": 2, "closed": 1, "aside": 3}
            assert {state.value: await count(store, state) for state in FactState} == expected
            assert await count(store, subject="family") == await count(store, owner="bob", subject="family") == 1
            assert await count(store, owner="bob") == await count(store, FactState.REVIEW, tenant="t2") == 0
            told = {
                (FactState.ACTIVE, None): 3,
                (FactState.REVIEW, None): 2,
                (FactState.CLOSED, None): 1,
                (FactState.ASIDE, ASIDE["doubt"]): 2,
                (FactState.ASIDE, low): 1,
            }
            assert await counts(store) == told
            assert await counts(store, replace(ALICE, about=("",))) == told | {(FactState.ACTIVE, None): 2}
            assert await counts(store, replace(ALICE, about=("family",))) == {(FactState.ACTIVE, None): 1}
            assert await counts(store, Reader(tenant=TENANT, user="carol")) == {}

    async def test_facts_come_with_how_often_they_were_said(self, tmp_path: Path) -> None:
        """I16: in how many sessions, and when last; those of lowest standing first, of one state, up to a limit."""
        async with self.opened(tmp_path) as store:
            one, two = await sources(store, 1, 2)
            (away,) = await sources(store, 1, key=SECOND, first=50)
            await kept(
                store,
                fact(1, "1.", importance=9, sources=(one, two)),
                fact(2, "2.", importance=2, sources=(away, two)),
                fact(3, "3.", importance=1, agent=None, trust=Trust.OWNER_CONFIRMED),
                fact(4, "4.", importance=1, pinned=True, sources=(one,)),
                fact(5, "5.", sources=(one,), **ASIDE),
                fact(6, "6.", sources=(one,), subject="family"),
                fact(7, "7.", owner="bob"),
            )
            every = [
                (id_of(3), 0, None),
                (id_of(2), 2, away.learned_at),
                (id_of(1), 1, two.learned_at),
                (id_of(4), 1, one.learned_at),
            ]
            assert await held(store) == every
            assert await held(store, limit=2) == every[:2]
            assert await held(store, FactState.ASIDE) == [(id_of(5), 1, one.learned_at)]
            assert ids(await held(store, subject="family")) == [id_of(6)]
            assert ids(await held(store, owner="bob")) == [id_of(7)]
            assert await held(store, tenant="t2") == await held(store, FactState.CLOSED) == []

    async def test_what_nothing_but_some_messages_says_is_counted(self, tmp_path: Path) -> None:
        """I16: not what is said elsewhere too, nor what its owner wants, nor what no prompt could have."""
        async with self.opened(tmp_path) as store:
            one, two, three = await sources(store, 1, 2, 3)
            (away,) = await sources(store, 1, key=SECOND)
            here = one.session_id
            how: Sequence[tuple[Fact, bool]] = (
                (fact(1, "1.", sources=(one,)), True),
                (fact(2, "2.", sources=(one, two)), True),
                (fact(3, "3.", sources=(one,), state=FactState.REVIEW), True),
                (fact(4, "4.", sources=(one,), owner="bob"), True),
                (fact(5, "5.", sources=(one, three)), False),
                (fact(6, "6.", sources=(two, away)), False),
                (fact(7, "7.", sources=(one,), **ASIDE), False),
                (fact(8, "8.", sources=(one,), state=FactState.CLOSED), False),
                (fact(9, "9.", sources=(one,), pinned=True), False),
                (fact(10, "10.", sources=(one,), trust=Trust.OWNER_CONFIRMED), False),
                (fact(11, "11.", sources=(away,)), False),
            )
            expected = 0
            for item, counts in how:
                await kept(store, item)
                expected += counts
                assert await resting(store, here, 1, 3) == expected, item.content
            assert await resting(store, here, 1, 2) == 3
            assert await resting(store, here, 1, 4) == 5
            assert await resting(store, here, 2, 3) == await resting(store, here, 4, 9) == 0
            assert await resting(store, away.session_id, 0, 9) == 1
            assert await resting(store, here, 1, 3, tenant="t2") == 0

    async def test_what_some_messages_say_is_counted_for_the_day_since_when_it_is_true(self, tmp_path: Path) -> None:
        """I16: a day is one of UTC, its first moment is in it and the next day's is not."""
        async with self.opened(tmp_path) as store:
            (one,) = await sources(store, 1)
            noon = after(0).replace(hour=12, minute=0, second=0, microsecond=0)
            midnight = noon - timedelta(hours=12)
            moments = (
                midnight - timedelta(microseconds=1),
                midnight,
                noon,
                midnight + timedelta(days=1, microseconds=-1),
                midnight + timedelta(days=1),
            )
            for number, moment in enumerate(moments):
                await kept(store, fact(number, f"{number}.", sources=(one,), valid_from=moment))
            days = [noon.date() + timedelta(days=shift) for shift in (-2, -1, 0, 1, 2)]
            assert [await resting(store, one.session_id, 0, 9, day=day) for day in days] == [0, 1, 3, 1, 0]
