"""A small pool serves many slow chats: no connection is held while a model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.databases.postgres import database_of

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.memory import Session
from anaphora.services.chat import Answer
from anaphora.settings import PostgresSettings, Settings
from anaphora.testing.conformance.memory_laws.conversations import QUARTER
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

CHATS, CONNECTIONS = 50, 2
_OURS = "application_name = 'anaphora' AND datname = current_database()"
_COUNT = f"SELECT count(*) FROM pg_stat_activity WHERE {_OURS}"  # noqa: S608 - our own
_IN_TRANSACTION = f"{_COUNT} AND state LIKE 'idle in%'"
_END_THEM = f"SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE {_OURS}"  # noqa: S608


@dataclass(slots=True)
class SlowModel:
    """Answers nobody before everybody has asked, and the test lets it."""

    chat: ScriptedChat = field(default_factory=ScriptedChat)
    asked: int = 0
    everybody_asked: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.chat.pause = self._pause

    async def _pause(self) -> None:
        self.asked += 1
        if self.asked == CHATS:
            self.everybody_asked.set()
        await self.go_on.wait()


@asynccontextmanager
async def fifty(folder: Path, model: SlowModel) -> AsyncIterator[tuple[list[Session], Any]]:
    """Sessions of one memory whose pool is small, and a connection that is not the memory's."""
    url = await database_of(folder)
    settings = Settings(
        db=url, embedder="none", durability="normal", postgres=PostgresSettings(connections=CONNECTIONS)
    )
    given = Overrides(chat_model=model.chat, counter=QUARTER)
    stranger = await asyncpg.connect(url)
    try:
        async with Memory.open(settings=settings, overrides=given, worker=False) as memory:
            yield [memory.session(user=f"u{at % 7}", session=f"s{at}") for at in range(CHATS)], stranger
    finally:
        await stranger.close()


async def check_answered(chats: list[Session], answers: list[Answer]) -> None:
    """Each got its own answer, and both messages are there once."""
    for at, (chat, answer) in enumerate(zip(chats, answers, strict=True)):
        assert answer.text.strip() == f"You said: I am number {at}"
        said = [(message.role.value, message.content) for message in await chat.messages()]
        assert said == [("user", f"I am number {at}"), ("assistant", answer.text)]


@pytest.mark.parametrize("ended", [False, True], ids=["quiet", "connections end"])
async def test_two_connections_serve_fifty_chats_whose_models_are_slow(tmp_path: Path, *, ended: bool) -> None:
    """All fifty calls are under way at once; also if the server ends every connection meanwhile, all end well."""
    model = SlowModel()
    async with fifty(tmp_path, model) as (chats, stranger), asyncio.timeout(60):
        sending = [asyncio.create_task(chat.send(f"I am number {at}")) for at, chat in enumerate(chats)]
        await model.everybody_asked.wait()
        assert not any(task.done() for task in sending)
        assert await stranger.fetchval(_IN_TRANSACTION) == 0, "a connection is held across a call of the model"
        assert 1 <= await stranger.fetchval(_COUNT) <= CONNECTIONS
        if ended:
            assert await stranger.fetchval(_END_THEM) >= 1
            assert await stranger.fetchval(_COUNT) == 0, "the fault did not happen"
        model.go_on.set()
        await check_answered(chats, await asyncio.gather(*sending))
        assert model.asked == CHATS
        assert await stranger.fetchval(_COUNT) <= CONNECTIONS
