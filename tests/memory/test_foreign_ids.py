"""I11: what is looked up by its id is not there for another user of the same tenant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa
from tests.memory.harness import opened, say

from anaphora import Memory
from anaphora.domain.jobs import JobState
from anaphora.domain.messages import ReceiptState
from anaphora.errors import NotFound
from anaphora.ports.store import Unit
from anaphora.storage.tables import jobs

pytestmark = pytest.mark.anyio

TENANT = "t"
NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)


async def test_a_receipt_is_not_there_for_another_user(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        mine = memory.session(user="ann", session="s")
        receipt = await mine.add("user", "Hello.")
        assert await memory.receipt(receipt.id, user="ann") is ReceiptState.APPENDED
        for reset in (False, True):
            if reset:
                await mine.reset()
            with pytest.raises(NotFound):
                await memory.receipt(receipt.id, user="bob")
        assert await memory.receipt(receipt.id, user="ann") is ReceiptState.ERASED
        await memory.erase(user="ann", session="s")
        with pytest.raises(NotFound):
            await memory.receipt(receipt.id, user="bob")
        assert await memory.receipt(receipt.id) is ReceiptState.ERASED


async def test_a_user_sees_and_retries_the_jobs_of_their_own_sessions_whatever_others_have(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="sliding_window") as memory:
        mine = await _failed(memory, "ann")
        theirs = [await _failed(memory, "bob", f"s{number}") for number in range(3)]
        assert [job.id for job in await memory.jobs.list(user="ann", limit=1)] == [mine]
        assert len(await memory.jobs.list(limit=50)) == 4
        with pytest.raises(NotFound):
            await memory.jobs.retry(theirs[0], user="ann")
        assert await memory.jobs.retry(user="ann") == 1
        assert [job.state for job in await memory.jobs.list(user="ann")] == [JobState.QUEUED]
        assert {job.state for job in await memory.jobs.list(user="bob")} == {JobState.FAILED}
        assert await memory.jobs.retry(theirs[0], user="bob") == 1


async def test_stuck_jobs_are_found_behind_any_number_that_wait_for_a_model(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="sliding_window") as memory:
        stuck = await _failed(memory, "ann", state="queued", waits=False)
        for number in range(3):
            await _failed(memory, "ann", f"w{number}", state="queued", waits=True)
        assert [job.id for job in await memory.jobs.list(stuck_seconds=1, limit=1)] == [stuck]


async def _failed(memory: Memory, user: str, session: str = "s", *, state: str = "failed", waits: bool = False) -> UUID:
    """The id of a job that a user has, which failed."""
    chat = memory.session(user=user, session=session)
    await say(chat, 30)
    row = next(row for row in await memory.sessions(user=user) if row.key == chat.key)
    (job,) = [job for job in await memory.jobs.list() if job.key == chat.key]

    def fail(unit: Unit) -> None:
        unit.jobs._run(  # type: ignore[attr-defined]
            sa.update(jobs)
            .where(jobs.c.tenant_id == TENANT, jobs.c.session_uid == row.id)
            .values(state=state, needs_model=waits, run_at=NOW)
        )

    await memory._services.store.write(TENANT, fail)
    return job.id
