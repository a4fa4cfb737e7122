"""I8, I12: what facts were learned from can be unsaid, and a fact that is gone leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from anaphora.domain.facts import Fact, FactAction, FactState, Source, Subject
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import (
    ALICE,
    EVERY_STATE,
    changed,
    chunk,
    chunks_of,
    fact,
    following,
    found,
    id_of,
    kept,
    known,
    learned_from,
    listed,
    sources,
    unsaid,
    version_of,
    versions,
    with_terms,
)
from anaphora.testing.conformance.store_laws.tools import TENANT, after, key_of, row_of

SECOND = key_of(session="s2")
THEIRS = key_of(tenant="t2")


async def buried(
    store: Store, *, tenant: str = TENANT, owner: str = "alice", subject: str = "", limit: int = 99
) -> list[tuple[UUID, list[str]]]:
    """The tombstones of an owner and a subject."""
    tombs = await store.read(tenant, lambda unit: unit.facts.tombstones(tenant, owner, subject, limit=limit))
    return [(uid, list(marks)) for uid, marks in tombs]


async def bury(
    store: Store, number: int, *marks: str, tenant: str = TENANT, owner: str = "alice", subject: str = ""
) -> None:
    """Keep a tombstone with this number."""
    await store.write(
        tenant,
        lambda unit: unit.facts.bury(tenant, owner, subject, marks, tomb_id=id_of(number), now=after(number)),
    )


async def unbury(store: Store, *numbers: int, tenant: str = TENANT) -> None:
    """Forget the tombstones with these numbers."""
    await store.write(tenant, lambda unit: unit.facts.unbury(tenant, map(id_of, numbers)))


async def delete(store: Store, which: Fact, *, tenant: str = TENANT) -> None:
    """Leave nothing of a fact."""
    await store.write(tenant, lambda unit: unit.facts.delete(tenant, which.id))


async def sourced(store: Store, which: Fact, source: Source, *, tenant: str = TENANT) -> None:
    """One more message says the same."""
    await store.write(tenant, lambda unit: unit.facts.add_source(tenant, which.id, source))


async def replaced(store: Store, which: Fact, *, owner: str = "alice", tenant: str = TENANT) -> dict[UUID, Fact]:
    """The facts whose place one took, by id."""
    rows = await store.read(tenant, lambda unit: unit.facts.replaced_by(tenant, owner, which.id))
    return {item.id: item for item in rows}


class FactSourceLaws(StoreLaws):
    """What facts were learned from."""

    async def test_a_source_of_a_fact_is_kept_once(self, tmp_path: Path) -> None:
        """One more message is one more source; one that is known already changes nothing."""
        async with self.opened(tmp_path) as store:
            first, second, third = await sources(store, 4, 2, 7)
            (theirs,) = await sources(store, 4, key=SECOND, first=9)
            item, other = fact(sources=(first,)), fact(2, "Alice likes rum.", sources=(third,))
            await kept(store, item, other)
            for source in (second, replace(first, quote="other words", learned_at=after(50)), second, theirs):
                await sourced(store, item, source)
            assert await found(store, item) == replace(item, sources=(first, second, theirs))
            assert await found(store, other) == other
            assert len(await versions(store, item)) == 1

    async def test_facts_of_a_message_that_says_nothing_any_more(self, tmp_path: Path) -> None:
        """I12: its quotes go, and those facts are named that have none left and that no owner stands for."""
        async with self.opened(tmp_path) as store:
            zero, one = await sources(store, 0, 1)
            (elsewhere,) = await sources(store, 0, key=SECOND)
            alone = fact(1, "One.", sources=(zero,))
            twice = fact(2, "Two.", sources=(zero, one))
            stood_for = fact(3, "Three.", sources=(zero,), trust=Trust.OWNER_CONFIRMED)
            closed = fact(4, "Four.", sources=(zero,), state=FactState.CLOSED)
            away = fact(5, "Five.", sources=(elsewhere,))
            added = fact(6, "Six.", agent=None)
            await kept(store, alone, twice, stood_for, closed, away, added)
            assert await unsaid(store, 9) == set()
            assert await unsaid(store, 0) == {alone.id, closed.id}
            assert await found(store, twice) == replace(twice, sources=(one,))
            for item in (alone, stood_for, closed):
                assert await found(store, item) == replace(item, sources=())
            assert [await found(store, item) for item in (away, added)] == [away, added]
            assert await unsaid(store, 0) == set()
            assert await unsaid(store, 1) == {twice.id}

    async def test_facts_of_a_session_that_says_nothing_any_more(self, tmp_path: Path) -> None:
        """I12: all its quotes go at once, whatever their numbers, and those of no other session."""
        async with self.opened(tmp_path) as store:
            zero, nine = await sources(store, 0, 9)
            (elsewhere,) = await sources(store, 0, key=SECOND, first=5)
            (theirs,) = await sources(store, 0, key=THEIRS)
            both, one = fact(1, "One.", sources=(zero, nine)), fact(2, "Two.", sources=(nine,))
            kept_alive = fact(3, "Three.", sources=(zero, elsewhere))
            stood_for = fact(4, "Four.", sources=(zero,), trust=Trust.OWNER_CONFIRMED)
            foreign = fact(1, "One.", sources=(theirs,))
            await kept(store, both, one, kept_alive, stood_for)
            await kept(store, foreign, tenant="t2")
            assert await unsaid(store, None) == {both.id, one.id}
            assert await found(store, kept_alive) == replace(kept_alive, sources=(elsewhere,))
            assert await found(store, stood_for) == replace(stood_for, sources=())
            assert await found(store, foreign, replace(ALICE, tenant="t2")) == foreign
            assert await unsaid(store, None) == set()
            assert await unsaid(store, None, key=SECOND) == {kept_alive.id}

    async def test_nothing_is_left_of_a_fact_that_is_deleted(self, tmp_path: Path) -> None:
        """I12: another that comes with its id has none of its sources, versions and terms."""
        async with self.opened(tmp_path) as store:
            said = tuple(await sources(store, 0, 1))
            theirs = tuple(await sources(store, 0, key=THEIRS))
            old, other = fact(sources=said), fact(2, "Alice likes rum and tea.", sources=said)
            foreign = replace(old, sources=theirs)
            await kept(store, old, other)
            await kept(store, foreign, tenant="t2")
            assert await changed(store, following(old, pinned=True))
            await delete(store, old)
            assert await found(store, old) is None
            assert await listed(store, states=EVERY_STATE) == [other]
            assert await versions(store, old) == []
            again = replace(old, content="Nothing of that.", sources=())
            assert await kept(store, again, action=FactAction.ADDED) == [True]
            assert await found(store, again) == again
            assert await versions(store, again) == [version_of(again, FactAction.ADDED)]
            assert await with_terms(store, "tea", "alice") == [(other.id, 2)]
            assert set(await learned_from(store, [(said[0].session_id, 0)])) == {other.id}
            assert await found(store, other) == other
            assert await found(store, foreign, replace(ALICE, tenant="t2")) == foreign

    async def test_a_fact_that_is_deleted_makes_room_for_one_of_its_content(self, tmp_path: Path) -> None:
        """I12: nothing remembers what it said."""
        async with self.opened(tmp_path) as store:
            await kept(store, fact(1))
            await delete(store, fact(1), tenant="t2")
            assert await kept(store, fact(2)) == [False]
            await delete(store, fact(1))
            assert await kept(store, fact(2)) == [True]
            assert await known(store, "tea") == [id_of(2)]

    async def test_a_fact_knows_whose_place_it_took(self, tmp_path: Path) -> None:
        """The owner's facts that name it, each with its sources, whatever became of it."""
        async with self.opened(tmp_path) as store:
            said = tuple(await sources(store, 3, 4))
            new = fact(9, "Alice likes cocoa.")
            gone = {"state": FactState.CLOSED, "valid_to": after(5), "superseded_by": new.id}
            one, two = fact(1, "Tea.", sources=said, **gone), fact(2, "Rum.", **gone)
            others = fact(3, "Gin.", superseded_by=id_of(8)), fact(4, "Ale.", owner="bob", **gone)
            await kept(store, new, one, two, *others)
            await kept(store, fact(5, "Tea.", **gone), tenant="t2")
            assert await replaced(store, new) == {one.id: one, two.id: two}
            assert await replaced(store, one) == {}
            assert set(await replaced(store, new, owner="bob")) == {id_of(4)}
            assert set(await replaced(store, new, tenant="t2")) == {id_of(5)}
            await delete(store, new)
            assert await replaced(store, new) == {one.id: one, two.id: two}

    async def test_tombstones_of_facts_are_of_an_owner_and_a_subject(self, tmp_path: Path) -> None:
        """I12: the newest first, up to a limit, each with its marks as they were given, after closing too."""
        async with self.opened(tmp_path) as store:
            await bury(store, 2, "b", "a", "b")
            await bury(store, 3)
            await bury(store, 1, "é'\"")
            await bury(store, 5, "x", owner="bob")
            await bury(store, 6, "x", subject="family")
            await bury(store, 7, "x", tenant="t2")
        async with self.opened(tmp_path) as store:
            every = [(id_of(3), []), (id_of(2), ["b", "a", "b"]), (id_of(1), ["é'\""])]
            assert await buried(store) == every
            assert await buried(store, limit=2) == every[:2]
            assert await buried(store, owner="bob") == [(id_of(5), ["x"])]
            assert await buried(store, subject="family") == [(id_of(6), ["x"])]
            assert await buried(store, tenant="t2") == [(id_of(7), ["x"])]
            assert await buried(store, owner="bob", subject="family") == []

    async def test_tombstones_of_facts_are_forgotten_by_name(self, tmp_path: Path) -> None:
        """What the owner says again may be known again: those that are named go, of this tenant."""
        async with self.opened(tmp_path) as store:
            for tenant in (TENANT, "t2"):
                for number in range(1, 5):
                    await bury(store, number, "x", tenant=tenant)
            await unbury(store)
            await unbury(store, 2, 4, 99)
            assert [uid for uid, _ in await buried(store)] == [id_of(3), id_of(1)]
            assert len(await buried(store, tenant="t2")) == 4

    async def test_facts_and_chunks_of_a_transaction_that_failed_are_not_there(self, tmp_path: Path) -> None:
        """I8: what was read, what was learned of it and what was buried is kept together or not at all."""
        async with self.opened(tmp_path) as store:
            said = tuple(await sources(store, 0, 1))
            old = fact(1, sources=said[:1])
            await kept(store, old)
            what = await chunk(store, 0, 5)

            def half(unit: Unit) -> None:
                facts = unit.facts
                assert facts.insert(
                    TENANT, fact(2, "New.", sources=said), key="new", terms=["new"], action=FactAction.LEARNED
                )
                facts.add_source(TENANT, old.id, said[1])
                new = following(old, content="Changed.")
                assert facts.change(TENANT, new, action=FactAction.EDITED, key="changed", terms=["changed"])
                assert facts.get(ALICE, old.id) == replace(new, sources=said)
                facts.bury(TENANT, "alice", "", ["x"], tomb_id=id_of(1), now=after(0))
                made = Subject(id="family", name="F", owner="alice", created_at=after(0), members=("alice",))
                assert unit.subjects.create(TENANT, made)
                unit.chunks.insert(row_of(unit), what)
                facts.unsay(row_of(unit), 0)
                raise InvalidInput("no")

            with pytest.raises(InvalidInput, match="no"):
                await store.write(TENANT, half)
            assert await listed(store, states=EVERY_STATE) == [old]
            assert await versions(store, old) == [version_of(old, FactAction.LEARNED)]
            assert await with_terms(store, "tea", "new", "changed") == [(old.id, 1)]
            assert await buried(store) == []
            assert await chunks_of(store) == []
            assert await store.read(TENANT, lambda unit: unit.subjects.of(TENANT, "alice", limit=9)) == []
