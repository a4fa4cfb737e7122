"""The laws of the public API hold for the blocking one: the very laws that ship, on the other implementation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.sync import async_shaped

from anaphora.bootstrap import Overrides
from anaphora.ports.clock import Clock
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.settings import Settings
from anaphora.sync import Memory
from anaphora.testing.conformance.memory import MemoryConformance
from anaphora.testing.conformance.memory_laws.conversations import Quarter
from anaphora.testing.scripted import ScriptedChat


class TestTheBlockingMemory(MemoryConformance):
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
        settings = Settings(db=str(folder / "memory.db"), **options)
        given = Overrides(chat_model=chat, clock=clock, counter=counter)
        async with async_shaped.Memory.open(settings=settings, overrides=given, worker=at_work) as memory:
            yield memory


def test_a_memory_of_your_own_adapters_is_opened_with_plain_arguments(tmp_path: Path) -> None:
    with Memory.open(
        tmp_path / "m.db", chat_model=ScriptedChat(), worker=False, overrides=Overrides(counter=Quarter())
    ) as memory:
        answer = memory.session(user="u", session="s").send("hello there")
        assert str(answer).strip() == "You said: hello there"
        assert (tmp_path / "m.db").is_file()
