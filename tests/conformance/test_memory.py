"""Every law of a memory, on `Memory` over a file and over a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.databases.postgres import database_of

from anaphora.bootstrap import Overrides
from anaphora.memory import Memory
from anaphora.ports.clock import Clock
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.settings import Settings
from anaphora.testing.conformance.memory import MemoryConformance


class TestOnSqlite(MemoryConformance):
    async def database(self, folder: Path) -> str:
        return str(folder / "memory.db")

    @asynccontextmanager
    async def open_memory(
        self,
        folder: Path,
        *,
        chat: ChatModel | None,
        clock: Clock | None,
        counter: TokenCounter | None,
        at_work: bool,
        **options: Any,
    ) -> AsyncIterator[Memory]:
        settings = Settings(db=await self.database(folder), **options)
        given = Overrides(chat_model=chat, clock=clock, counter=counter)
        async with Memory.open(settings=settings, overrides=given, worker=at_work) as memory:
            yield memory


class TestOnPostgres(TestOnSqlite):
    async def database(self, folder: Path) -> str:
        return await database_of(folder)
