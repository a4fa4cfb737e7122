"""I5, I12, I13: what is erased is gone with all that was made of it, and known again; what expires is out of sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from anaphora.domain.erasure import Erasure, ErasureKind, ErasureState, Target
from anaphora.domain.facts import Subject
from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message
from anaphora.errors import Erased
from anaphora.ports.erasures import Purged
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    NOW,
    TENANT,
    after,
    append,
    chain,
    claimed,
    fence_of,
    head,
    holds,
    jobs_of,
    key_of,
    log_of,
    move,
    names,
    new_id,
    planned,
    prepared,
    row_of,
    session,
    summary,
)

ALICE = Target(kind=ErasureKind.USER, user="alice")


async def begun(store: Store, target: Target = ALICE, *, tenant: str = TENANT) -> Erasure:
    """An erasure that was asked for."""
    asked = Erasure(
        id=new_id(),
        number=1,
        kind=target.kind,
        mark="a mark",
        asked_by="Ann",
        asked_at=NOW,
        state=ErasureState.RUNNING,
        target=target,
    )
    return await store.write(tenant, lambda unit: unit.erasures.begin(tenant, asked))


async def account(store: Store, tenant: str = TENANT) -> Sequence[Erasure]:
    """All erasures, newest first."""
    return await store.read(tenant, lambda unit: unit.erasures.list(tenant, limit=99))


async def message(store: Store, seq: int, key: SessionKey = KEY) -> Message:
    """One message, a tombstone too."""

    def read(unit: Unit) -> Message:
        span = SeqRange(seq, seq + 1)
        return unit.messages.range(key.tenant, row_of(unit, key).id, span, limit=1, deleted=True)[0]

    return await store.read(key.tenant, read)


async def taken_out(store: Store, seq: int, key: SessionKey = KEY) -> Purged:
    """A message is deleted, and nothing of it is left."""
    old = await message(store, seq, key)
    gone = replace(old, content="", tokens=0, deleted=True, version=old.version + 1, changed_at=after(1))

    def take_out(unit: Unit) -> Purged:
        row = unit.messages.amend(row_of(unit, key), old, gone, now=after(1))
        return unit.purging.messages(row, [seq], {})

    return await store.write(key.tenant, take_out)


async def expired(store: Store, key: SessionKey = KEY) -> SessionRow:
    """The session is put out of sight."""
    row = await session(store, key)
    await store.write(key.tenant, lambda unit: unit.sessions.expire(row, now=after(1)))
    return row


class ErasureLaws(StoreLaws):
    """Erasing, and letting expire."""

    async def test_erasures_are_counted_and_once_done_name_nobody(self, tmp_path: Path) -> None:
        """The number is the tenant's erasure epoch; what was named is kept until it is gone, and no longer."""
        async with self.opened(tmp_path) as store:
            assert await store.read(TENANT, lambda unit: unit.erasures.epoch(TENANT)) == 0
            first, other = await begun(store), await begun(store, tenant="t2")
            second = await begun(store, Target(kind=ErasureKind.FACT, id=new_id()))
            assert [first.number, second.number, other.number] == [1, 2, 1]
            assert await store.read(TENANT, lambda unit: unit.erasures.epoch(TENANT)) == 2
            assert sorted(await store.unfinished(limit=9)) == sorted([TENANT, "t2"])

            def work(unit: Unit) -> None:
                unit.erasures.tally(TENANT, first.id, {"messages": 2, "facts": 0})
                unit.erasures.tally(TENANT, first.id, {"messages": 3})
                unit.erasures.finish(TENANT, first.id, now=after(1))
                unit.erasures.finish(TENANT, first.id, now=after(2))

            await store.write(TENANT, work)
            done = replace(first, state=ErasureState.DONE, done_at=after(1), target=None, counts={"messages": 5})
            assert await account(store) == [second, done]
            running = await store.read(TENANT, lambda unit: unit.erasures.list(TENANT, limit=9, running=True))
            assert running == [second]
            assert await account(store, "t2") == [other]

    async def test_marks_are_known_in_their_tenant_with_the_time_of_the_last(self, tmp_path: Path) -> None:
        """I11: what one tenant has erased, another may have."""
        async with self.opened(tmp_path) as store:
            erasure = await begun(store)

            def mark(unit: Unit) -> None:
                unit.erasures.mark(TENANT, erasure.id, ["one", "two", "one"], now=NOW)
                unit.erasures.mark(TENANT, erasure.id, ["two"], now=after(5))
                unit.erasures.mark(TENANT, erasure.id, [], now=after(6))

            await store.write(TENANT, mark)
            known = await store.read(TENANT, lambda unit: unit.erasures.marked(TENANT, ["one", "two", "three"]))
            assert known == {"one": NOW, "two": after(5)}
            assert await store.read("t2", lambda unit: unit.erasures.marked("t2", ["one"])) == {}

    async def test_what_was_erased_is_not_appended_again_nor_what_was_made_before(self, tmp_path: Path) -> None:
        """I12: told by a mark, or by the epoch in which it was made; others in the same transaction are appended."""
        async with self.opened(tmp_path) as store:
            erasure = await begun(store)
            await store.write(TENANT, lambda unit: unit.erasures.mark(TENANT, erasure.id, ["old"], now=NOW))
            known = replace(append("a", "b"), marks=("new", "old"))
            late = replace(append("c", key=key_of("bob")), erasures=0)
            with pytest.raises(Erased) as told:
                await store.append(known)
            assert told.value.marks == {"old"}
            with pytest.raises(Erased):
                await store.append(late)
            assert await names(store) == []
            await store.append(replace(append("d"), marks=("new",), erasures=1))
            assert await log_of(store) == ["d"]

    async def test_running_jobs_of_a_user_are_taken_from_their_workers(self, tmp_path: Path) -> None:
        """I5: they wait again, with the attempts that they had; others go on."""
        async with self.opened(tmp_path) as store:
            for key in (KEY, key_of("bob")):
                await store.append(append("a", key=key))
                await planned(store, key)
            jobs = [await claimed(store), await claimed(store, owner="w2")]
            ours, theirs = sorted(jobs, key=lambda job: job.key.user)
            count = await store.write(TENANT, lambda unit: unit.purging.interrupt(TENANT, user="alice", now=after(1)))
            assert count == 1
            assert not await holds(store, fence_of(ours))
            assert await holds(store, fence_of(theirs))
            found = {job.key.user: job for job in await jobs_of(store)}
            waiting = found["alice"]
            assert (waiting.state, waiting.attempt, waiting.lease_owner) == (JobState.QUEUED, 0, None)
            assert found["bob"].state is JobState.RUNNING

    async def test_nothing_is_left_of_a_message_or_of_what_was_made_of_it(self, tmp_path: Path) -> None:
        """I12: versions that end behind it go, and the head goes back to the newest that does not."""
        async with self.opened(tmp_path) as store:
            first = summary((0, 3), version=1)
            second = summary((0, 3), (3, 6), version=2, base=first)
            await prepared(store, first, second)
            other = summary((0, 6), version=1)
            await prepared(store, other, key=key_of("bob"))

            def serve(unit: Unit) -> None:
                assert move(unit, Head(), Head(position=3, summary_id=first.id))
                assert move(unit, Head(position=3, summary_id=first.id), Head(position=6, summary_id=second.id))

            await store.write(TENANT, serve)
            purged = await taken_out(store, 4)
            assert purged.counts["summaries"] == 1
            assert not purged.chunks
            assert not purged.topics
            assert await chain(store) == [first]
            assert await head(store) == Head(position=3, summary_id=first.id)
            assert await chain(store, key_of("bob")) == [other]
            gone = await message(store, 4)
            assert gone.erased
            assert gone.deleted
            assert gone.content == ""
            assert not (await message(store, 3)).erased
            row = await session(store)
            earlier = await store.read(
                TENANT, lambda unit: unit.history.versions(TENANT, row.id, SeqRange(0, row.head))
            )
            assert earlier == []
            await taken_out(store, 0)
            assert await chain(store) == []
            assert await head(store) == Head()

    async def test_of_a_user_no_name_is_left_and_subjects_go_to_another_member(self, tmp_path: Path) -> None:
        """A subject that has no other member goes; one that has is owned by the one who was there first."""
        async with self.opened(tmp_path) as store:

            def make(unit: Unit) -> None:
                for name, members in (("own", ("alice",)), ("shared", ("alice", "bob"))):
                    unit.subjects.create(
                        TENANT, Subject(id=name, name=name, owner="alice", created_at=NOW, members=members)
                    )
                unit.subjects.add(TENANT, "shared", "carol", now=after(9))

            await store.write(TENANT, make)
            counts = await store.write(TENANT, lambda unit: unit.purging.of_user(TENANT, "alice"))
            assert (counts["subjects"], counts["memberships"]) == (1, 2)

            def look(unit: Unit) -> tuple[Subject | None, Subject | None]:
                return unit.subjects.get(TENANT, "own"), unit.subjects.get(TENANT, "shared")

            own, shared = await store.read(TENANT, look)
            assert own is None
            assert shared is not None
            assert (shared.owner, shared.members) == ("bob", ("bob", "carol"))

    async def test_what_would_go_is_counted_and_nothing_of_others(self, tmp_path: Path) -> None:
        """Numbers and ids; what is found is what is named."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b"))
            await store.append(append("c", key=key_of("bob")))
            counts, ids = await store.read(TENANT, lambda unit: unit.purging.count(TENANT, ALICE))
            row = await session(store)
            assert counts == {"sessions": 1, "messages": 2, "receipts": 1}
            assert ids["sessions"] == [row.id]
            assert len(ids["messages"]) == 2
            first: UUID = (await message(store, 0)).id
            assert await store.read(TENANT, lambda unit: unit.purging.place(TENANT, first)) == (KEY, 0)
            assert await store.read("t2", lambda unit: unit.purging.place("t2", first)) is None
            found = await store.read(TENANT, lambda unit: unit.purging.sessions(TENANT, ALICE, before=NOW, limit=9))
            assert [each.id for each in found] == [row.id]

            def drop(unit: Unit) -> None:
                unit.sessions.reset(TENANT, row.id, now=after(1))
                unit.purging.drop_session(row)

            await store.write(TENANT, drop)
            assert await store.read(TENANT, lambda unit: unit.purging.count(TENANT, ALICE)) == ({}, {})
            assert await log_of(store, key_of("bob")) == ["c"]

    async def test_a_session_out_of_sight_is_not_found_and_comes_back_when_it_is_written_in(
        self, tmp_path: Path
    ) -> None:
        """I13: it keeps everything; by its name, in lists and in searches it is not there."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a rare word"))
            await store.append(append("b", key=key_of(session="s2"), now=after(2)))

            def unused(unit: Unit) -> Sequence[SessionRow]:
                return unit.sessions.longest_unused(TENANT, before=after(1), after=None, limit=9)

            assert [row.key.session for row in await store.read(TENANT, unused)] == ["s1"]
            row = await expired(store)
            assert await store.read(TENANT, lambda unit: unit.sessions.find(KEY)) is None
            assert await names(store) == ["s2"]
            assert await store.read(TENANT, unused) == []
            (hidden,) = await store.read(TENANT, lambda unit: unit.sessions.expired(TENANT, limit=9))
            assert (hidden.id, hidden.expired_at, hidden.head) == (row.id, after(1), 1)
            for user, there in (("alice", [hidden]), ("alic", [])):

                def of_user(unit: Unit, user: str = user) -> Sequence[SessionRow]:
                    return unit.sessions.expired(TENANT, user=user, limit=9)

                assert list(await store.read(TENANT, of_user)) == there
            matches = await store.read(
                TENANT,
                lambda unit: unit.words.find(
                    TENANT, "alice", agent=None, session_id=None, terms=["rare"], pieces=[], limit=9
                ),
            )
            assert matches.found == []
            assert await store.unfinished(limit=9) == [TENANT]
            await store.append(append("again", now=after(3)))
            assert await log_of(store) == ["a rare word", "again"]
            await expired(store)
            await store.write(TENANT, lambda unit: unit.sessions.revive(row, now=after(9)))
            assert (await session(store)).updated_at == after(9)

    async def test_a_session_may_be_kept_for_a_time_of_its_own(self, tmp_path: Path) -> None:
        """Whenever it was used: whoever looks for what may expire finds it."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            row = await session(store)
            await store.write(TENANT, lambda unit: unit.sessions.keep_for(TENANT, row.id, 2.5))

            def unused(unit: Unit) -> Sequence[SessionRow]:
                return unit.sessions.longest_unused(TENANT, before=None, after=None, limit=9)

            kept = await store.read(TENANT, unused)
            assert [(found.id, found.keep_days) for found in kept] == [(row.id, 2.5)]
            behind = await store.read(
                TENANT, lambda unit: unit.sessions.longest_unused(TENANT, before=None, after=kept[0], limit=9)
            )
            assert behind == []
