"""I11: conversations are found by their whole key, listed, numbered and ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from anaphora.domain.keys import MAX_ID_BYTES, MAX_ID_CHARS, SessionKey
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    NOW,
    TENANT,
    after,
    append,
    key_of,
    names,
    new_id,
    session,
)

#: names that begin alike, hold wildcards or separators, or only look alike
ALIKE = ("al", "alice", "Alice", "alice ", "a%", "%", "_l", "al:ice", "é", "e\u0301", "'; --", "../al", "\u0130", "i")


async def made(store: Store, key: SessionKey, *, session_id: UUID | None = None) -> SessionRow:
    """Make a session by hand."""

    def work(unit: Unit) -> SessionRow:
        return unit.sessions.create(
            key, session_id=session_id or new_id(), strategy="standard", subject="Alice", now=NOW
        )

    return await store.write(key.tenant, work)


async def listed(store: Store, *, user: str | None = None, agent: str | None = None, limit: int = 50) -> list[str]:
    """The names of a tenant's sessions, in the order in which they are listed."""
    rows = await store.read(TENANT, lambda unit: unit.sessions.list(TENANT, user=user, agent=agent, limit=limit))
    return [row.key.session for row in rows]


async def page(
    store: Store, user: str | None, *, limit: int = 50, before: SessionRow | None = None
) -> Sequence[SessionRow]:
    """A page of a list."""
    return await store.read(TENANT, lambda unit: unit.sessions.list(TENANT, user=user, limit=limit, before=before))


def found(unit: Unit, key: SessionKey) -> SessionRow | None:
    """What this key leads to."""
    return unit.sessions.find(key)


def ends(unit: Unit, session_id: UUID, ended_at: datetime | None) -> None:
    """Say when a session ended."""
    unit.sessions.set_ended(TENANT, session_id, ended_at=ended_at)


class SessionLaws(StoreLaws):
    """Conversations."""

    async def test_a_session_is_made_once(self, tmp_path: Path) -> None:
        """Making a session that is there gives the one that is there, unchanged."""
        async with self.opened(tmp_path) as store:
            first = await made(store, KEY)
            assert (first.key, first.strategy, first.subject) == (KEY, "standard", "Alice")
            assert (first.head, first.turns, first.tokens, first.turn_starts, first.epoch) == (0, 0, 0, (), 0)
            assert (first.created_at, first.updated_at, first.ended_at) == (NOW, NOW, None)
            assert await made(store, KEY) == first
            assert await session(store) == first

    async def test_a_session_is_found_by_its_whole_key_only(self, tmp_path: Path) -> None:
        """I11: names are compared as they are, part by part: alike is not equal, and wildcards are letters."""
        keys = {key_of(user=name) for name in ALIKE} | {key_of(agent=name) for name in ALIKE}
        keys |= {key_of(session=name) for name in ALIKE} | {key_of(tenant=name) for name in ALIKE}
        strangers = [key_of(user="ALICE"), key_of(agent="a"), key_of(session="l"), key_of(tenant="al_")]
        async with self.opened(tmp_path) as store:
            for key in keys:
                await store.append(append("x", key=key))
            rows = [await session(store, key) for key in keys]
            assert [row.key for row in rows] == list(keys)
            assert len({row.id for row in rows}) == len(keys)
            assert {row.head for row in rows} == {1}
            for key in strangers:
                assert await store.read(key.tenant, partial(found, key=key)) is None

    async def test_names_of_any_script_come_back_as_they_were(self, tmp_path: Path) -> None:
        """The longest names of any script are kept whole, not normalised and not cut."""
        longest = "".join(chr(0x20000 + 7919 * at % 40_000) for at in range(MAX_ID_BYTES // 4 - 1)) + "\u0301"
        key = SessionKey(
            tenant=longest, user=longest[::-1], agent=f"名前\u200d{longest[50:-50]}", session="s" * MAX_ID_CHARS
        )
        async with self.opened(tmp_path) as store:
            await store.append(append("x", key=key))
            (row,) = await store.read(longest, lambda unit: unit.sessions.list(longest))
            assert row.key == key

    async def test_tenants_are_listed_by_code_points_a_page_at_a_time(self, tmp_path: Path) -> None:
        """Upkeep finds every tenant that has a session, each once, whatever its name."""
        wanted = ["B", "Z", "a", "a b", "b", "é", "猫", "\U0001f600"]
        async with self.opened(tmp_path) as store:
            for tenant in reversed(wanted):
                for name in ("s1", "s2"):
                    await store.append(append("x", key=key_of(tenant=tenant, session=name)))
            found: list[str] = []
            while page := await store.tenants(after=found[-1] if found else "", limit=3):
                assert len(page) <= 3
                found.extend(page)
            assert found == wanted

    async def test_a_session_is_got_by_its_id_in_its_tenant(self, tmp_path: Path) -> None:
        """I11: an id leads to its session in its own tenant and to nothing in another."""
        async with self.opened(tmp_path) as store:
            row = await made(store, KEY)
            await made(store, key_of(tenant="t2"))
            assert await store.read(TENANT, lambda unit: unit.sessions.get(TENANT, row.id)) == row
            assert await store.read("t2", lambda unit: unit.sessions.get("t2", row.id)) is None
            assert await store.read(TENANT, lambda unit: unit.sessions.get(TENANT, new_id())) is None

    async def test_an_id_that_is_taken_makes_no_session(self, tmp_path: Path) -> None:
        """I11: a session cannot be made with the id of another one."""
        async with self.opened(tmp_path) as store:
            row = await made(store, KEY)
            with pytest.raises(LookupError):
                await made(store, key_of("mallory"), session_id=row.id)
            assert await names(store) == ["s1"]
            assert await session(store) == row

    async def test_sessions_are_listed_by_their_last_activity(self, tmp_path: Path) -> None:
        """The last used comes first, and no more than asked for."""
        async with self.opened(tmp_path) as store:
            for at, name in enumerate(("one", "two", "three")):
                await store.append(append("a", key=key_of(session=name), now=after(at)))
            assert await listed(store) == ["three", "two", "one"]
            await store.append(append("b", key=key_of(session="one"), now=after(9)))
            assert await listed(store) == ["one", "three", "two"]
            assert await listed(store, limit=2) == ["one", "three"]

    async def test_pages_of_sessions_meet_without_a_gap(self, tmp_path: Path) -> None:
        """Also where several were last used at the same moment; and each page is of whom the list is."""
        async with self.opened(tmp_path) as store:
            for at, name in enumerate(("a", "b", "c", "d", "e", "f")):
                for user in ("alice", "bob"):
                    await store.append(append("a", key=key_of(user, name), now=after(at // 3)))
            for whose in ("alice", None):
                whole = await page(store, whose)
                pages: list[SessionRow] = []
                for _ in range(0, len(whole), 2):
                    pages += await page(store, whose, limit=2, before=pages[-1] if pages else None)
                assert pages == list(whole)
                assert not await page(store, whose, before=pages[-1])

    async def test_a_list_of_sessions_can_be_narrowed_and_never_leaves_its_tenant(self, tmp_path: Path) -> None:
        """I11: a list is of one tenant; of one user or agent if that is said."""
        async with self.opened(tmp_path) as store:
            people = [("alice", "cook"), ("alice", "waiter"), ("bob", "cook"), ("al", "co")]
            for at, (user, agent) in enumerate(people):
                for tenant in (TENANT, "t2"):
                    key = key_of(user, f"{user}-{agent}", agent=agent, tenant=tenant)
                    await store.append(append("a", key=key, now=after(-at)))
            assert await listed(store) == ["alice-cook", "alice-waiter", "bob-cook", "al-co"]
            assert await listed(store, user="alice") == ["alice-cook", "alice-waiter"]
            assert await listed(store, agent="cook") == ["alice-cook", "bob-cook"]
            assert await listed(store, user="bob", agent="cook") == ["bob-cook"]
            assert await listed(store, user="bob", agent="waiter") == []
            rows = await store.read("t2", lambda unit: unit.sessions.list("t2"))
            assert {row.key.tenant for row in rows} == {"t2"}
            assert await names(store, "t3") == []

    async def test_sessions_are_numbered_by_user_and_agent(self, tmp_path: Path) -> None:
        """The next number follows the highest name that is a number; other names, however they look, are none."""
        said = ("2", "10", "s3", "0x1f", "٣", "9" * 40, "11.5", "-12", " 13")
        async with self.opened(tmp_path) as store:
            for name in said:
                await store.append(append("a", key=key_of(session=name)))
            for other in (key_of("bob", "70"), key_of(session="80", agent="b"), key_of(session="90", tenant="t2")):
                await store.append(append("a", key=other))
            assert await store.read(TENANT, lambda unit: unit.sessions.next_number(TENANT, "alice", "default")) == 11
            assert await store.read(TENANT, lambda unit: unit.sessions.next_number(TENANT, "carol", "default")) == 1

    async def test_a_session_is_ended_and_opened_again_in_its_tenant(self, tmp_path: Path) -> None:
        """Ending says when; it can be taken back; and it cannot be done from another tenant (I11)."""
        async with self.opened(tmp_path) as store:
            row = await made(store, KEY)
            other = await made(store, key_of(session="s2"))
            for ended_at in (after(5), None, after(7)):
                await store.write(TENANT, partial(ends, session_id=row.id, ended_at=ended_at))
                assert (await session(store)).ended_at == ended_at
            await store.write("t2", lambda unit: unit.sessions.set_ended("t2", other.id, ended_at=NOW))
            assert await session(store, other.key) == other
