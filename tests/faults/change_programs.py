"""The children that change messages while they are killed, and the one that finds what they left."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping

from tests.faults.programs import Told, memory_of, note, quiet, say

#: messages that are edited and deleted
MESSAGES = 16


def take_of(seq: int, take: int) -> str:
    """What message `seq` says after its edit number `take`."""
    return f"#{seq}# take{take} was said here"


async def change(told: Told) -> None:
    """Say something, then edit, delete, end and rebuild, again and again, with a worker inside."""
    async with memory_of(told) as memory:
        chat = memory.session(user="u", session="s")
        for number in range(MESSAGES):
            await say(chat, number)
        await quiet(memory)
        for take in range(told.count):
            seq = take * 5 % MESSAGES
            if (await chat.versions(seq))[-1].deleted:
                continue
            note(f"edit {seq} {take}")
            await chat.edit(seq, take_of(seq, take))
            note(f"edited {seq} {take}")
            if take % 3 == 2:
                note(f"delete {seq}")
                await chat.delete(seq)
                note(f"deleted {seq}")
            if take % 4 == 1:
                await chat.rebuild(from_seq=seq)
                await chat.end()
            if take % 6 == 5:
                await quiet(memory)


async def manage(told: Told) -> None:
    """Number sessions, fail jobs and queue them again, rest, make keys and account for it, again and again."""
    async with memory_of(told) as memory:
        for number in range(told.count):
            chat = await memory.new_session(user="u")
            note(f"numbered {chat.key.session}")
            for at in range(6):
                await chat.add("user" if at % 2 == 0 else "assistant", f"#{at}# said in {number}")
            await quiet(memory)
            await memory.jobs.retry()
            await memory.pause(user="u")
            await memory.resume(user="u")
            made = await memory.keys.create(user="u")
            principal = await memory.keys.verify(made.key)
            assert principal is not None
            await memory.audit.record(principal, "made", status=200)
            await memory.keys.revoke((await memory.keys.rotate(made.made.id)).made.id)


async def find_changes(told: Told) -> None:
    """Open what was left, finish what is due, and tell what is served."""
    async with memory_of(told) as memory:
        chat = memory.session(user="u", session="s")
        done = await quiet(memory, strictly=True)
        context = await chat.context(budget=100_000)
        block = "".join(message.content for message in context.messages if message.section == "memory")
        served = {**context.coverage.to_dict(), "block": block, "degraded": context.degraded}
        note(f"quiet {done}")
        note(f"context {json.dumps(served)}")


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None]]] = {
    program.__name__: program for program in (change, manage, find_changes)
}
