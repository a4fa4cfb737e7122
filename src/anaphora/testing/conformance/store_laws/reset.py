"""I12: what was reset is gone and cannot come back; what is somebody else's stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.errors import LeaseLost
from anaphora.ports.rows import Head
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    NOW,
    TENANT,
    after,
    always,
    append,
    chain,
    claim,
    due,
    failed,
    head,
    insert,
    key_of,
    log_of,
    move,
    planned,
    session,
    summary,
)

READERS = ("live:standard", "rebuild:standard")
OTHERS = (key_of("bob"), key_of(session="s2"), key_of(agent="cook"), key_of(tenant="t2"))


async def reset(store: Store, key: SessionKey = KEY, *, tenant: str | None = None) -> int:
    """Reset a session; how many messages went."""
    row = await session(store, key)
    return await store.write(key.tenant, lambda unit: unit.sessions.reset(tenant or key.tenant, row.id, now=after(1)))


async def jobs_in(store: Store, key: SessionKey = KEY) -> list[Job]:
    """The jobs of one session, newest first."""
    row = await session(store, key)
    return list(await store.read(key.tenant, lambda unit: unit.jobs.list(key.tenant, session_id=row.id)))


async def filled(store: Store, key: SessionKey = KEY) -> None:
    """A session with something of everything: messages, versions, heads, jobs that failed, that run and that wait."""
    await store.append(append("a secret word", "b", "c", key=key, idempotency_key="k", strategy="one", subject="Ann"))
    base = summary((0, 1), version=1)
    newest = summary((0, 2), version=2, base=base)

    def derive(unit: Unit) -> None:
        insert(unit, base, newest, key=key)
        for reader in READERS:
            assert move(unit, Head(), Head(position=2, summary_id=newest.id), reader=reader, key=key)

    await store.write(key.tenant, derive)
    for ends in (True, False):
        await planned(store, key)
        (waiting,) = (job for job in await jobs_in(store, key) if job.state is JobState.QUEUED)
        job = await claim(store, key.tenant, waiting.id)
        assert job is not None
        if ends:
            await failed(store, job, reason="it said: a secret word")
    await planned(store, key, JobKind.REBUILD, from_seq=0)


async def everything(store: Store, key: SessionKey) -> tuple[object, ...]:
    """All that a store has of a session."""
    row = await session(store, key)
    heads = [await head(store, reader=reader, key=key) for reader in READERS]
    return row, await log_of(store, key), await chain(store, key), heads, await jobs_in(store, key)


class ResetLaws(StoreLaws):
    """Erasing a session."""

    async def test_a_reset_session_is_as_new(self, tmp_path: Path) -> None:
        """I12: no message, version, head or live job is left; what is over keeps no word of why it failed."""
        async with self.opened(tmp_path) as store:
            await filled(store)
            before = await session(store)
            assert await reset(store) == 3
            row = await session(store)
            assert (row.id, row.key, row.strategy, row.subject) == (before.id, KEY, "one", "Ann")
            assert (row.head, row.turns, row.turn_starts, row.tokens) == (0, 0, (), 0)
            assert (row.turn_finished, row.ended_at, row.epoch) == (True, None, 1)
            assert await log_of(store) == []
            assert await chain(store) == []
            assert [await head(store, reader=reader) for reader in READERS] == [Head(), Head()]
            assert [(job.state, job.reason) for job in await jobs_in(store)] == [(JobState.FAILED, None)]
            assert await due(store, now=None) == 0

    async def test_what_is_said_after_a_reset_begins_anew(self, tmp_path: Path) -> None:
        """I12, I2: messages are numbered from 0 and versions from 1 again, and heads move from the start."""
        async with self.opened(tmp_path, planner=always) as store:
            await filled(store)
            await reset(store)
            receipt = await store.append(append("new life"))
            assert receipt.range == SeqRange(0, 1)
            assert await log_of(store) == ["new life"]
            assert await due(store) == 1
            again = summary((0, 1), version=1)
            await store.write(TENANT, lambda unit: insert(unit, again))
            assert await store.write(TENANT, lambda unit: move(unit, Head(), Head(position=1, summary_id=again.id)))
            assert await chain(store) == [again]

    async def test_a_reset_is_of_one_session(self, tmp_path: Path) -> None:
        """I12, I11: nothing of other sessions, agents, users and tenants is touched."""
        async with self.opened(tmp_path) as store:
            for key in (KEY, *OTHERS):
                await filled(store, key)
            before = [await everything(store, key) for key in OTHERS]
            await reset(store)
            assert [await everything(store, key) for key in OTHERS] == before

    async def test_nobody_resets_another_tenants_session(self, tmp_path: Path) -> None:
        """I11: with the id of a session, but not its tenant, nothing goes."""
        async with self.opened(tmp_path) as store:
            await filled(store)
            await filled(store, key_of(tenant="t2"))
            before = await everything(store, KEY)
            assert await reset(store, tenant="t2") == 0
            assert await everything(store, KEY) == before

    async def test_every_reset_raises_the_epoch(self, tmp_path: Path) -> None:
        """I5: each reset makes all work void that was planned before it, even if there was nothing to delete."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            assert [await reset(store) for _ in range(3)] == [1, 0, 0]
            assert (await session(store)).epoch == 3
            assert await planned(store)
            assert [job.epoch for job in await jobs_in(store)] == [3]

    async def test_a_receipt_outlives_its_messages_and_its_key_is_free_again(self, tmp_path: Path) -> None:
        """I12, I14: a receipt still says of which epoch it was; the same key may come with other words."""
        async with self.opened(tmp_path) as store:
            first = await store.append(append("a", idempotency_key="k"))
            await reset(store)
            kept = await store.read(TENANT, lambda unit: unit.messages.receipt(TENANT, first.id))
            assert kept is not None
            assert (kept.epoch, (await session(store)).epoch) == (0, 1)
            again = await store.append(append("quite another", idempotency_key="k"))
            assert not again.repeated
            renewed = await store.read(TENANT, lambda unit: unit.messages.receipt(TENANT, again.id))
            assert renewed is not None
            assert renewed.epoch == 1

    async def test_a_reset_that_does_not_commit_changes_nothing(self, tmp_path: Path) -> None:
        """I8, I12: it is one transaction, like everything else."""
        async with self.opened(tmp_path) as store:
            await filled(store)
            row, before = await session(store), await everything(store, KEY)

            def breaks(unit: Unit) -> None:
                assert unit.sessions.reset(TENANT, row.id, now=NOW) == 3
                raise LeaseLost("pulled the plug")

            with pytest.raises(LeaseLost):
                await store.write(TENANT, breaks)
            assert await everything(store, KEY) == before

    async def test_a_reset_is_still_one_after_closing(self, tmp_path: Path) -> None:
        """I12, I7: nothing comes back with the next process."""
        async with self.opened(tmp_path) as store:
            await filled(store)
            await reset(store)
            left = await everything(store, KEY)
        async with self.opened(tmp_path) as store:
            assert await everything(store, KEY) == left
            assert (await session(store)).epoch == 1
