"""Appends as SQLite does them; what every store does with them is in `anaphora.testing.conformance`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.storage.bench import append, log_of, opened

from anaphora.domain.keys import SeqRange
from anaphora.testing.failpoints import Recorder

pytestmark = pytest.mark.anyio


async def test_appends_that_are_handed_in_together_share_one_transaction(tmp_path: Path) -> None:
    seen = Recorder()
    async with opened(tmp_path / "m.db", failpoint=seen) as store:
        receipts = await asyncio.gather(*(store.append(append(str(number))) for number in range(20)))
        assert [receipt.range for receipt in receipts] == [SeqRange(n, n + 1) for n in range(20)]
        assert seen.names == ["append.before_commit", "append.after_commit"]


async def test_an_append_of_a_cancelled_caller_that_was_handed_in_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        going = asyncio.ensure_future(store.append(append("kept")))
        await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        await store.append(append("next"))
        assert await log_of(store) == ["kept", "next"]
