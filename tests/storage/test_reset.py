"""I12: what was reset is gone from SQLite's files to the last byte; what a store says of it is a shipped law."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.storage.bench import (
    KEY,
    NOW,
    after,
    always,
    append,
    claimed,
    fence_of,
    key_of,
    log_of,
    opened,
    row_of,
    summary,
)

from anaphora.domain.jobs import Job
from anaphora.domain.messages import NewMessage, Role
from anaphora.domain.summaries import Summary
from anaphora.ports.rows import Head
from anaphora.ports.store import Unit
from anaphora.storage.sqlite.store import SqliteStore
from anaphora.testing.failpoints import RaiseAt

pytestmark = pytest.mark.anyio

CANARY = "zyzzyvacanary"
CANARY_HAN = "龘龘龘靐靐靐"


async def filled(store: SqliteStore) -> None:
    """A session with the canary in every place that holds content, beside one of somebody else."""
    for number in range(30):
        await store.append(append(f"ordinary text number {number}", f"reply {number}", key=key_of("bob")))
        await store.append(append(f"ordinary text number {number} 普通的文字", f"reply {number}"))
    said = NewMessage(
        role=Role.USER,
        name=CANARY,
        content=f"my {CANARY} is {CANARY_HAN}",
        parts=({"type": "image", "caption": CANARY},),
        metadata={"note": CANARY},
    )
    await store.append(append(messages=[said], idempotency_key="k1", body_hash=CANARY))
    failed = fence_of(await claimed_of_alice(store))
    await store.write("t", lambda unit: unit.jobs.fail(failed, reason=CANARY, now=NOW))
    await store.append(append("one more"))
    waiting = fence_of(await claimed_of_alice(store))
    await store.write("t", lambda unit: unit.jobs.retry_later(waiting, run_at=after(9), reason=CANARY, now=NOW))
    base = summary((0, 4), version=1, text=CANARY)
    await store.write("t", lambda unit: derive(unit, base, summary((0, 6), version=2, base=base, text=CANARY)))


async def claimed_of_alice(store: SqliteStore) -> Job:
    job = await claimed(store)
    return job if job.key == KEY else await claimed(store)


def derive(unit: Unit, base: Summary, newer: Summary) -> None:
    row = row_of(unit)
    for version in (base, newer):
        unit.summaries.insert(row, version, now=NOW)
    head = Head(position=6, summary_id=newer.id)
    assert unit.summaries.move_head(row, "live:standard", old=Head(), new=head, now=NOW)


def bytes_with(folder: Path, *needles: str) -> list[str]:
    return [
        f"{path.name}: {needle}"
        for path in folder.iterdir()
        for needle in needles
        if needle.encode() in path.read_bytes()
    ]


async def test_a_reset_leaves_no_byte_of_the_content_in_any_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path, planner=always) as store:
        await filled(store)
        assert bytes_with(tmp_path, CANARY, CANARY_HAN)
        row = await store.read("t", row_of)
        assert await store.write("t", lambda unit: unit.sessions.reset("t", row.id, now=after(1))) == 62
        assert bytes_with(tmp_path, CANARY, CANARY[:6], CANARY_HAN, "龘龘龘") == []
    assert bytes_with(tmp_path, CANARY, CANARY[:6], CANARY_HAN, "龘龘龘") == []


async def test_bytes_that_a_reader_holds_on_to_are_gone_soon_after_it_ends(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", planner=always) as store:
        await filled(store)
        row = await store.read("t", row_of)
        looked, done = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(unit: Unit) -> int:
            head = row_of(unit).head
            loop.call_soon_threadsafe(looked.set)
            asyncio.run_coroutine_threadsafe(done.wait(), loop).result(30)
            return head

        reading = asyncio.ensure_future(store.read("t", slow))
        await looked.wait()
        await store.write("t", lambda unit: unit.sessions.reset("t", row.id, now=after(1)))
        assert bytes_with(tmp_path, CANARY)
        done.set()
        assert await reading == 62
        for _ in range(100):
            if not bytes_with(tmp_path, CANARY):
                return
            await asyncio.sleep(0.1)
        pytest.fail("the content is still there")


async def test_bytes_that_a_dying_process_left_are_gone_when_the_file_is_opened_again(tmp_path: Path) -> None:
    """A kill between a reset's commit and the cleaning: the mark on disk tells the next one."""
    path = tmp_path / "m.db"
    async with opened(path, planner=always) as store:
        await filled(store)
    died = f"""
import asyncio, sys
sys.path[:0] = {sys.path!r}
from tests.storage.bench import after, opened, row_of
from anaphora.testing.failpoints import KillAt
async def main():
    async with opened({str(path)!r}, failpoint=KillAt("write.after_commit")) as store:
        row = await store.read("t", row_of)
        await store.write("t", lambda unit: unit.sessions.reset("t", row.id, now=after(1)))
asyncio.run(main())
"""
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", died], check=False)
    assert done.returncode == -signal.SIGKILL
    assert bytes_with(tmp_path, CANARY[:6])
    async with opened(path) as store:
        assert await store.read("t", lambda unit: row_of(unit).head) == 0
    assert bytes_with(tmp_path, CANARY, CANARY[:6], CANARY_HAN, "龘龘龘") == []


async def test_a_reset_that_does_not_commit_changes_nothing(tmp_path: Path) -> None:
    broken = RaiseAt("reset.before_commit", OSError("pulled the plug"))
    async with opened(tmp_path / "m.db", failpoint=broken) as store:
        await store.append(append("a"))
        row = await store.read("t", row_of)
        with pytest.raises(OSError, match="pulled"):
            await store.write("t", lambda unit: unit.sessions.reset("t", row.id, now=NOW))
        assert await log_of(store) == ["a"]
        assert await store.read("t", row_of) == row
