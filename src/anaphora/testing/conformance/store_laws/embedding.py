"""I1, I11, I12: how far the vectors of a session are, and what is looked up of it, is what it says now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, NewMessage, Role
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput
from anaphora.ports.rows import Voice
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    LEASE,
    TENANT,
    after,
    append,
    jobs_of,
    key_of,
    planned,
    row_of,
    session,
)
from anaphora.testing.conformance.store_laws.vectors import SPACE, amend, at, nearest, put, spoken

#: a message: its session and its number
Place = tuple[UUID, int]

OTHER_SPACE = Space(profile="other", dimensions=2)
SECOND = key_of(session="s2")


async def pending(store: Store, *, key: SessionKey = KEY, space: Space = SPACE, limit: int = 9) -> list[int]:
    """The numbers of the messages that have no vector yet."""

    def work(unit: Unit) -> list[int]:
        return [message.seq for message in unit.embedding.pending(row_of(unit, key), space, limit=limit)]

    return await store.read(key.tenant, work)


async def embedded(store: Store, stop: int, *, key: SessionKey = KEY, space: Space = SPACE) -> None:
    """Note how far the vectors are."""
    await store.write(key.tenant, lambda unit: unit.embedding.embedded(row_of(unit, key), space, stop))


async def changed(store: Store, seq: int) -> None:
    """Another text in the place of a message, and a note that its vectors are gone."""
    await amend(store, seq, "another text")
    await store.write(TENANT, lambda unit: unit.embedding.changed(row_of(unit), seq))


async def is_behind(
    store: Store,
    *,
    tenant: str = TENANT,
    user: str = "alice",
    agent: str | None = None,
    within: SessionKey | None = None,
    space: Space = SPACE,
) -> bool:
    """Whether something of this scope has no vector yet."""
    uid = (await session(store, within)).id if within else None
    return await store.read(
        tenant, lambda unit: unit.embedding.is_behind(tenant, user, agent=agent, session_id=uid, space=space)
    )


async def behind(
    store: Store, *, tenant: str = TENANT, space: Space = SPACE, after: UUID | None = None, limit: int = 9
) -> list[int]:
    """The ids, as numbers, of the sessions with messages that have no vector yet."""
    rows = await store.read(tenant, lambda unit: unit.embedding.behind(tenant, space, after=after, limit=limit))
    return [row.id.int for row in rows]


async def forgotten(store: Store, space: Space, *, tenant: str = TENANT, limit: int = 9) -> int:
    """Drop the vectors of all other spaces."""
    return await store.write(tenant, lambda unit: unit.embedding.forget_others(tenant, space, limit=limit))


class EmbeddingLaws(StoreLaws):
    """How far the vectors are."""

    async def test_what_has_no_vector_waits_in_its_order(self, tmp_path: Path) -> None:
        """Live messages without a vector in this space, as they are stored, the first ones up to the limit."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdef"))
            await store.append(append("of another", key=SECOND))
            assert await pending(store) == [0, 1, 2, 3, 4, 5]
            await put(store, {0: [at(0)], 3: [at(0), at(1)]})
            await put(store, {1: [at(0)]}, space=OTHER_SPACE)
            await amend(store, 4, "", deleted=True)
            assert await pending(store) == [1, 2, 5]
            assert await pending(store, limit=2) == [1, 2]
            assert await pending(store, space=OTHER_SPACE) == [0, 2, 3, 5]
            row, log = await session(store), await spoken(store)
            waiting = await store.read(TENANT, lambda unit: unit.embedding.pending(row, SPACE, limit=9))
            assert list(waiting) == [message for message in log if message.seq in {1, 2, 5}]

    async def test_what_was_noted_is_not_looked_for_again(self, tmp_path: Path) -> None:
        """Nothing waits before the note, and it counts for its session and its space alone."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcd"))
            await store.append(append(*"abcd", key=SECOND))
            for stop, left in ((2, [2, 3]), (3, [3]), (4, [])):
                await embedded(store, stop)
                assert await pending(store) == left
            assert await pending(store, space=OTHER_SPACE) == [0, 1, 2, 3]
            assert await pending(store, key=SECOND) == [0, 1, 2, 3]
            await store.append(append("e"))
            assert await pending(store) == [4]

    async def test_a_changed_message_waits_again_in_every_space(self, tmp_path: Path) -> None:
        """And no other message of its session does, nor anything of another session."""
        async with self.opened(tmp_path) as store:
            for key in (KEY, SECOND):
                await store.append(append(*"abc", key=key))
                for space in (SPACE, OTHER_SPACE):
                    await put(store, {seq: [at(seq)] for seq in range(3)}, key=key, space=space)
                    await embedded(store, 3, key=key, space=space)
            assert not await is_behind(store)
            await changed(store, 2)
            await changed(store, 1)
            for space in (SPACE, OTHER_SPACE):
                assert await pending(store, space=space) == [1, 2]
                assert await is_behind(store, space=space)
                assert await pending(store, key=SECOND, space=space) == []
                assert not await is_behind(store, within=SECOND, space=space)

    async def test_a_change_beyond_the_note_leaves_it_where_it_is(self, tmp_path: Path) -> None:
        """What is noted is never more than what was made."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcd"))
            await embedded(store, 1)
            await changed(store, 3)
            assert await pending(store) == [1, 2, 3]

    async def test_a_scope_is_behind_as_long_as_something_of_it_waits(self, tmp_path: Path) -> None:
        """I11: of the tenant, the user, the agent and the session that are named, and in this space."""
        keys = [key_of(), SECOND, key_of(agent="cook"), key_of("bob"), key_of(tenant="t2")]
        async with self.opened(tmp_path) as store:
            assert not await is_behind(store)
            for key in keys:
                await store.append(append("a", key=key))
                await embedded(store, 1, key=key)
            await embedded(store, 1, space=OTHER_SPACE)
            assert not await is_behind(store)
            await store.append(append("b", key=keys[2]))
            assert await is_behind(store)
            assert await is_behind(store, agent="cook")
            assert await is_behind(store, within=keys[2])
            assert not await is_behind(store, agent="default")
            assert not await is_behind(store, within=KEY)
            assert not await is_behind(store, user="bob")
            assert not await is_behind(store, tenant="t2")
            assert await is_behind(store, user="bob", space=OTHER_SPACE)
            assert not await is_behind(store, within=KEY, space=OTHER_SPACE)
            assert not await is_behind(store, user="nobody")

    async def test_sessions_that_are_behind_are_listed_by_their_ids(self, tmp_path: Path) -> None:
        """Page by page, those of the tenant, each as it is stored; an empty session has nothing to wait for."""
        async with self.opened(tmp_path) as store:
            for number in (3, 1, 4, 2):
                key = key_of(f"user{number}", f"s{number}")
                await store.append(append("a", key=key, session_id=UUID(int=number)))
            await store.append(append("a", key=key_of(tenant="t2"), session_id=UUID(int=9)))
            await embedded(store, 1, key=key_of("user2", "s2"))
            await store.write(
                TENANT,
                lambda unit: unit.sessions.create(
                    key_of(session="empty"), session_id=UUID(int=5), strategy=None, subject=None, now=after(0)
                ),
            )
            assert await behind(store) == [1, 3, 4]
            assert await behind(store, limit=2) == [1, 3]
            assert await behind(store, after=UUID(int=3)) == [4]
            assert await behind(store, space=OTHER_SPACE) == [1, 2, 3, 4]
            assert await behind(store, tenant="t2") == [9]
            (first,) = await store.read(TENANT, lambda unit: unit.embedding.behind(TENANT, SPACE, after=None, limit=1))
            assert first == await session(store, key_of("user1", "s1"))

    async def test_vectors_of_other_spaces_go_bit_by_bit(self, tmp_path: Path) -> None:
        """Those of so many messages at a time, until none is left; then what was noted of them is gone too."""
        stranger = key_of(tenant="t2")
        async with self.opened(tmp_path) as store:
            for key in (KEY, stranger):
                await store.append(append(*"abc", key=key))
                for space in (SPACE, OTHER_SPACE):
                    await put(store, {seq: [at(seq), at(seq + 9)] for seq in range(3)}, key=key, space=space)
                    await embedded(store, 3, key=key, space=space)
            assert [await forgotten(store, SPACE, limit=2) for _ in range(3)] == [2, 1, 0]
            assert await nearest(store, at(0), space=OTHER_SPACE) == []
            assert await pending(store, space=OTHER_SPACE) == [0, 1, 2]
            assert await is_behind(store, space=OTHER_SPACE)
            assert len(await nearest(store, at(0))) == 6
            assert not await is_behind(store)
            assert len(await nearest(store, at(0), tenant="t2", space=OTHER_SPACE)) == 6
            assert not await is_behind(store, tenant="t2", space=OTHER_SPACE)

    async def test_after_a_reset_everything_waits_again(self, tmp_path: Path) -> None:
        """I12: what was noted of the messages that are gone is not said of those that have their numbers now."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"ab"))
            await put(store, {0: [at(0)], 1: [at(5)]})
            await embedded(store, 2)
            row = await session(store)
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, row.id, now=after(1)))
            assert not await is_behind(store)
            await store.append(append("c"))
            assert await is_behind(store)
            assert await pending(store) == [0]

    async def test_work_that_needs_an_embedder_is_for_those_who_have_one(self, tmp_path: Path) -> None:
        """Who has none is offered the other jobs, and counts no more than them."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            for kind in (JobKind.EMBED, JobKind.SUMMARISE):
                assert await planned(store, kind=kind)
            kinds = {(job.tenant, job.id): job.kind for job in await jobs_of(store)}
            for has_one, expected in ((True, {JobKind.EMBED, JobKind.SUMMARISE}), (False, {JobKind.SUMMARISE})):
                offered = await store.due_jobs(
                    now=after(1), lease_seconds=LEASE, with_model=True, limit=9, with_embedder=has_one
                )
                assert {kinds[job] for job in offered} == expected
                for now in (None, after(1)):
                    due = await store.due_count(now=now, with_model=True, with_embedder=has_one)
                    assert due == len(expected)

    async def test_a_note_of_a_transaction_that_failed_is_not_there(self, tmp_path: Path) -> None:
        """I8: vectors and how far they go are written together or not at all."""

        def half(unit: Unit) -> None:
            unit.embedding.embedded(row_of(unit), SPACE, 2)
            assert not unit.embedding.pending(row_of(unit), SPACE, limit=9)
            raise InvalidInput("no")

        async with self.opened(tmp_path) as store:
            await store.append(append(*"ab"))
            with pytest.raises(InvalidInput, match="no"):
                await store.write(TENANT, half)
            assert await pending(store) == [0, 1]


def _messages(tenant: str, wanted: Sequence[Place], unit: Unit) -> Mapping[Place, Message]:
    return unit.lookup.messages(tenant, wanted)


def _voices(tenant: str, wanted: Sequence[Place], unit: Unit) -> Mapping[Place, Voice]:
    return unit.lookup.voices(tenant, wanted)


def places(row_id: UUID, numbers: Sequence[int]) -> list[tuple[UUID, int]]:
    """The places of messages of one session."""
    return [(row_id, number) for number in numbers]


class LookupLaws(StoreLaws):
    """Messages by their places."""

    async def test_messages_are_looked_up_by_their_places(self, tmp_path: Path) -> None:
        """Of several sessions at once, each as it is stored; what is not there is left out."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abc"))
            await store.append(append(*"de", key=SECOND))
            first, second = await session(store), await session(store, SECOND)
            wanted = [*places(first.id, (2, 0, 7)), *places(second.id, (1, 1)), (UUID(int=1), 0)]
            said = await store.read(TENANT, lambda unit: unit.lookup.messages(TENANT, iter(wanted)))
            one, other = await spoken(store), await spoken(store, SECOND)
            log = {(first.id, 0): one[0], (first.id, 2): one[2], (second.id, 1): other[1]}
            assert dict(said) == log
            assert not await store.read(TENANT, lambda unit: unit.lookup.messages(TENANT, []))

    async def test_who_spoke_is_looked_up_by_the_places(self, tmp_path: Path) -> None:
        """The role and the name of each message that is there."""
        said = [
            NewMessage(role=Role.USER, content="a", name="Ann"),
            NewMessage(role=Role.ASSISTANT, content="b"),
            NewMessage(role=Role.SYSTEM, content="c", name="ops"),
        ]
        async with self.opened(tmp_path) as store:
            await store.append(append(messages=said))
            uid = (await session(store)).id
            voices = await store.read(TENANT, lambda unit: unit.lookup.voices(TENANT, places(uid, (0, 1, 2, 3))))
            assert dict(voices) == {
                (uid, seq): Voice(role=message.role, name=message.name) for seq, message in enumerate(said)
            }

    async def test_what_was_deleted_is_looked_up_in_vain_and_what_was_edited_as_it_is_now(self, tmp_path: Path) -> None:
        """I12: neither what a message said once nor who said it."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abc"))
            uid = (await session(store)).id
            await amend(store, 1, "", deleted=True)
            await amend(store, 2, "other")
            every = places(uid, range(3))
            said = await store.read(TENANT, lambda unit: unit.lookup.messages(TENANT, every))
            assert {place[1]: message.content for place, message in said.items()} == {0: "a", 2: "other"}
            voices = await store.read(TENANT, lambda unit: unit.lookup.voices(TENANT, every))
            assert set(voices) == set(said)

    async def test_nobody_looks_up_what_is_of_another_tenant(self, tmp_path: Path) -> None:
        """I11: two tenants may have sessions with one id, and each gets its own."""
        uid, stranger = UUID(int=7), key_of(tenant="t2")
        async with self.opened(tmp_path) as store:
            await store.append(append("mine", session_id=uid))
            await store.append(append("theirs", "more", key=stranger, session_id=uid, role=Role.ASSISTANT))
            every = places(uid, (0, 1))
            for tenant, expected, role in (
                (TENANT, ["mine"], {Role.USER}),
                ("t2", ["theirs", "more"], {Role.ASSISTANT}),
                ("t3", [], set()),
            ):
                said = await store.read(tenant, partial(_messages, tenant, every))
                assert [said[place].content for place in sorted(said)] == expected
                voices = await store.read(tenant, partial(_voices, tenant, every))
                assert len(voices) == len(expected)
                assert {voice.role for voice in voices.values()} == role
