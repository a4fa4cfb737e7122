"""With `extraction = "turn"` a turn is read when it is whole, and no answer waits for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import opened

from anaphora.ports.models import Completion
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


class Held(ScriptedChat):
    """Answers at once, and reads for facts when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go_on = anyio.Event(), anyio.Event()
        self.read: list[str] = []

    async def complete(self, messages: Any, **how: Any) -> Completion:
        self.read.append(messages[-1].content)
        self.reading.set()
        await self.go_on.wait()
        return await super().complete(messages, **how)


async def test_no_answer_waits_for_a_turn_that_is_read_and_it_is_read_with_its_answer(tmp_path: Path) -> None:
    chat = Held()
    async with opened(tmp_path, chat=chat, at_work=True, extraction="turn") as memory:
        session = memory.session(user="ann", session="s")
        with anyio.fail_after(20):
            await session.send("I am allergic to peanuts")
            await chat.reading.wait()
            await session.send("I like tea")
        assert len(chat.read) == 1
        assert "I am allergic to peanuts" in chat.read[0]
        assert "You said: I am allergic" in chat.read[0]
        chat.go_on.set()
        assert await memory.idle(20)
