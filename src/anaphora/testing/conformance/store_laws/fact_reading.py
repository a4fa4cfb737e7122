"""I11: who reads which facts, in which order, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from anaphora.domain.facts import FactState, Visibility
from anaphora.domain.messages import Trust
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import (
    ALICE,
    BOB,
    EVERY_STATE,
    changed,
    fact,
    following,
    found,
    id_of,
    joined,
    kept,
    known,
    learned_from,
    left,
    listed,
    made,
    sources,
    standing,
    versions,
    with_terms,
)
from anaphora.testing.conformance.store_laws.tools import TENANT, key_of

SHARED = {"subject": "family", "visibility": Visibility.SHARED}
#: names that a careless comparison takes for one another, and for patterns
ALIKE = (
    "al",
    "alice",
    "Alice",
    "alice ",
    "%",
    "_",
    "al%",
    "alic_",
    "*",
    "a'l",
    'a"l',
    "a\\l",
    "ali",
    "alicé",
    "alice\u0301",
)


def ids(*numbers: int) -> list[UUID]:
    """The ids of facts with these numbers."""
    return [id_of(number) for number in numbers]


async def numbers(store: Store, reader: Reader = ALICE, **how: Any) -> list[UUID]:
    """The ids of the facts that a reader may see."""
    return [item.id for item in await listed(store, reader, **how)]


async def sees(store: Store, reader: Reader, number: int) -> bool:
    """Whether a reader sees a fact that says "tea"; by whichever way it is asked for."""
    item = fact(number)
    ways = {
        "get": await found(store, item, reader) is not None,
        "list": item.id in [seen.id for seen in await listed(store, reader, states=EVERY_STATE)],
        "standing": item.id in await standing(store, reader),
        "with_terms": item.id in dict(await with_terms(store, "tea", reader=reader)),
    }
    assert len(set(ways.values())) == 1, f"{reader}: {ways}"
    return ways["get"]


class FactReadingLaws(StoreLaws):
    """Who sees which facts."""

    async def test_facts_are_listed_newest_first_page_by_page(self, tmp_path: Path) -> None:
        """Own ones and those of others together; a page begins behind the fact that it is asked for."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            for number in (4, 1, 6, 3, 2, 5):
                await kept(store, fact(number, f"{number}.", owner="alice" if number % 3 else "bob", **SHARED))
            assert await numbers(store) == ids(6, 5, 4, 3, 2, 1)
            assert await numbers(store, limit=4) == ids(6, 5, 4, 3)
            assert await numbers(store, limit=4, after=id_of(3)) == ids(2, 1)
            assert await numbers(store, limit=2, after=id_of(5)) == ids(4, 3)
            assert await numbers(store, after=id_of(1)) == []
            assert await numbers(store, after=id_of(99)) == ids(6, 5, 4, 3, 2, 1)

    async def test_a_list_of_facts_can_be_narrowed(self, tmp_path: Path) -> None:
        """By their states, by category, and by whom they are about."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            await kept(
                store,
                fact(1, "1.", category="hobby"),
                fact(2, "2.", state=FactState.REVIEW, category="hobby"),
                fact(3, "3.", state=FactState.CLOSED),
                fact(4, "4.", subject="garden"),
                fact(5, "5.", owner="bob", category="hobby", **SHARED),
                fact(6, "6.", subject="family"),
            )
            assert await numbers(store) == ids(6, 5, 4, 1)
            assert await numbers(store, states=[FactState.REVIEW, FactState.CLOSED]) == ids(3, 2)
            assert await numbers(store, states=[]) == []
            assert await numbers(store, category="hobby") == ids(5, 1)
            assert await numbers(store, states=EVERY_STATE, category="hobby") == ids(5, 2, 1)
            for about, expected in {("",): ids(1), ("garden",): ids(4), ("family", ""): ids(6, 5, 1), (): []}.items():
                reader = replace(ALICE, about=about)
                assert await numbers(store, reader) == expected
                assert sorted(await standing(store, reader)) == sorted(expected)

    async def test_an_agent_sees_the_facts_that_it_learned_and_those_that_were_added(self, tmp_path: Path) -> None:
        """What another agent learned of the user is left out; what is shared is there whoever learned it."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            await kept(
                store,
                fact(1, "Tea one.", agent="cook"),
                fact(2, "Tea two.", agent="coo"),
                fact(3, "Tea three.", agent=None),
                fact(4, "Tea four.", owner="bob", agent="driver", **SHARED),
            )
            for agent, expected in {"cook": ids(4, 3, 1), "coo": ids(4, 3, 2), "c%": ids(4, 3)}.items():
                reader = replace(ALICE, agent=agent)
                assert await numbers(store, reader) == expected
                for number in range(1, 5):
                    assert await sees(store, reader, number) == (id_of(number) in expected)

    async def test_nobody_sees_facts_of_other_users_and_tenants(self, tmp_path: Path) -> None:
        """I11: neither the fact nor its history, its words or what it was learned from."""
        theirs = Reader(tenant="t2", user="alice")
        async with self.opened(tmp_path) as store:
            said = await sources(store, 0)
            place = (said[0].session_id, 0)
            own = fact(sources=tuple(said))
            await kept(store, own)
            await kept(store, fact(2, "Tea.", owner="bob"), tenant="t2")
            assert await sees(store, ALICE, 1)
            assert set(await learned_from(store, [place])) == {own.id}
            for reader in (BOB, theirs, replace(theirs, user="bob")):
                assert not await sees(store, reader, 1)
                assert await learned_from(store, [place], reader) == {}
            assert await versions(store, own, tenant="t2") == []
            assert await known(store, "tea", owner="bob") == await known(store, "tea", tenant="t2") == []

    async def test_a_shared_fact_is_seen_by_members_as_long_as_it_is_shared(self, tmp_path: Path) -> None:
        """I11: only while it is shared and active and they are members, at the moment when they ask."""
        carol = Reader(tenant=TENANT, user="carol")
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            item = fact(subject="family")
            await kept(store, item)
            steps: Sequence[tuple[dict[str, Any], bool]] = (
                ({"visibility": Visibility.SHARED}, True),
                ({"visibility": Visibility.PRIVATE}, False),
                ({"visibility": Visibility.SHARED}, True),
                ({"state": FactState.REVIEW}, False),
                ({"state": FactState.ACTIVE}, True),
                ({"state": FactState.CLOSED}, False),
                ({"state": FactState.ACTIVE}, True),
            )
            for how, expected in steps:
                item = following(item, **how)
                assert await changed(store, item)
                assert await sees(store, BOB, 1) == expected, how
                assert not await sees(store, carol, 1)
            await joined(store, "carol")
            await left(store, "bob")
            assert [await sees(store, reader, 1) for reader in (BOB, carol)] == [False, True]
            await left(store, "alice")
            await joined(store, "bob")
            assert [await sees(store, reader, 1) for reader in (ALICE, BOB, carol)] == [True, True, True]

    async def test_a_shared_fact_is_seen_by_members_of_its_own_subject_and_tenant(self, tmp_path: Path) -> None:
        """I11: not by members of another, nor by those of a subject of the same name elsewhere."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice")
            await made(store, "club", "alice", "bob")
            await made(store, "family", "alice", "bob", tenant="t2")
            await kept(
                store,
                fact(1, "Tea one.", **SHARED),
                fact(2, "Tea two.", subject="club", visibility=Visibility.SHARED),
                fact(3, "Tea three.", visibility=Visibility.SHARED),
            )
            assert [await sees(store, BOB, number) for number in (1, 2, 3)] == [False, True, False]
            theirs = Reader(tenant="t2", user="bob")
            assert [await sees(store, theirs, number) for number in (1, 2, 3)] == [False, False, False]

    async def test_facts_of_users_and_subjects_with_similar_names_are_not_confused(self, tmp_path: Path) -> None:
        """I11: names are names, not patterns: each sees its own, and what is shared with its own subject."""
        async with self.opened(tmp_path) as store:
            for number, name in enumerate(ALIKE):
                await made(store, name, f"member of {name}")
                await kept(store, fact(number, "Own tea.", owner=name))
                await kept(
                    store, fact(100 + number, f"Tea {number}.", subject=name, visibility=Visibility.SHARED, owner="x")
                )
            for number, name in enumerate(ALIKE):
                reader, member = Reader(tenant=TENANT, user=name), Reader(tenant=TENANT, user=f"member of {name}")
                assert await numbers(store, reader, states=EVERY_STATE) == ids(number), name
                assert await numbers(store, member, states=EVERY_STATE) == ids(100 + number), name
                assert await sees(store, reader, number)
                assert await sees(store, member, 100 + number)
                assert await known(store, "tea", owner=name) == ids(number)
                assert await known(store, owner="x", subject=name) == ids(100 + number)

    async def test_standing_facts_come_first_that_a_prompt_wants_most(self, tmp_path: Path) -> None:
        """Pinned, of a category that always counts, important, stood for: of own and of others up to a limit each."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            await kept(
                store,
                fact(1, "1.", importance=1, pinned=True),
                fact(2, "2.", importance=9, category="instruction"),
                fact(3, "3.", importance=10),
                fact(4, "4.", importance=4, trust=Trust.OWNER_CONFIRMED),
                fact(5, "5.", importance=4),
                fact(6, "6.", pinned=True, importance=10, state=FactState.REVIEW),
                fact(7, "7.", pinned=True, importance=10, state=FactState.CLOSED),
                fact(8, "8.", owner="bob", importance=2, **SHARED),
                fact(9, "9.", owner="bob", pinned=True, **SHARED),
                fact(10, "10.", owner="bob", importance=3, **SHARED),
            )
            assert await standing(store) == ids(1, 2, 3, 4, 5, 9, 10, 8)
            assert await standing(store, limit=2) == ids(1, 2, 9, 10)
            assert await changed(store, following(fact(5, "5."), pinned=True, importance=10))
            assert await standing(store, limit=1) == ids(5, 9)

    async def test_facts_are_found_by_their_terms_those_with_most_first(self, tmp_path: Path) -> None:
        """Only active ones, each with how many of the terms it has; of own and of others up to a limit each."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            await kept(
                store,
                fact(1, "Green tea."),
                fact(2, "Hot green tea."),
                fact(3, "Tea tea tea."),
                fact(4, "Rum."),
                fact(5, "Hot hot green tea.", state=FactState.REVIEW),
                fact(6, "Hot and green tea.", state=FactState.CLOSED),
                fact(7, "Bob: tea.", owner="bob", **SHARED),
                fact(8, "Bob: green tea.", owner="bob", **SHARED),
                fact(9, "Bob: hot green tea.", owner="bob", subject="family"),
            )
            every = [*zip(ids(2, 1, 3), (3, 2, 1), strict=True), (id_of(8), 2), (id_of(7), 1)]
            assert await with_terms(store, "hot", "green", "tea") == every
            assert await with_terms(store, "hot", "green", "tea", limit=1) == [every[0], every[3]]
            assert await with_terms(store, "tea", "tea", "nothing", "te", "%") == [
                (uid, 1) for uid, _ in await with_terms(store, "tea")
            ]
            assert await with_terms(store, "te") == await with_terms(store) == []

    async def test_facts_are_found_by_what_they_were_learned_from(self, tmp_path: Path) -> None:
        """Own active ones, each once, with one of the messages that were asked for."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            one, two, three = await sources(store, 1, 2, 3)
            (away,) = await sources(store, 1, key=key_of(session="s2"))
            (theirs,) = await sources(store, 1, key=key_of("bob"))
            await kept(
                store,
                fact(1, "1.", sources=(one, two)),
                fact(2, "2.", sources=(two, three)),
                fact(3, "3.", sources=(away,)),
                fact(4, "4.", sources=(one,), state=FactState.CLOSED),
                fact(5, "5.", sources=(one,), state=FactState.REVIEW),
                fact(6, "6.", sources=(theirs,), owner="bob", **SHARED),
            )
            here, there = one.session_id, away.session_id
            asked = [(here, 1), (here, 2), (there, 2), (here, 2), (theirs.session_id, 1)]
            places = await learned_from(store, asked)
            assert places.keys() == set(ids(1, 2))
            assert places[id_of(1)] in {(here, 1), (here, 2)}
            assert places[id_of(2)] == (here, 2)
            assert await learned_from(store, [(there, 1), (here, 3)]) == {id_of(3): (there, 1), id_of(2): (here, 3)}
            assert set(await learned_from(store, [(theirs.session_id, 1), (here, 1)], BOB)) == {id_of(6)}
            assert await learned_from(store, []) == await learned_from(store, [(here, 9), (there, 0)]) == {}

    async def test_known_facts_of_a_subject_come_by_terms_and_then_by_standing(self, tmp_path: Path) -> None:
        """Active or in review, of the owner and the subject alone, up to a limit."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            await kept(
                store,
                fact(1, "Rum.", importance=2),
                fact(2, "Gin.", importance=10),
                fact(3, "Hot tea.", importance=1),
                fact(4, "Cold tea.", importance=7, state=FactState.REVIEW),
                fact(5, "Green tea.", importance=3),
                fact(6, "Hot green tea.", importance=1, agent="cook", state=FactState.CLOSED),
                fact(7, "Hot green tea.", importance=1, subject="family"),
                fact(8, "Hot green tea.", owner="bob", **SHARED),
            )
            every = ids(3, 4, 5, 2, 1)
            assert await known(store, "hot", "tea") == every
            assert await known(store, "hot", "tea", limit=2) == every[:2]
            assert await known(store, "hot", "tea", limit=4) == every[:4]
            assert await known(store) == ids(2, 4, 5, 1, 3)
            assert await known(store, "hot", subject="family") == ids(7)
            assert await known(store, "hot", owner="bob", subject="family") == ids(8)
            assert await known(store, "hot", owner="bob") == await known(store, tenant="t2") == []
