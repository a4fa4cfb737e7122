"""The memory of the laws, over any database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from anaphora.bootstrap import Overrides
from anaphora.memory import Memory
from anaphora.ports.clock import Clock
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.settings import Settings
from anaphora.testing.conformance.memory import MemoryConformance


class OnDatabase(MemoryConformance):
    """Opens `Memory`, or what has its shape, over the database of a folder."""

    #: what opens it
    memory: ClassVar[Any] = Memory
    #: settings beside those that a law asks for
    settings: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    async def database(self, folder: Path) -> str:
        """The database of the folder, as a setting names it."""

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
    ) -> AsyncIterator[Any]:
        settings = Settings(db=await self.database(folder), **{**self.settings, **options})
        given = Overrides(chat_model=chat, clock=clock, counter=counter)
        async with self.memory.open(settings=settings, overrides=given, worker=at_work) as memory:
            yield memory
