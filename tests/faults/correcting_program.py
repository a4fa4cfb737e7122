"""What is killed in `test_killed_corrections`: facts are edited, undone and deleted by hand.

Run again, it goes on where it was: a step is done if the fact's history does not have it yet.
"""

from __future__ import annotations

import sys
from uuid import UUID

import anyio

from anaphora import Memory
from anaphora.domain.facts import FactState

#: category, what the fact says, and what it says between an edit and its undo
UNDONE = ("hobby", "Plays chess", "Plays go")
#: between, it takes the place of `HOME`
CLOSING = ("habit", "Drinks tea", "Lives in Faro")
EDITED = ("milestone", "Has finished school", "Has finished university")
HOME, GONE, DONE = "Lives in Lisbon", "Owns a boat", "Speaks Danish"
#: commits in which a fact changes
STEPS = 12


async def main(path: str) -> None:
    """The whole of it, on the database at the path."""
    async with Memory.open(path, embedder="none", worker=False) as memory:
        await stepwise(memory, *UNDONE, undo=True)
        if await found(memory, "other") is None:
            await memory.facts.add(HOME, user="u", category="other")
        await stepwise(memory, *CLOSING, undo=True)
        await stepwise(memory, *EDITED, undo=False)
        if await found(memory, "preference") is None:
            gone = await memory.facts.add(GONE, user="u", category="personality")
            await memory.facts.delete(gone.id, user="u")
            await memory.facts.add(DONE, user="u", category="preference")


async def stepwise(memory: Memory, category: str, content: str, between: str, *, undo: bool) -> None:
    """Add, edit and undo a fact, from wherever that was."""
    fact = await found(memory, category)
    if fact is None:
        fact = (await memory.facts.add(content, user="u", category=category)).id
    done = len(await memory.facts.history(fact, user="u"))
    if done < 2:
        await memory.facts.edit(fact, user="u", content=between)
    if done < 3 and undo:
        await memory.facts.undo(fact, user="u")


async def found(memory: Memory, category: str) -> UUID | None:
    """The one fact of a category."""
    facts = await memory.facts.list(user="u", category=category, states=list(FactState))
    return facts[0].id if facts else None


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
