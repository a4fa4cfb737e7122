"""What is killed in `test_killed_pruning`: more is learned than is kept, beside a fact that the user pinned.

Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
from tests.faults.reading_program import MINE, quiet

from anaphora import Memory
from anaphora.testing.scripted import ScriptedChat

TURNS, CAPACITY = 8, 4


async def main(path: str) -> None:
    """The whole of it, on the database at the path."""
    options: dict[str, Any] = {"embedder": "none", "extraction": "turn", "facts": {"capacity": CAPACITY}}
    async with Memory.open(path, memory_model=ScriptedChat(), **options) as memory:
        fact = await memory.facts.add(MINE, user="u")
        await memory.facts.pin(fact.id, user="u")
        session = memory.session(user="u", session="s")
        for number in range(TURNS):
            said = {"role": "user", "content": f"I like pears number {number}."}
            await session.add_turn([said, {"role": "assistant", "content": "Noted."}], key=f"turn {number}")
            await quiet(memory)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
