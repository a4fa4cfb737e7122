"""I11, I12, T15: keys and the account of changes are of one tenant; entries stay as they were written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from anaphora.domain.access import ApiKey, AuditEntry
from anaphora.domain.principals import OF_PERSONS
from anaphora.errors import AnaphoraError
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import NOW, TENANT, after, new_id


def api_key(user: str | None = "alice", *, tenant: str = TENANT) -> ApiKey:
    """A key that does not end."""
    return ApiKey(id=new_id(), tenant=tenant, user=user, name="phone ☎", permissions=OF_PERSONS, created_at=NOW)


def entry(number: int, *, who: str | None = "a mark") -> AuditEntry:
    """A change."""
    about = {"session": "another mark"}
    return AuditEntry(
        number=number, at=after(number), who=who, by="a key", action="end", about=about, status=200, seal=f"{number}"
    )


def kept(key: ApiKey, unit: Unit) -> None:
    """The key is there."""
    unit.api_keys.insert(key, "a hash")


def noted(change: AuditEntry, unit: Unit) -> None:
    """The change is accounted for."""
    unit.audit.insert(TENANT, change)


class AccessLaws(StoreLaws):
    """What holds of keys and of the account of changes."""

    async def test_a_key_comes_back_as_it_was_kept_to_its_own_tenant(self, tmp_path: Path) -> None:
        """With its hash; elsewhere there is none of its id."""
        async with self.opened(tmp_path) as store:
            assert not await store.has_keys()
            made = replace(api_key(), expires_at=after(9))
            await store.write(TENANT, lambda unit: unit.api_keys.insert(made, "a hash"))
            assert await store.read(TENANT, lambda unit: unit.api_keys.get(TENANT, made.id)) == (made, "a hash")
            assert await store.read("t2", lambda unit: unit.api_keys.get("t2", made.id)) is None
            assert await store.has_keys()

    async def test_keys_are_listed_newest_first_and_each_user_has_their_own(self, tmp_path: Path) -> None:
        """A name that another one begins with is another name; an operator's key is nobody's."""
        async with self.opened(tmp_path) as store:
            made = [api_key(user) for user in ("alice", "al", None, "alice")]
            for each in made:
                await store.write(TENANT, partial(kept, each))
            newest = sorted(made, key=lambda each: each.id, reverse=True)
            assert list(await store.read(TENANT, lambda unit: unit.api_keys.list(TENANT, limit=9))) == newest
            assert list(await store.read(TENANT, lambda unit: unit.api_keys.list(TENANT, limit=2))) == newest[:2]
            mine = await store.read(TENANT, lambda unit: unit.api_keys.list(TENANT, user="alice", limit=9))
            assert list(mine) == [each for each in newest if each.user == "alice"]

    async def test_a_key_is_revoked_once_and_ends_no_later_than_it_did(self, tmp_path: Path) -> None:
        """When it was revoked, and used last, is kept."""
        async with self.opened(tmp_path) as store:
            made = replace(api_key(), expires_at=after(50))
            await store.write(TENANT, lambda unit: unit.api_keys.insert(made, "a hash"))
            await store.write(TENANT, lambda unit: unit.api_keys.expire(TENANT, made.id, at=after(90)))
            await store.write(TENANT, lambda unit: unit.api_keys.expire(TENANT, made.id, at=after(20)))
            await store.write(TENANT, lambda unit: unit.api_keys.expire(TENANT, made.id, at=after(40)))
            first = await store.write(TENANT, lambda unit: unit.api_keys.revoke(TENANT, made.id, now=after(1)))
            again = await store.write(TENANT, lambda unit: unit.api_keys.revoke(TENANT, made.id, now=after(2)))
            await store.write(TENANT, lambda unit: unit.api_keys.used(TENANT, made.id, now=after(3)))
            assert (first, again) == (True, False)
            ended = replace(made, expires_at=after(20), revoked_at=after(1), last_used_at=after(3))
            assert await store.read(TENANT, lambda unit: unit.api_keys.get(TENANT, made.id)) == (ended, "a hash")

    async def test_entries_of_the_account_come_back_as_they_were_written(self, tmp_path: Path) -> None:
        """Newest first, or as a chain from a number on; of one who asked; of one tenant."""
        async with self.opened(tmp_path) as store:
            written = [entry(1), entry(2, who=None), entry(3)]
            for each in written:
                await store.write(TENANT, partial(noted, each))
            assert await store.write(TENANT, lambda unit: unit.audit.last(TENANT)) == written[2]
            assert await store.write("t2", lambda unit: unit.audit.last("t2")) is None
            assert list(await store.read(TENANT, lambda unit: unit.audit.list(TENANT, limit=2))) == written[:0:-1]
            before = await store.read(TENANT, lambda unit: unit.audit.list(TENANT, before=3, limit=9))
            assert list(before) == written[1::-1]
            hers = await store.read(TENANT, lambda unit: unit.audit.list(TENANT, who="a mark", limit=9))
            assert list(hers) == [written[2], written[0]]
            assert (
                list(await store.read(TENANT, lambda unit: unit.audit.chain(TENANT, start=2, limit=9))) == written[1:]
            )
            assert (
                list(await store.read(TENANT, lambda unit: unit.audit.chain(TENANT, start=1, limit=1))) == written[:1]
            )

    async def test_an_entry_is_written_once_and_stays(self, tmp_path: Path) -> None:
        """T15: a number that is taken is refused, and what stands there is as it was; another tenant has its own."""
        async with self.opened(tmp_path) as store:
            await store.write(TENANT, lambda unit: unit.audit.insert(TENANT, entry(1)))
            with pytest.raises(AnaphoraError):
                await store.write(TENANT, lambda unit: unit.audit.insert(TENANT, entry(1, who=None)))
            await store.write("t2", lambda unit: unit.audit.insert("t2", entry(1, who=None)))
            assert list(await store.read(TENANT, lambda unit: unit.audit.list(TENANT, limit=9))) == [entry(1)]
            assert list(await store.read("t2", lambda unit: unit.audit.list("t2", limit=9))) == [entry(1, who=None)]

    async def test_entries_that_many_write_at_once_are_one_chain(self, tmp_path: Path) -> None:
        """T15: through two handles, each entry is sealed with the one before it, and no number is left out."""

        def add(unit: Unit) -> None:
            before = unit.audit.last(TENANT)
            number, seal = (1, "") if before is None else (before.number + 1, before.seal)
            unit.audit.insert(TENANT, replace(entry(number), seal=f"{seal}.{number}"))

        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            for _ in range(2):
                await asyncio.gather(*((one, two)[caller % 2].write(TENANT, add) for caller in range(6)))
            chained = await one.read(TENANT, lambda unit: unit.audit.chain(TENANT, start=1, limit=99))
            assert [each.number for each in chained] == list(range(1, 13))
            assert chained[-1].seal == "".join(f".{number}" for number in range(1, 13))

    async def test_keys_go_with_their_user_and_the_account_stays(self, tmp_path: Path) -> None:
        """I12: who is erased cannot come in; others of the tenant, and the same name elsewhere, still can."""
        async with self.opened(tmp_path) as store:
            hers, als, operators = api_key(), api_key("al"), api_key(None)
            for each in (hers, als, operators):
                await store.write(TENANT, partial(kept, each))
            namesake = api_key(tenant="t2")
            await store.write("t2", lambda unit: unit.api_keys.insert(namesake, "a hash"))
            await store.write(TENANT, lambda unit: unit.audit.insert(TENANT, entry(1)))
            await store.write(TENANT, lambda unit: unit.purging.of_user(TENANT, "alice"))
            left = await store.read(TENANT, lambda unit: unit.api_keys.list(TENANT, limit=9))
            assert {each.id for each in left} == {als.id, operators.id}
            assert list(await store.read("t2", lambda unit: unit.api_keys.list("t2", limit=9))) == [namesake]
            assert await store.write(TENANT, lambda unit: unit.audit.last(TENANT)) == entry(1)
