"""I1, I4, I6: facts are kept whole, once, and with all that they ever said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from anaphora.domain.facts import Fact, FactAction, FactState, Visibility
from anaphora.domain.messages import Trust
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
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
    kept,
    known,
    learned_from,
    listed,
    made,
    sources,
    version_of,
    versions,
    with_terms,
)
from anaphora.testing.conformance.store_laws.tools import TENANT, after, key_of

SECOND = key_of(session="s2")
#: with everything that a fact can have
WHOLE = fact(
    2,
    "Zoë's cat ate 100% of Bob's \"fish\" at 19:00 — 猫🐟\n" + "x" * 400,
    agent=None,
    subject="family",
    category="a category of an application",
    importance=10,
    visibility=Visibility.SHARED,
    state=FactState.CLOSED,
    pinned=True,
    trust=Trust.OWNER_CONFIRMED,
    doubt="why not?",
    valid_to=after(7),
    superseded_by=id_of(1),
)


async def at_once(one: Store, two: Store, new: Sequence[Fact]) -> list[bool]:
    """Keep facts with one content key, all at once, through both stores."""
    stores = (one, two)
    given = await asyncio.gather(*(kept(stores[at % 2], item, key="same") for at, item in enumerate(new)))
    return [said for (said,) in given]


def counted(unit: Unit) -> int:
    """Keep a fact that says how many there are; that number."""
    unit.facts.alone(TENANT, "alice")
    count = len(unit.facts.list(ALICE, states=EVERY_STATE, limit=99))
    new = fact(count, f"Alice has {count} facts.")
    assert unit.facts.insert(TENANT, new, key=str(count), terms=(), action=FactAction.ADDED)
    return count


class FactLaws(StoreLaws):
    """Keeping facts."""

    async def test_a_fact_comes_back_as_it_was_kept(self, tmp_path: Path) -> None:
        """I1, I7: whole, with its sources, those learned first first, after closing too."""
        async with self.opened(tmp_path) as store:
            older, newer = await sources(store, 3, 1)
            other, by_rule = await sources(store, 0, 9, key=SECOND, first=20)
            by_rule = replace(by_rule, model=None, prompt_version=None, trust=Trust.OTHER, quote="é'\n")
            plain = fact(sources=(by_rule, newer, older, other))
            whole = replace(WHOLE, subject="garden")
            assert await kept(store, plain, whole) == [True, True]
        async with self.opened(tmp_path) as store:
            expected = replace(plain, sources=(older, newer, other, by_rule))
            assert await found(store, plain) == expected
            assert await found(store, whole) == whole
            assert await listed(store, states=EVERY_STATE) == [whole, expected]

    async def test_what_a_fact_was_learned_from_is_its_owners_alone_to_see(self, tmp_path: Path) -> None:
        """I11: whom it is shared with sees the fact without its sources."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice", "bob")
            said = tuple(await sources(store, 0, 1))
            shared = fact(subject="family", visibility=Visibility.SHARED, sources=said)
            await kept(store, shared, fact(2, "Bob too.", owner="bob", subject="family"))
            assert await found(store, shared) == shared
            bare = replace(shared, sources=())
            assert await found(store, shared, BOB) == bare
            assert (await listed(store, BOB))[-1] == bare

    async def test_an_owner_has_a_fact_of_one_content_and_subject_once(self, tmp_path: Path) -> None:
        """I4: while it is active or in review; the second is refused, and nothing of it is kept."""
        async with self.opened(tmp_path) as store:
            for at, state in enumerate((FactState.ACTIVE, FactState.REVIEW)):
                first = fact(10 + at, owner=f"user{at}", state=state)
                mine = Reader(tenant=TENANT, user=f"user{at}")
                (said,) = await sources(store, 0)
                again = replace(first, id=id_of(20 + at), state=FactState.ACTIVE, sources=(said,))
                assert await kept(store, first, again, terms=["tea"]) == [True, False]
                assert await kept(store, replace(again, state=FactState.REVIEW), terms=["other"]) == [False]
                assert await listed(store, mine, states=EVERY_STATE) == [first]
                assert await versions(store, again) == []
                assert await with_terms(store, "other", reader=mine) == []
                assert await learned_from(store, [(said.session_id, 0)], mine) == {}

    async def test_one_content_may_be_in_several_facts_that_do_not_meet(self, tmp_path: Path) -> None:
        """I4, I11: of another owner, subject or tenant, or if only one of them is not closed."""
        first = fact(1)
        async with self.opened(tmp_path) as store:
            others = [
                fact(2, owner="bob"),
                fact(3, subject="family"),
                fact(4, state=FactState.CLOSED),
                fact(5, state=FactState.CLOSED),
            ]
            assert await kept(store, first, *others, key="same") == [True] * 5
            assert await kept(store, first, tenant="t2", key="same") == [True]
            assert await changed(store, following(first, state=FactState.CLOSED))
            assert await kept(store, fact(6), key="same") == [True]
            assert [item.id for item in await listed(store)] == [id_of(6), id_of(3)]
            assert len(await listed(store, states=EVERY_STATE)) == 5

    async def test_of_facts_of_one_content_at_once_one_is_kept(self, tmp_path: Path) -> None:
        """I4: the database, not a check, sees to it, whoever writes."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            said = await at_once(one, two, [fact(number) for number in range(12)])
            assert said.count(True) == 1
            assert [item.id for item in await listed(two, states=EVERY_STATE)] == [id_of(said.index(True))]

    async def test_who_is_alone_with_an_owners_facts_sees_what_others_kept_before(self, tmp_path: Path) -> None:
        """I4: who compares what is known with what is new is alone between the two."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            counts = await asyncio.gather(*(store.write(TENANT, counted) for _ in range(8) for store in (one, two)))
            assert sorted(counts) == list(range(16))
            assert len(await listed(one)) == 16

    async def test_a_fact_changes_to_its_next_version_only(self, tmp_path: Path) -> None:
        """I6: an older one, the same one, one that skips some and another tenant's change nothing."""
        async with self.opened(tmp_path) as store:
            first = fact()
            second = following(first, content="Alice likes cocoa.")
            await kept(store, first)
            await kept(store, first, tenant="t2")
            assert await changed(store, second)
            for number in (0, 1, 2, 4, 9):
                late = following(second, content="Alice likes beer.", version=max(1, number))
                assert not await changed(store, late), number
            assert not await changed(store, following(second, id=id_of(9), content="Alice likes beer."))
            assert not await changed(store, following(second, content="Alice likes beer."), tenant="t2")
            assert await found(store, first) == second
            assert await found(store, first, replace(ALICE, tenant="t2")) == first
            assert [entry.version for entry in await versions(store, first)] == [1, 2]
            assert await with_terms(store, "beer", "cocoa") == [(first.id, 1)]

    async def test_every_version_of_a_fact_is_noted_whole(self, tmp_path: Path) -> None:
        """I1: what was done, when, what the fact then was, and what an undo brought back; oldest first."""
        async with self.opened(tmp_path) as store:
            await made(store, "garden", "alice")
            one = fact(subject="garden", doubt="who knows", state=FactState.REVIEW)
            two = following(one, doubt=None, state=FactState.ACTIVE, trust=Trust.OWNER_CONFIRMED)
            three = following(
                two, content="Alice grows tea.", category="hobby", importance=9, visibility=Visibility.SHARED
            )
            four = following(three, pinned=True)
            five = following(four, state=FactState.CLOSED, valid_to=after(-5), superseded_by=id_of(77))
            six = replace(two, version=6, updated_at=after(99))
            await kept(store, one, action=FactAction.LEARNED)
            assert await changed(store, two, FactAction.CONFIRMED)
            assert await changed(store, three, FactAction.EDITED)
            assert await changed(store, four, FactAction.PINNED)
            assert await changed(store, five, FactAction.SUPERSEDED)
            assert await found(store, one) == five
            assert await changed(store, six, FactAction.UNDONE, restores=2)
            assert await found(store, one) == six
            assert await versions(store, one) == [
                version_of(one, FactAction.LEARNED),
                version_of(two, FactAction.CONFIRMED),
                version_of(three, FactAction.EDITED),
                version_of(four, FactAction.PINNED),
                version_of(five, FactAction.SUPERSEDED),
                version_of(six, FactAction.UNDONE, restores=2),
            ]
            assert await versions(store, one, tenant="t2") == []

    async def test_a_fact_does_not_change_to_what_another_says(self, tmp_path: Path) -> None:
        """I4: neither by its content nor by being opened again; a closed one, or its own, is in nobody's way."""
        async with self.opened(tmp_path) as store:
            tea, rum = fact(1, "Tea."), fact(2, "Rum.")
            closed, theirs = fact(3, "Ale.", state=FactState.CLOSED), fact(4, "Gin.", owner="bob")
            assert await kept(store, tea, rum, closed, theirs) == [True] * 4
            for state in (FactState.ACTIVE, FactState.REVIEW):
                assert not await changed(store, following(rum, content="Tea.", state=state))
            assert await found(store, rum) == rum
            assert len(await versions(store, rum)) == 1
            assert dict(await with_terms(store, "tea", "rum")) == {rum.id: 1, tea.id: 1}
            ale = following(rum, content="Ale.")
            assert await changed(store, ale)
            assert not await changed(store, following(closed, state=FactState.ACTIVE))
            assert await found(store, closed) == closed
            assert await changed(store, following(ale, pinned=True))
            assert await changed(store, following(tea, content="Gin."))

    async def test_of_facts_that_change_to_one_content_at_once_one_does(self, tmp_path: Path) -> None:
        """I4: the others are refused, and are as they were."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            old = [fact(number, f"{number}.") for number in range(8)]
            await kept(one, *old)
            new = [following(item, content="The same.") for item in old]
            said = await asyncio.gather(*(changed((one, two)[at % 2], item) for at, item in enumerate(new)))
            assert said.count(True) == 1
            expected = [new[at] if said[at] else old[at] for at in range(8)]
            assert await listed(two) == expected[::-1]
            assert [len(await versions(two, item)) for item in old] == [1 + each for each in said]

    async def test_a_changed_fact_is_found_by_what_it_says_now(self, tmp_path: Path) -> None:
        """I1: the terms that it no longer has do not find it, each that it has now does, once."""
        async with self.opened(tmp_path) as store:
            first = fact(content="Alice likes green tea.")
            await kept(store, first)
            await kept(store, fact(2, "Bob likes green tea.", owner="bob"))
            assert await changed(store, following(first, content="Alice hates green rum rum."))
            for term, counts in {"likes": [], "tea": [], "green": [1], "hates": [1], "rum": [1]}.items():
                assert await with_terms(store, term) == [(first.id, count) for count in counts], term
            assert await known(store, "rum") == [first.id]
            assert await with_terms(store, "likes", "tea", reader=BOB) == [(id_of(2), 2)]
