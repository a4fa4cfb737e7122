"""I7, I17: what is opened again is what was closed, and nobody is told that nothing is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from anaphora.domain.jobs import JobState
from anaphora.errors import StoreClosed
from anaphora.ports.rows import Head
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    TENANT,
    always,
    append,
    chain,
    claimed,
    head,
    holds,
    insert,
    jobs_of,
    key_of,
    log_of,
    move,
    names,
    row_of,
    session,
    summary,
)
from anaphora.testing.conformance.store_laws.tools import fence_of as proof_of


class OpeningLaws(StoreLaws):
    """Opening, closing, and more than one handle."""

    async def test_everything_is_there_when_it_is_opened_again(self, tmp_path: Path) -> None:
        """I7: session, log, summaries, heads and jobs survive the end of the process that wrote them."""
        made = summary((0, 2), version=1)
        async with self.opened(tmp_path, planner=always) as store:
            await store.append(append("a", "b", "c"))
            await store.write(TENANT, lambda unit: insert(unit, made))
            await store.write(TENANT, lambda unit: move(unit, Head(), Head(position=2, summary_id=made.id)))
            job = await claimed(store)
            row = await session(store)
        async with self.opened(tmp_path) as store:
            assert await session(store) == row
            assert await log_of(store) == ["a", "b", "c"]
            assert (await chain(store), await head(store)) == ([made], Head(position=2, summary_id=made.id))
            assert [(one.id, one.state) for one in await jobs_of(store)] == [(job.id, JobState.RUNNING)]
            assert await holds(store, proof_of(job))

    async def test_what_one_handle_wrote_all_others_read(self, tmp_path: Path) -> None:
        """I17: when a write is acknowledged, everybody who has the database open sees it: nothing is kept back."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            for at in range(6):
                writer, reader = (one, two) if at % 2 else (two, one)
                await writer.append(append(f"{at}"))
                assert await log_of(reader) == [f"{n}" for n in range(at + 1)]

    async def test_a_handle_that_is_closed_takes_no_other_with_it(self, tmp_path: Path) -> None:
        """I17: one process ends, the others go on."""
        async with self.opened(tmp_path) as one:
            async with self.opened(tmp_path) as two:
                await two.append(append("a"))
            await one.append(append("b"))
            assert await log_of(one) == ["a", "b"]

    async def test_another_folder_is_another_database(self, tmp_path: Path) -> None:
        """I11: nothing of one database is in another."""
        folders = [tmp_path / "one", tmp_path / "two"]
        for folder in folders:
            folder.mkdir()
        async with self.opened(folders[0]) as one, self.opened(folders[1]) as two:
            await one.append(append("a"))
            assert await names(two) == []
            await two.append(append("b"))
            assert (await log_of(one), await log_of(two)) == (["a"], ["b"])
            assert await one.secret() != await two.secret()

    async def test_the_secret_is_made_once(self, tmp_path: Path) -> None:
        """I16: everybody who opens a database, at once or later, gets the same secret, and it cannot be guessed."""

        async def secret() -> bytes:
            async with self.opened(tmp_path) as store:
                return await store.secret()

        secrets = await asyncio.gather(*(secret() for _ in range(6)))
        assert {*secrets, await secret()} == {secrets[0]}
        assert len(secrets[0]) >= 16

    async def test_a_fresh_database_can_be_opened_by_many_at_once(self, tmp_path: Path) -> None:
        """I7: whoever comes first makes it, and nobody's first words are lost."""

        async def talk(caller: int) -> None:
            async with self.opened(tmp_path) as store:
                for turn in range(3):
                    await store.append(append(f"{caller}-{turn}"))

        await asyncio.gather(*map(talk, range(6)))
        async with self.opened(tmp_path) as store:
            log = await log_of(store)
            assert len(log) == 18
            for caller in range(6):
                assert [said for said in log if said.startswith(f"{caller}-")] == [f"{caller}-{n}" for n in range(3)]

    async def test_close_finishes_what_was_handed_in_and_then_refuses(self, tmp_path: Path) -> None:
        """I7, I17: nothing that was taken in is lost; after that there is an error, never an empty answer."""
        async with self.opened(tmp_path) as store:
            going = [asyncio.ensure_future(store.append(append(f"{number}"))) for number in range(60)]
            await asyncio.sleep(0)
            await asyncio.gather(store.close(), store.close())
            receipts = await asyncio.gather(*going)
            assert sorted(receipt.seq for receipt in receipts) == list(range(60))
            for call in (
                lambda: store.append(append("late")),
                lambda: store.read(TENANT, row_of),
                lambda: store.write(TENANT, row_of),
                lambda: store.wait_for_work(1),
            ):
                with pytest.raises(StoreClosed):
                    await call()
            await store.close()
        async with self.opened(tmp_path) as store:
            said = await log_of(store)
            assert [said[receipt.seq] for receipt in receipts] == [f"{number}" for number in range(60)]
            assert await names(store, key_of(tenant="t2").tenant) == []
