"""Programs whose server goes away and comes back."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
from tests.faults.programs import CROWD, Told, memory_of, note, say
from tests.faults.writers import calm

from anaphora.errors import StoreError
from anaphora.memory import Session

#: numbers of one task: what its messages say
EACH = 100_000
_PAUSE = 0.02


async def persist(told: Told) -> None:
    """Append in many tasks, each message until it is acknowledged, until there is a sign; then do what is due."""
    end = Path(f"{told.gate}.end")

    async def talk(chat: Session, task: int) -> None:
        number = task * EACH
        while not end.exists():
            await sent(chat, number)
            number += 1

    async with memory_of(told, worker=told.worker) as memory:
        note("open")
        async with anyio.create_task_group() as group:
            for task in range(told.writer * CROWD, (told.writer + 1) * CROWD):
                group.start_soon(talk, memory.session(user="u", session=f"s{task}"), task)
        note("ending")
        if told.worker:
            note(f"quiet {await calm(memory)}")


async def sent(chat: Session, number: int) -> None:
    """Append a message with its key, again and again until it is acknowledged."""
    while True:
        begun = time.monotonic()
        try:
            await say(chat, number)
        except StoreError as error:
            note(f"refused {type(error).__name__} {time.monotonic() - begun:.3f} {error}")
            await anyio.sleep(_PAUSE)
        else:
            return


async def stubborn(told: Told) -> None:
    """Append so many messages, one after the other, each until it is acknowledged; without a worker."""
    async with memory_of(told, worker=False) as memory:
        chat = memory.session(user="u", session="s")
        for number in range(told.count):
            await sent(chat, number)


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None]]] = {"persist": persist, "stubborn": stubborn}
