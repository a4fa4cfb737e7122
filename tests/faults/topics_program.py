"""What is killed in `test_killed_topics`: talk of one matter after the other, end, and change what was said.

The model says what the topics were about while it divides them ("together"), or only where it is asked for each
("apart"). Run again, it goes on where it was: every step that was done changes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from anaphora import Memory
from anaphora.domain.wire import PromptMessage
from anaphora.prompts import topic_segments
from anaphora.testing.scripted import ScriptedChat, faithful

#: what the user says; each matter a topic of its own
MATTERS = (
    ("I want to prune the pear trees in our orchard", "How do I prune pear trees in winter?"),
    ("By the way, I need a sailing boat for the harbour", "Which sailing boat suits the harbour?"),
    ("Another question: I want my tax invoices sorted", "How are tax invoices sorted?"),
)
CHANGED = "I want to prune the plum trees in our orchard"
#: messages of one matter
EACH = 2 * len(MATTERS[0])


def apart(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """Divides topics, and says nothing of them meanwhile."""
    answer = faithful(messages, schema)
    if (schema or {}).get("title") != topic_segments.TITLE:
        return answer
    firsts = [topic["first"] for topic in json.loads(answer)["topics"]]
    return json.dumps({"topics": [{"first": first, "name": "", "summary": ""} for first in firsts]})


async def main(path: str, how: str) -> None:
    """The whole of it, on the database at the path."""
    model = ScriptedChat(apart if how == "apart" else faithful)
    topics = {"doubt": 0.9}
    async with Memory.open(
        path, memory_model=model, embedder="none", extraction="none", strategy="topics", topics=topics
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
    anyio.run(main, sys.argv[1], sys.argv[2])
