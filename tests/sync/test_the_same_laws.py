"""The laws of the public API hold for the blocking one: the very laws that ship, on the other implementation."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.memories import OnDatabase
from tests.databases.sqlite import fresh
from tests.sync import async_shaped

from anaphora.bootstrap import Overrides
from anaphora.sync import Memory
from anaphora.testing.conformance.memory_laws.conversations import Quarter
from anaphora.testing.scripted import ScriptedChat


class TestTheBlockingMemory(OnDatabase):
    memory = async_shaped.Memory

    async def database(self, folder: Path) -> str:
        return str(fresh(folder / "memory.db"))


def test_a_memory_of_your_own_adapters_is_opened_with_plain_arguments(tmp_path: Path) -> None:
    with Memory.open(
        tmp_path / "m.db", chat_model=ScriptedChat(), worker=False, overrides=Overrides(counter=Quarter())
    ) as memory:
        answer = memory.session(user="u", session="s").send("hello there")
        assert str(answer).strip() == "You said: hello there"
        assert (tmp_path / "m.db").is_file()
