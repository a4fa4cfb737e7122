"""What is killed in `test_killed_compression`: talk until it is compressed and archived, change a message, and end.

Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import sys

import anyio
from tests.faults.topics_program import quiet

from anaphora import Memory
from anaphora.testing.scripted import ScriptedChat

TURNS = 24
CHANGED = "Decision: Use plums instead"


def said(turn: int) -> str:
    """What the user says."""
    return f"Decision: Use pears in dish number {turn}, and tell everybody in the kitchen about it"


async def main(path: str) -> None:
    """The whole of it, on the database at the path."""
    budget = {"threshold_tokens": 300, "recent_messages_to_keep": 4, "archive_conversations": True}
    async with Memory.open(
        path,
        memory_model=ScriptedChat(),
        embedder="none",
        extraction="none",
        strategy="token_budget",
        token_budget=budget,
    ) as memory:
        session = memory.session(user="u", session="s")
        for turn in range(TURNS):
            messages = [{"role": "user", "content": said(turn)}, {"role": "assistant", "content": "I heard it."}]
            await session.add_turn(messages, key=f"turn {turn}")
            await quiet(memory)
        await session.edit(0, CHANGED)
        await quiet(memory)
        await session.end()
        await quiet(memory)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
