"""Whatever changes a part of a user's memory renews its stamp, in the same transaction, and no other's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest

from anaphora.domain.changes import ChangeKind, Stamp
from anaphora.domain.messages import Trust
from anaphora.domain.notepad import Page, PageAction
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import NOW, TENANT, append, key_of, row_of


async def stamps_of(store: Store, user: str = "alice", tenant: str = TENANT) -> Mapping[ChangeKind, Stamp]:
    """The newest changes of a user's memory."""
    found = await store.read(tenant, lambda unit: unit.changes.stamps(tenant, [user]))
    return found.get(user, {})


class ChangeLaws(StoreLaws):
    """What holds of stamps."""

    async def test_an_append_stamps_the_messages_of_its_user_and_of_nobody_else(self, tmp_path: Path) -> None:
        """The stamp names where it was; the next change gives another number."""
        async with self.opened(tmp_path) as store:
            await store.append(append("Hello."))
            await store.append(append("Mine.", key=key_of("bob", "s2")))
            first = await stamps_of(store)
            assert set(first) == {ChangeKind.MESSAGES}
            assert (first[ChangeKind.MESSAGES].agent, first[ChangeKind.MESSAGES].session) == ("default", "s1")
            await store.append(append("Again.", key=key_of(session="s9")))
            second = await stamps_of(store)
            assert second[ChangeKind.MESSAGES].number != first[ChangeKind.MESSAGES].number
            assert second[ChangeKind.MESSAGES].session == "s9"
            assert await stamps_of(store, "al") == await stamps_of(store, tenant="elsewhere") == {}
            both = await store.read(TENANT, lambda unit: unit.changes.stamps(TENANT, ["alice", "bob", "eve"]))
            assert set(both) == {"alice", "bob"}

    async def test_messages_of_many_at_once_stamp_each_of_them_whether_for_the_first_time_or_again(
        self, tmp_path: Path
    ) -> None:
        """Those that are committed together, too; a user who is silent keeps their stamp."""
        users = [f"user{number:02}" for number in range(24)]

        async def say(store: Store, speakers: Sequence[str], session: str) -> None:
            async with anyio.create_task_group() as group:
                for user in speakers:
                    group.start_soon(store.append, append("Hello.", key=key_of(user, session)))

        async with self.opened(tmp_path) as store:
            await say(store, users[:12], "s1")
            first = await store.read(TENANT, lambda unit: unit.changes.stamps(TENANT, users))
            assert set(first) == set(users[:12])
            await say(store, users[6:], "s2")
            second = await store.read(TENANT, lambda unit: unit.changes.stamps(TENANT, users))
            assert set(second) == set(users)
            for user in users:
                stamp = second[user][ChangeKind.MESSAGES]
                assert stamp.session == ("s1" if user in users[:6] else "s2")
                assert (stamp == first.get(user, {}).get(ChangeKind.MESSAGES)) is (user in users[:6])

    async def test_what_was_not_written_is_not_stamped(self, tmp_path: Path) -> None:
        """The stamp is of the same transaction."""

        def fail(unit: Unit) -> None:
            page = Page(
                user="alice",
                agent="default",
                version=1,
                action=PageAction.EDITED,
                text="It was good.",
                tokens=4,
                trust=Trust.OWNER_SAID,
                created_at=NOW,
            )
            assert unit.notepads.insert(TENANT, page)
            raise LookupError

        async with self.opened(tmp_path) as store:
            with pytest.raises(LookupError):
                await store.write(TENANT, fail)
            assert await stamps_of(store) == {}

    async def test_a_stamp_outlives_the_session_that_it_names_without_naming_it(self, tmp_path: Path) -> None:
        """I12: of an erased session, the stamp tells only that something changed; no number is given twice."""
        async with self.opened(tmp_path) as store:
            await store.append(append("Said elsewhere.", key=key_of(session="s2")))
            await store.append(append("Hello."))
            numbers = [(await stamps_of(store))[ChangeKind.MESSAGES].number]

            def drop(unit: Unit) -> None:
                row = row_of(unit, key_of())
                unit.sessions.reset(TENANT, row.id, now=NOW)
                unit.purging.drop_session(row)

            await store.write(TENANT, drop)
            found = await stamps_of(store)
            assert set(found) == {ChangeKind.MESSAGES, ChangeKind.ERASED}
            assert {(stamp.agent, stamp.session) for stamp in found.values()} == {(None, None)}
            numbers.append(found[ChangeKind.MESSAGES].number)
            await store.write(TENANT, lambda unit: unit.purging.of_user(TENANT, "alice"))
            assert await stamps_of(store) == {}
            assert len(set(numbers)) == 2
