"""The laws of a memory hold for one that a service keeps: the very laws that ship, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.client.serving import connected
from tests.conformance.memories import OnDatabase
from tests.databases.sqlite import fresh

from anaphora.client import Client
from anaphora.memory import Memory


class Worked(Client):
    """What only the service does, done where it runs."""

    there: Memory

    async def work(self) -> int:
        return await self.there.work()


#: system text is of whoever runs the service, and no request sets it (docs/how-to/client.md)
_INSTRUCTIONS = "it gives instructions with a session, which a service does not take from those who ask"


class TestTheClient(OnDatabase):
    left_out = MappingProxyType(
        dict.fromkeys(
            (
                "test_the_memory_block_is_data_in_the_user_role_behind_a_keyed_mark",
                "test_a_budget_without_room_is_refused_and_says_what_is_needed",
                "test_forty_short_messages_are_sent_as_a_summary_and_about_ten_of_them",
                "test_the_prefix_is_byte_stable_between_two_versions",
            ),
            _INSTRUCTIONS,
        )
        | {
            "test_new_sessions_are_numbered_by_user_and_agent": "it lists everybody's sessions, which no key shows",
            "test_a_strategy_that_nobody_knows_names_the_nearest": "the service refuses it, when something is said",
        }
    )

    async def database(self, folder: Path) -> str:
        return str(fresh(folder / "memory.db"))

    @asynccontextmanager
    async def open_memory(self, folder: Path, **how: Any) -> AsyncIterator[Any]:
        async with super().open_memory(folder, **how) as memory, connected(memory, kind=Worked) as client:
            client.there = memory
            yield client
