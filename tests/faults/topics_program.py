"""What is killed in `test_killed_topics`: talk of one matter after the other, end, and change what was said.

Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import sys

import anyio

from anaphora import Memory
from anaphora.testing.scripted import ScriptedChat

#: what the user says; each matter a topic of its own
MATTERS = (
    ("I want to prune the pear trees in our orchard", "How do I prune pear trees in winter?"),
    ("By the way, I need a sailing boat for the harbour", "Which sailing boat suits the harbour?"),
    ("Another question: I want my tax invoices sorted", "How are tax invoices sorted?"),
)
CHANGED = "I want to prune the plum trees in our orchard"
#: messages of one matter
EACH = 2 * len(MATTERS[0])


async def main(path: str) -> None:
    """The whole of it, on the database at the path."""
    topics = {"doubt": 0.9}
    async with Memory.open(
        path, memory_model=ScriptedChat(), embedder="none", extraction="none", strategy="topics", topics=topics
    ) as memory:
        session = memory.session(user="u", session="s")
        for number, matter in enumerate(MATTERS):
            for turn, said in enumerate(matter):
                messages = [{"role": "user", "content": said}, {"role": "assistant", "content": f"I heard: {said}"}]
                await session.add_turn(messages, key=f"turn {number} {turn}")
                await quiet(memory)
        await session.end()
        await quiet(memory)
        await session.edit(0, CHANGED)
        await quiet(memory)


async def quiet(memory: Memory) -> None:
    """Wait until nothing is left to be done."""
    if not await memory.idle(60):
        sys.exit("the work is never done")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
