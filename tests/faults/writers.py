"""Programs that write and have trouble with it."""

from __future__ import annotations

import ctypes
import resource
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path

import anyio
from tests.faults.disks import MIB, SMALL
from tests.faults.programs import Told, memory_of, note, quiet, say

from anaphora import Memory
from anaphora.errors import StoreError
from anaphora.memory import Session

#: messages between opening and closing
VISIT = 3
#: refusals after which a full disk is full
FULL = 5
_PAUSE = 0.005
LARGE = "x" * 1_000_000
#: M_ARENA_MAX of mallopt(3)
_ARENAS = -8


async def go_on(told: Told) -> None:
    """Append one message after the other, from `head` on, without a worker."""
    async with memory_of(told, worker=False) as memory:
        note("open")
        chat = memory.session(user="u", session="s")
        for number in range(told.head, told.head + told.count):
            await say(chat, number)


async def come_back(told: Told) -> None:
    """The same, but closed and opened again after every few messages."""
    for head in range(told.head, told.head + told.count, VISIT):
        async with memory_of(told, worker=False) as memory:
            note("open")
            chat = memory.session(user="u", session="s")
            for number in range(head, head + VISIT):
                await say(chat, number)


async def insist(told: Told) -> None:
    """The same, but what is refused is tried again until it is done, and all is read again after each message."""
    async with AsyncExitStack() as stack:
        memory = await opened(stack, told)
        note("open")
        chat = memory.session(user="u", session="s")
        for number in range(told.head, told.head + told.count):
            while not await taken(chat, number):
                await anyio.sleep(_PAUSE)
            await look(chat, number + 1)
        if told.worker:
            note(f"quiet {await calm(memory)}")


async def calm(memory: Memory) -> bool:
    """`quiet`, however often the store refuses to say what there is to do."""
    while True:
        try:
            return await quiet(memory)
        except StoreError:
            await anyio.sleep(_PAUSE)


async def opened(stack: AsyncExitStack, told: Told) -> Memory:
    """A memory, as soon as it can be opened."""
    while True:
        try:
            return await stack.enter_async_context(memory_of(told, worker=told.worker))
        except StoreError as error:
            note(f"refused open {type(error).__name__} {error}")
            await anyio.sleep(_PAUSE)


async def taken(chat: Session, number: int) -> bool:
    """Whether the store took a message; if not, nothing of it is there, and all before it is (I7)."""
    try:
        await say(chat, number)
    except StoreError as error:
        note(f"refused {number} {type(error).__name__} {error}")
    else:
        return True
    await look(chat, number)
    return False


async def look(chat: Session, head: int) -> None:
    """There are so many messages, or else the store refuses to say: it never shows less (I17)."""
    try:
        newest = await chat.messages(limit=1)
    except StoreError as error:
        note(f"unreadable {head} {type(error).__name__} {error}")
    else:
        seen = newest[-1].seq + 1 if newest else 0
        assert seen == head, f"{seen} messages are seen, {head} were acknowledged"


async def found(told: Told) -> None:
    """Make one database after another, and append to each; one that cannot be made is tried again."""
    note(f"files {open_files()}")
    for number in range(told.count):
        done = False
        while not done:
            try:
                async with memory_of(replace(told, db=f"{told.db}{number}"), worker=False) as memory:
                    await say(memory.session(user="u", session="s"), 0)
                done = True
            except StoreError as error:
                note(f"refused {number} {type(error).__name__} {error}")
                await anyio.sleep(_PAUSE)
        note(f"files {open_files()}")


def open_files() -> int:
    """How many descriptors this process holds."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def crammed(told: Told) -> None:
    """`insist` where room runs out, until room is made; copies of the files are kept, the disk is not."""
    folder = Path(told.db).parent
    with SMALL[told.small](folder, 3 * MIB) as make_room:
        async with memory_of(told, worker=False) as memory:
            chat = memory.session(user="u", session="s")
            number, refused = 0, 0
            while refused < FULL:
                if await taken(chat, number):
                    number += 1
                else:
                    refused += 1
            shutil.copytree(folder, Path(told.keep) / "full", ignore=shutil.ignore_patterns("ballast", "*-shm"))
            make_room()
            note("room")
            for following in range(number, number + told.count):
                await say(chat, following)
        shutil.copytree(folder, Path(told.keep) / "room")


def _all_there_is(size: int) -> Iterator[bytearray]:
    """Blocks of this size, until there are none: what was freed before can be had again, whatever the limit."""
    with suppress(MemoryError):
        while True:
            yield bytearray(size)


async def starved(told: Told) -> None:
    """Append large messages with too little memory, then with enough; without a worker."""
    # else each thread takes what it needs from a reserve of its own, which counts as taken already
    ctypes.CDLL(None).mallopt(_ARENAS, 1)
    async with memory_of(told, worker=False) as memory:
        chat = memory.session(user="u", session="s")
        await chat.add("user", LARGE)  # so that all threads are there
        assert len(await chat.messages()) == 1
        before = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MIB // 2, before[1]))
        held = list(_all_there_is(MIB // 2))
        refused = 0
        while refused < FULL:
            try:
                await chat.add("user", LARGE)
            except (MemoryError, StoreError):
                refused += 1
        held.clear()
        resource.setrlimit(resource.RLIMIT_AS, before)
        kept = [message.seq for message in await chat.messages()]
        assert kept == [0], f"refused, and yet there: {kept}"
        note(f"refused {refused}")
        for seq in range(1, told.count):
            receipt = await chat.add("user", LARGE)
            assert receipt.seq == seq


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None]]] = {
    program.__name__: program for program in (go_on, come_back, insist, found, crammed, starved)
}
