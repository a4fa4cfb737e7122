"""What is killed in `test_killed_reflection`: talk, end sessions, change what was said, and write in the notepad.

Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio

from anaphora import Memory
from anaphora.testing.scripted import ScriptedChat

SAID = tuple(f"I like pears number {number}." for number in range(3))
CHANGED = "I hate plums number 9."
MINE = "- Owns a boat."


async def main(path: str) -> None:
    """The whole of it, on the database at the path."""
    options: dict[str, Any] = {"embedder": "none", "extraction": "none", "notepad": {"enabled": "all"}}
    async with Memory.open(path, memory_model=ScriptedChat(), **options) as memory:
        for number, said in enumerate(SAID):
            session = memory.session(user="u", session=f"s{number}")
            turn = [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}]
            await session.add_turn(turn, key="turn")
            await session.end()
            await quiet(memory)
        await memory.session(user="u", session="s1").edit(0, CHANGED)
        await quiet(memory)
        page = await memory.notepad.show(user="u", agent="mine")
        if page is None:
            page = await memory.notepad.edit(MINE, user="u", agent="mine")
        if page.version == 1:
            page = await memory.notepad.edit("", user="u", agent="mine")
        if page.version == 2:
            await memory.notepad.revert(1, user="u", agent="mine")


async def quiet(memory: Memory) -> None:
    """Wait until nothing is left to be done."""
    if not await memory.idle(60):
        sys.exit("the work is never done")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
