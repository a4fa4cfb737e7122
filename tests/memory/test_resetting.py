"""What a reset says: how many messages went that were there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import opened

pytestmark = pytest.mark.anyio


async def test_a_reset_counts_the_messages_that_were_there_not_those_deleted_or_erased_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = memory.session(user="alice", session="s1")
        for number in range(6):
            await chat.add("user", f"message {number}")
        await chat.delete(1)
        await memory.erase(user="alice", session="s1", message=3)
        assert await chat.reset() == 4
        assert await chat.reset() == 0
        await chat.add("user", "again")
        assert await chat.reset() == 1
