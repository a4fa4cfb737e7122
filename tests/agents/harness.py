"""Agents on a real file, with a scripted model, and a database that another process keeps for itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from anaphora import Memory
from anaphora.agents import Agent
from anaphora.settings import Settings
from anaphora.testing.scripted import ScriptedChat

USER, SESSION = "ann", "s"
#: what agents of these tests do not speak of; a file that is kept by another is given up at once
QUICK: Mapping[str, Any] = {"encoding": "cl100k_base", "busy_timeout": 0.05}


def config(**more: Any) -> dict[str, Any]:
    """An agent with a memory."""
    return {"agent_id": "research", "resources": ["memory"], **more}


def compressed(**values: Any) -> dict[str, Any]:
    """How its memory is compressed."""
    return {"resource_config": {"memory": {"compression": values}}}


def agent_in(
    folder: Path,
    chat: ScriptedChat | None,
    *,
    session: str = SESSION,
    user: str = USER,
    options: Any = None,
    **more: Any,
) -> Agent:
    """An agent whose memory is in that folder."""
    settings = Settings(db=str(folder / "memory.db"), **{**QUICK, **(options or {})})
    return Agent.from_config(
        config(**more), user=user, session=session, settings=settings, chat_model=chat, worker=False
    )


@contextmanager
def kept_by_another(path: Path) -> Iterator[None]:
    """Nobody else can write to the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def archived(folder: Path, *agents: str, text: str, user: str = USER) -> None:
    """In the memory of that folder each of these agents has had a conversation with the user, which is archived."""
    budget = {"threshold_tokens": 400, "recent_messages_to_keep": 2, "archive_conversations": True}
    more = {**QUICK, "extraction": "none", "strategy": "token_budget", "token_budget": budget}
    async with Memory.open(str(folder / "memory.db"), worker=False, **more) as memory:
        for agent in agents:
            session = memory.session(user=user, agent=agent, session="old")
            await session.add("user", text)
            await session.end()
        await memory.work()
