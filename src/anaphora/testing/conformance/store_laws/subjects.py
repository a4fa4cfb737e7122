"""I11: whom or what facts are about, and who its members are, now."""

from __future__ import annotations

import asyncio
from pathlib import Path

from anaphora.domain.facts import Subject
from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import fact, joined, kept, left, made
from anaphora.testing.conformance.store_laws.tools import TENANT, after, append, key_of

#: by code points
NAMES = ("%", "B", "a", "a ", "b", "z", "ä", "é", "猫", "🐟")


async def subject(store: Store, name: str = "family", *, tenant: str = TENANT) -> Subject | None:
    """The subject as it is now."""
    return await store.read(tenant, lambda unit: unit.subjects.get(tenant, name))


async def of(store: Store, user: str, *, tenant: str = TENANT, limit: int = 99) -> list[Subject]:
    """The subjects that a user is a member of."""
    return list(await store.read(tenant, lambda unit: unit.subjects.of(tenant, user, limit=limit)))


async def rename(store: Store, name: str, *, of_id: str = "family", tenant: str = TENANT) -> None:
    """Another name."""
    await store.write(tenant, lambda unit: unit.subjects.rename(tenant, of_id, name))


async def members(store: Store, name: str = "family", *, tenant: str = TENANT) -> tuple[str, ...]:
    """Who the members of a subject are."""
    there = await subject(store, name, tenant=tenant)
    assert there is not None
    return there.members


class SubjectLaws(StoreLaws):
    """Subjects and their members."""

    async def test_a_subject_is_made_once(self, tmp_path: Path) -> None:
        """It comes back as it was made, its members by code points; a second of its id changes nothing."""
        async with self.opened(tmp_path) as store:
            assert await subject(store) is None
            assert await made(store, "family", *reversed(NAMES), owner="nobody's")
            expected = Subject(id="family", name="the family", owner="nobody's", created_at=after(0), members=NAMES)
            assert await subject(store) == expected
            assert not await made(store, "family", "x", "y", owner="x")
            assert await made(store, "Family")
        async with self.opened(tmp_path) as store:
            assert await subject(store) == expected
            assert await members(store, "Family") == ()
            assert await subject(store, "fam%") is None

    async def test_a_subject_that_many_make_at_once_is_one(self, tmp_path: Path) -> None:
        """I4: one of them made it, and it is as that one made it."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            said = await asyncio.gather(
                *(made((one, two)[at % 2], "family", f"m{at}", owner=f"o{at}") for at in range(8))
            )
            assert said.count(True) == 1
            there = await subject(two)
            assert there is not None
            assert (there.owner, there.members) == (f"o{said.index(True)}", (f"m{said.index(True)}",))

    async def test_a_subject_can_have_another_name(self, tmp_path: Path) -> None:
        """And nothing else of it changes, nor of another."""
        async with self.opened(tmp_path) as store:
            for name, tenant in (("family", TENANT), ("club", TENANT), ("family", "t2")):
                await made(store, name, "alice", tenant=tenant)
            await rename(store, "die Müllers 'n' Co.")
            await rename(store, "nothing", of_id="unknown")
            expected = Subject(
                id="family", name="die Müllers 'n' Co.", owner="alice", created_at=after(0), members=("alice",)
            )
            assert await subject(store) == expected
            for name, tenant in (("club", TENANT), ("family", "t2")):
                other = await subject(store, name, tenant=tenant)
                assert other is not None
                assert other.name == f"the {name}"

    async def test_the_subjects_of_a_user_are_those_that_it_is_a_member_of(self, tmp_path: Path) -> None:
        """By id, as code points go, the first ones up to a limit; who made one is a member only if so named."""
        async with self.opened(tmp_path) as store:
            for name in reversed(NAMES):
                await made(store, name, "bob", "carol", owner="alice")
            await made(store, "club", "bo", "b%", "Bob", owner="bob")
            await made(store, "theirs", "bob", tenant="t2")
            assert [item.id for item in await of(store, "bob")] == list(NAMES)
            assert await of(store, "bob", limit=3) == [await subject(store, name) for name in NAMES[:3]]
            assert await of(store, "alice") == []
            assert [item.id for item in await of(store, "Bob")] == ["club"]
            assert [item.id for item in await of(store, "bob", tenant="t2")] == ["theirs"]

    async def test_members_of_a_subject_come_and_go(self, tmp_path: Path) -> None:
        """Who is a member already cannot become one, who is none cannot leave; both say so and change nothing."""
        async with self.opened(tmp_path) as store:
            await made(store, "family", "alice")
            await made(store, "club", "alice", "bob")
            assert [await joined(store, "bob") for _ in range(2)] == [True, False]
            assert not await joined(store, "alice")
            assert await members(store) == ("alice", "bob")
            assert [await left(store, "alice") for _ in range(2)] == [True, False]
            assert not await left(store, "bo")
            assert not await left(store, "bob", "unknown")
            assert await members(store) == ("bob",)
            assert [item.id for item in await of(store, "alice")] == ["club"]
            assert await members(store, "club") == ("alice", "bob")
            assert await joined(store, "alice")
            assert await members(store) == ("alice", "bob")

    async def test_subjects_of_one_name_in_two_tenants_are_two(self, tmp_path: Path) -> None:
        """I11: each has its own members, which come and go by themselves."""
        async with self.opened(tmp_path) as store:
            assert await made(store, "family", "alice", "bob")
            assert await subject(store, tenant="t2") is None
            assert await made(store, "family", "alice", owner="carol", tenant="t2")
            assert await joined(store, "dave", tenant="t2")
            assert await left(store, "alice")
            assert not await left(store, "bob", tenant="t2")
            assert (await members(store), await members(store, tenant="t2")) == (("bob",), ("alice", "dave"))
            assert [len(await of(store, user)) for user in ("alice", "bob", "dave")] == [0, 1, 0]
            assert [len(await of(store, user, tenant="t2")) for user in ("alice", "bob", "dave")] == [1, 0, 1]

    async def test_a_tenant_with_nothing_but_facts_or_subjects_is_listed(self, tmp_path: Path) -> None:
        """What is added by hand needs no session; a copy of the database takes it along all the same."""
        async with self.opened(tmp_path) as store:
            await kept(store, fact(), tenant="t3")
            await made(store, tenant="t1")
            await store.append(append("x", key=key_of(tenant="t2")))
            await made(store, tenant="t2")
            assert list(await store.tenants(after="", limit=9)) == ["t1", "t2", "t3"]
            assert list(await store.tenants(after="t1", limit=1)) == ["t2"]
