"""I4, I6, I12: pages of notepads are kept one after the other, and what was made of what is gone goes with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.notepad import Page, PageAction
from anaphora.domain.summaries import Method
from anaphora.errors import LeaseLost
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import KEY, TENANT, after, append, key_of, row_of, session

SECOND, THIRD = key_of(session="s2"), key_of(session="s3")
#: notepads with names like Alice's, that are others
OTHERS = (key_of("bob"), key_of("Alice"), key_of(agent="cook"), key_of(tenant="t2"))


def page(version: int = 1, text: str = "- Likes tea.", **how: Any) -> Page:
    """A page of Alice's notepad, as if she had written it."""
    plain = Page(
        user="alice",
        agent="default",
        version=version,
        action=PageAction.EDITED,
        text=text,
        tokens=4,
        trust=Trust.OWNER_CONFIRMED,
        created_at=after(version),
    )
    return replace(plain, **how)


async def reflected(
    store: Store, version: int, key: SessionKey = KEY, span: tuple[int, int] = (0, 2), **how: Any
) -> Page:
    """A page that was made of messages of a session, which is made if it is not there."""
    if not await store.read(key.tenant, lambda unit: unit.sessions.find(key) is not None):
        await store.append(append("a", "b", "c", "d", "e", "f", key=key))
    given: dict[str, Any] = {
        "user": key.user,
        "agent": key.agent,
        "action": PageAction.REFLECTED,
        "session": key,
        "session_id": (await session(store, key)).id,
        "range": SeqRange(*span),
        "method": Method.MODEL,
        "model": "m",
        "prompt_version": "p/1",
        "trust": Trust.ASSISTANT,
    }
    return page(version, **given | how)


def reverted(version: int, restores: int) -> Page:
    """A page that says again what another one says."""
    return page(version, action=PageAction.REVERTED, restores=restores)


async def kept(store: Store, *pages: Page, tenant: str = TENANT) -> list[bool]:
    """Keep pages, each in a transaction of its own; what the store says to each."""

    def keep(new: Page, unit: Unit) -> bool:
        return unit.notepads.insert(tenant, new)

    return [await store.write(tenant, partial(keep, new)) for new in pages]


async def history(store: Store, key: SessionKey = KEY, *, limit: int = 99, before: int | None = None) -> list[Page]:
    """The pages of a notepad, newest first."""
    return list(
        await store.read(
            key.tenant,
            lambda unit: unit.notepads.history(key.tenant, key.user, key.agent, limit=limit, before=before),
        )
    )


async def left(store: Store, key: SessionKey = KEY) -> list[int]:
    """The versions that are there, the oldest first."""
    return [item.version for item in reversed(await history(store, key))]


async def forgotten(store: Store, key: SessionKey = KEY, seq: int | None = None) -> Sequence[UUID]:
    """Forget what was made of a message; what the store says."""
    return await store.write(key.tenant, lambda unit: unit.notepads.forget(row_of(unit, key), seq))


async def ids(store: Store, *keys: SessionKey) -> list[UUID]:
    """The ids of sessions."""
    return [(await session(store, key)).id for key in keys]


def written(unit: Unit) -> int:
    """Alone with the notepad, write the next page; its version."""
    unit.notepads.alone(TENANT, "alice", "default")
    newest = unit.notepads.newest(TENANT, "alice", "default")
    version = 1 if newest is None else newest.version + 1
    assert unit.notepads.insert(TENANT, page(version)), "I4: somebody else wrote meanwhile"
    return version


class NotepadLaws(StoreLaws):
    """Notepads."""

    async def test_a_page_comes_back_as_it_was_kept(self, tmp_path: Path) -> None:
        """I6: with all that it was made of; after closing too."""
        async with self.opened(tmp_path) as store:
            one = await reflected(store, 1, span=(1, 5), text='- Zoë\'s "tea" 🍵\n- 100%', tokens=9, trust=Trust.OTHER)
            two = page(2, text="")
            three = reverted(3, 1)
            digest = await reflected(store, 4, SECOND, method=Method.DIGEST, model=None, prompt_version=None)
            assert await kept(store, one, two, three, digest) == [True] * 4
        async with self.opened(tmp_path) as store:
            assert await history(store) == [digest, three, two, one]
            for item in (one, two, three, digest):
                get = partial(_get, item.version)
                assert await store.read(TENANT, get) == item
            for version in (0, 5, -1):
                assert await store.read(TENANT, partial(_get, version)) is None

    async def test_the_newest_page_is_what_a_notepad_says(self, tmp_path: Path) -> None:
        """Whatever was written when; None if nothing ever was."""
        async with self.opened(tmp_path) as store:
            assert await store.read(TENANT, _newest) is None
            late = page(10, created_at=after(-500))
            await kept(store, page(2), page(1), late, page(9))
            assert await store.read(TENANT, _newest) == late

    async def test_pages_are_listed_newest_first_page_by_page(self, tmp_path: Path) -> None:
        """By their numbers, holes or not; up to a limit, or only those before one."""
        async with self.opened(tmp_path) as store:
            await kept(store, *(page(number) for number in (12, 3, 7, 100)))
            assert [item.version for item in await history(store)] == [100, 12, 7, 3]
            assert [item.version for item in await history(store, limit=2)] == [100, 12]
            assert [item.version for item in await history(store, before=12)] == [7, 3]
            assert [item.version for item in await history(store, limit=1, before=100)] == [12]
            assert await history(store, before=3) == []

    async def test_a_version_of_a_notepad_is_kept_once(self, tmp_path: Path) -> None:
        """I4: who comes second is told so, and changes nothing."""
        async with self.opened(tmp_path) as store:
            assert await kept(store, page(1, "- One."), page(1, "- Other."), page(2)) == [True, False, True]
            assert [item.text for item in await history(store)] == ["- Likes tea.", "- One."]

    async def test_of_pages_of_one_version_at_once_one_is_kept(self, tmp_path: Path) -> None:
        """I4: whichever handle they come through."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            said = await asyncio.gather(
                *(kept(store, page(1, f"- {number}.")) for number in range(6) for store in (one, two))
            )
            assert sum(made for (made,) in said) == 1
            assert await left(one) == await left(two) == [1]

    async def test_who_is_alone_with_a_notepad_sees_what_others_wrote_before(self, tmp_path: Path) -> None:
        """I4: nobody writes between the look at the newest page and the next one."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            versions = await asyncio.gather(*(store.write(TENANT, written) for _ in range(8) for store in (one, two)))
            assert sorted(versions) == list(range(1, 17))

    async def test_each_user_has_a_notepad_with_each_agent(self, tmp_path: Path) -> None:
        """I11: by exactly these names, in one tenant; what goes of one stays in the others."""
        async with self.opened(tmp_path) as store:
            await kept(store, await reflected(store, 1))
            for key in OTHERS:
                theirs = await reflected(store, 1, key, text=f"- {key}")
                assert await kept(store, theirs, tenant=key.tenant) == [True]
            for key in OTHERS:
                assert [item.text for item in await history(store, key)] == [f"- {key}"]
            assert [item.text for item in await history(store)] == ["- Likes tea."]
            await forgotten(store)
            assert await left(store) == []
            assert [await left(store, key) for key in OTHERS] == [[1]] * len(OTHERS)
            row = await session(store, key_of(tenant="t2"))
            assert await store.write(TENANT, lambda unit: unit.notepads.forget(row_of(unit), None)) == ()
            assert await store.read(TENANT, lambda unit: unit.notepads.get(TENANT, "Alice", "cook", 1)) is None
            assert await forgotten(store, key_of(tenant="t2")) == (row.id,)

    async def test_pages_of_a_message_that_is_gone_go_with_it(self, tmp_path: Path) -> None:
        """I12: all of their session, and no other; of all messages if none is named."""
        async with self.opened(tmp_path) as store:
            await kept(store, await reflected(store, 1, span=(1, 3)), page(2))
            await kept(store, await reflected(store, 3, SECOND), page(4), await reflected(store, 5, span=(3, 6)))
            assert [await forgotten(store, seq=seq) for seq in (0, 6, 7)] == [()] * 3
            assert await left(store) == [1, 2, 3, 4, 5]
            assert await forgotten(store, SECOND, 3) == ()
            assert await forgotten(store, seq=2) == tuple(await ids(store, KEY))
            assert await left(store) == [2, 3, 4]
            assert await forgotten(store) == ()
            assert await forgotten(store, SECOND) == tuple(await ids(store, SECOND))
            assert await left(store) == [2, 4]

    async def test_what_was_made_of_a_page_that_is_gone_goes_too(self, tmp_path: Path) -> None:
        """I12: reflected upon it, or bringing it back, over any number of steps; the sessions are named, once."""
        async with self.opened(tmp_path) as store:
            await kept(store, await reflected(store, 1, THIRD), await reflected(store, 2))
            await kept(store, await reflected(store, 3, SECOND), page(4), reverted(5, 2))
            await kept(store, reverted(6, 5), await reflected(store, 7, SECOND, span=(2, 4)), reverted(8, 1))
            await kept(store, await reflected(store, 9, SECOND, span=(4, 6)), reverted(10, 7))
            assert list(await forgotten(store)) == await ids(store, KEY, SECOND)
            assert await left(store) == [1, 4, 8]

    async def test_what_a_user_wrote_in_a_notepad_stays(self, tmp_path: Path) -> None:
        """Whatever stood there before: what is made of it later stays as well."""
        async with self.opened(tmp_path) as store:
            await kept(store, await reflected(store, 1), page(2, "- Mine."), await reflected(store, 3, SECOND))
            await kept(store, reverted(4, 2))
            assert list(await forgotten(store)) == await ids(store, KEY)
            assert await left(store) == [2, 3, 4]
            newest = await store.read(TENANT, _newest)
            assert newest == reverted(4, 2)

    async def test_pages_of_a_transaction_that_failed_are_as_before(self, tmp_path: Path) -> None:
        """I8: neither written nor forgotten."""

        def fails(unit: Unit) -> None:
            unit.notepads.insert(TENANT, page(2))
            unit.notepads.forget(row_of(unit), None)
            raise LeaseLost("too late")

        async with self.opened(tmp_path) as store:
            one = await reflected(store, 1)
            await kept(store, one)
            with pytest.raises(LeaseLost):
                await store.write(TENANT, fails)
            assert await history(store) == [one]

    async def test_a_tenant_with_nothing_but_a_notepad_is_listed(self, tmp_path: Path) -> None:
        """What is written by hand needs no session; a copy of the database takes it along all the same."""
        async with self.opened(tmp_path) as store:
            await kept(store, page(), tenant="t3")
            await store.append(append("x", key=key_of(tenant="t2")))
            assert list(await store.tenants(after="", limit=9)) == ["t2", "t3"]


def _get(version: int, unit: Unit) -> Page | None:
    return unit.notepads.get(TENANT, "alice", "default", version)


def _newest(unit: Unit) -> Page | None:
    return unit.notepads.newest(TENANT, "alice", "default")
