"""I2, I4, I6, I9, I14: many callers at once, through one handle and through several."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.ports.rows import Head
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    LEASE,
    NOW,
    STRATEGY,
    TENANT,
    after,
    always,
    append,
    candidates,
    claim,
    claimed,
    due,
    finished,
    head,
    jobs_of,
    key_of,
    log_of,
    move,
    names,
    new_id,
    planned,
    session,
)


def numbered(unit: Unit) -> str:
    """Make the next session that has a number for a name."""
    name = str(unit.sessions.next_number(TENANT, "alice", "default"))
    key = SessionKey(tenant=TENANT, user="alice", agent="default", session=name)
    unit.sessions.create(key, session_id=new_id(), strategy=STRATEGY, subject=None, now=NOW)
    return name


class ConcurrencyLaws(StoreLaws):
    """Many at once. Everything here goes through two handles, as two processes would."""

    async def test_many_callers_get_dense_numbers_in_the_order_of_the_log(self, tmp_path: Path) -> None:
        """I2: whoever writes, whatever else is written: each gets numbers of its own, and there is no hole."""
        keys = [key_of(session=f"s{number}") for number in range(3)]
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:

            async def talk(caller: int) -> list[tuple[int, int, str]]:
                said = []
                for number in range(4):
                    which = (caller + number) % len(keys)
                    text = f"{caller}/{number}"
                    receipt = await (one, two)[caller % 2].append(append(text, f"{text}+", key=keys[which]))
                    said.append((which, receipt.seq, text))
                return said

            said = [entry for entries in await asyncio.gather(*map(talk, range(24))) for entry in entries]
            for which, key in enumerate(keys):
                log = await log_of(one, key)
                mine = {seq: text for at, seq, text in said if at == which}
                assert len(log) == 2 * len(mine)
                assert {seq: log[seq] for seq in mine} == mine
                assert all(log[seq + 1] == f"{text}+" for seq, text in mine.items())

    async def test_handles_that_write_and_read_at_once_refuse_nobody(self, tmp_path: Path) -> None:
        """I17: being one of many is no error, and each caller's words stay in its own order."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:

            async def talk(caller: int, store: Store) -> None:
                for number in range(6):
                    receipt = await store.append(append(f"{caller}-{number}"))
                    assert (await session(store)).head > receipt.seq

            await asyncio.gather(*(talk(caller, (one, two)[caller % 2]) for caller in range(8)))
            log = await log_of(one)
            assert len(log) == 48
            for caller in range(8):
                assert [said for said in log if said.startswith(f"{caller}-")] == [f"{caller}-{n}" for n in range(6)]

    async def test_a_session_that_many_begin_at_once_is_one(self, tmp_path: Path) -> None:
        """I4: the first message may come from everybody; there is one session, and every message is in it."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            for turn in range(4):
                key = key_of(session=f"s{turn}")
                receipts = await asyncio.gather(
                    *(store.append(append("hello", key=key)) for _ in range(3) for store in (one, two))
                )
                assert sorted(receipt.seq for receipt in receipts) == list(range(6))
            assert await names(one) == ["s0", "s1", "s2", "s3"]

    async def test_retries_through_two_handles_write_once(self, tmp_path: Path) -> None:
        """I14: it does not matter where a retry arrives."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            for turn in range(4):
                twins = [append("hello", idempotency_key=f"k{turn}") for _ in range(6)]
                receipts = await asyncio.gather(*((one, two)[at % 2].append(twin) for at, twin in enumerate(twins)))
                assert [receipt.repeated for receipt in receipts].count(False) == 1
                assert {receipt.range for receipt in receipts} == {SeqRange(turn, turn + 1)}
                assert len({receipt.id for receipt in receipts}) == 1
            assert await log_of(one) == ["hello"] * 4

    async def test_sessions_that_are_numbered_at_once_get_numbers_of_their_own(self, tmp_path: Path) -> None:
        """I4: who reads the next number and then takes it is alone between the two."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            given = await asyncio.gather(*(store.write(TENANT, numbered) for _ in range(8) for store in (one, two)))
            assert sorted(given, key=int) == [str(number) for number in range(1, 17)]
            assert await names(one) == sorted(given)

    async def test_sixty_four_plans_at_once_make_one_live_job(self, tmp_path: Path) -> None:
        """I4: the database, not a check, sees to it that there is one."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            await one.append(append("a"))
            made = await asyncio.gather(*(planned(store) for _ in range(32) for store in (one, two)))
            assert made.count(True) == 1
            assert await due(one) == len(await jobs_of(two)) == 1

    async def test_one_job_is_claimed_by_one_worker(self, tmp_path: Path) -> None:
        """I4, I5: of many that try at once one gets it, and it is counted once; so it is when a lease is over."""
        async with self.opened(tmp_path, planner=always) as one, self.opened(tmp_path) as two:
            await one.append(append("a"))
            ((tenant, job_id),) = await candidates(one)
            for attempt, now in ((1, NOW), (2, after(LEASE))):
                claims = await asyncio.gather(
                    *(claim((one, two)[n % 2], tenant, job_id, owner=f"{attempt}-{n}", now=now) for n in range(12))
                )
                winners = [job for job in claims if job is not None]
                assert [job.attempt for job in winners] == [attempt]
                assert await jobs_of(two) == winners

    async def test_of_many_that_move_a_head_from_the_same_place_one_succeeds(self, tmp_path: Path) -> None:
        """I6: compare and swap, from the start and from later on."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            await one.append(append(*map(str, range(30))))
            old = Head()
            for turn in range(3):
                wanted = [Head(position=10 * turn + number) for number in range(1, 9)]
                moves = await asyncio.gather(
                    *(
                        (one, two)[at % 2].write(TENANT, partial(move, old=old, new=new))
                        for at, new in enumerate(wanted)
                    )
                )
                assert moves.count(True) == 1
                old = await head(two)
                assert old == wanted[moves.index(True)]

    async def test_no_append_beside_the_end_of_a_job_is_overlooked(self, tmp_path: Path) -> None:
        """I9: either the job that ends is told to look again, or a new one is planned."""
        async with self.opened(tmp_path, planner=always) as one, self.opened(tmp_path) as two:
            await one.append(append("first"))
            for turn in range(12):
                job = await claimed(two)
                appending = asyncio.create_task(one.append(append(f"{turn}")))
                for _ in range(turn % 4):
                    await asyncio.sleep(0)
                again, _ = await asyncio.gather(finished(two, job), appending)
                assert again != (await due(one) == 1), "I9: nobody will look at this message, or two will"
                if again:
                    assert await planned(two)
