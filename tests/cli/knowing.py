"""Facts for the tests of the command line: added by a user, or learned from what was said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from tests.cli.conftest import Run

from anaphora import Memory
from anaphora.settings import load
from anaphora.testing.scripted import ScriptedChat

USER = ("--user", "alice")


def add(run: Run, content: str, *more: str, user: str = "alice") -> str:
    """The id of a fact that the user adds."""
    done = run("facts", "add", content, "--user", user, *more, "--json")
    assert done.code == 0, done.err
    return str(done.document["id"])


def facts(run: Run, *more: str, user: str = "alice") -> Sequence[Any]:
    """What is known of the user, whatever its state."""
    done = run("facts", "list", "--user", user, "--state", "all", "--json", *more)
    assert done.code == 0, done.err
    return list(done.document["facts"])


def contents(run: Run, *more: str, user: str = "alice") -> list[str]:
    """What the active facts say, newest first."""
    found = run("facts", "list", "--user", user, "--json", *more).document["facts"]
    return [fact["content"] for fact in found]


def learn(database: Path, *said: str, user: str = "alice", session: str = "trip", subject: str | None = None) -> None:
    """Let a model read what the user says, turn by turn."""

    async def talk() -> None:
        settings = load(db=str(database), extraction="turn")
        async with Memory.open(settings=settings, memory_model=ScriptedChat(), worker=False) as memory:
            chat = memory.session(user=user, session=session, subject=subject)
            for text in said:
                await chat.add("user", text)
                await chat.add("assistant", "Noted.")
                await memory.work()

    anyio.run(talk)
