"""The child that erases, and lets expire, while it is killed; run again it finishes what it left."""

from __future__ import annotations

import sys
from datetime import timedelta

import anyio

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.bootstrap.system import failpoint_from
from anaphora.errors import NotFound
from anaphora.settings import Settings
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

TURNS = 6


def word(user: str, session: str, turn: int) -> str:
    """What was said there, and nowhere else."""
    return f"zz{user}{session}word{turn:02}"


async def fill(memory: Memory) -> None:
    """Everything that is to be there before anything is erased; what is there already is not said again."""
    for user, session in (("alice", "s1"), ("alice", "s2"), ("bob", "s1"), ("bob", "old")):
        chat = memory.session(user=user, session=session)
        for turn in range(TURNS):
            await chat.add("user", f"I am allergic to {word(user, session, turn)}.", key=f"{turn}")
            await chat.add("assistant", "Noted.", key=f"answer {turn}")
    await memory.work()


async def main(path: str) -> None:
    """Fill, the first time; then keep, expire, bring back, expire again, and erase a message, a session, a user."""
    clock = FakeClock()
    settings = Settings(db=path, embedder="none", batch_extraction={"threshold": 2, "batch": 4})
    given = Overrides(chat_model=ScriptedChat(faithful), clock=clock, failpoint=failpoint_from(settings.failpoint))
    async with Memory.open(settings=settings, overrides=given, worker=False) as memory:
        if not await memory.erasures() and not await memory.retention.expired():
            await fill(memory)
        for days in (1.0, None):
            try:
                await memory.retention.keep(days, user="bob", session="old")
            except NotFound:
                break
            clock.jump(timedelta(days=2).total_seconds())
            await memory.work()  # what is about to expire is summarised to its end
            await memory.retention.run()
            if await memory.retention.expired():
                await memory.retention.restore(user="bob", session="old")
        for target in (
            {"user": "bob", "session": "s1", "message": 2},
            {"user": "alice", "session": "s2"},
            {"user": "alice"},
        ):
            try:
                await memory.erase(**target)
            except NotFound:
                continue
        await memory.work()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
