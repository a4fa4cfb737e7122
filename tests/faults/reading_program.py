"""What is killed in `test_killed_extraction`: talk, read for facts, change what was said, and handle facts by hand.

Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import sys
from contextlib import suppress

import anyio

from anaphora import Memory
from anaphora.errors import InvalidInput
from anaphora.testing.scripted import ScriptedChat

TURNS = 4
SAID = tuple(f"I like pears number {number}." for number in range(TURNS))
CHANGED = "I hate plums number 9."
MINE, SHARED = "Owns a boat", "Joe loved jazz"


async def main(path: str) -> None:
    """The whole of it, on the database at the path."""
    async with Memory.open(path, memory_model=ScriptedChat(), embedder="none", extraction="turn") as memory:
        session = memory.session(user="u", session="s")
        for number, said in enumerate(SAID):
            turn = [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}]
            await session.add_turn(turn, key=f"turn {number}")
            await quiet(memory)
        await session.edit(0, CHANGED)
        await quiet(memory)
        await by_hand(memory)


async def quiet(memory: Memory) -> None:
    """Wait until nothing is left to be done."""
    if not await memory.idle(60):
        sys.exit("the work is never done")


async def by_hand(memory: Memory) -> None:
    """Facts that the user adds, pins and shares."""
    with suppress(InvalidInput):  # it was made before
        await memory.subjects.create("joe", user="u", members=["v"])
    fact = await memory.facts.add(MINE, user="u")
    await memory.facts.pin(fact.id, user="u")
    fact = await memory.facts.add(SHARED, user="u", subject="joe")
    await memory.facts.share(fact.id, user="u")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
