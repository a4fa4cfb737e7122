"""Programs of which several run at once on one file.

They start together: each waits until a file appears, a new one for each round.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
from tests.faults.programs import LEASE, PATIENCE, Quarter, Told, failpoint_of, memory_of, note, settings_for, text_of

from anaphora import Memory
from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.jobs import Job
from anaphora.errors import StoreBusy
from anaphora.memory import Session
from anaphora.testing.scripted import ScriptedChat

#: tasks in each process
TASKS = 8
#: appends of one process at the same time
ABREAST = 3
_LOOK = 0.002


async def signal_of(told: Told, word: str) -> None:
    """Wait until the test gives a sign."""
    path = Path(f"{told.gate}.{word}")
    while not path.exists():
        await anyio.sleep(_LOOK)


async def populate(told: Told) -> None:
    """Sessions `s0`, `s1`, and so on, with `head` messages each; behind those of earlier writers."""
    async with memory_of(told, worker=False) as memory, anyio.create_task_group() as group:

        async def fill(chat: Session) -> None:
            for number in range(told.head):
                await chat.add("assistant" if number % 2 else "user", text_of(number))

        for session in range(told.count):
            group.start_soon(fill, memory.session(user="u", session=f"s{told.writer * told.count + session}"))


async def burst(told: Told) -> None:
    """In each round all tasks do the same thing to the session of that round, at the same moment."""
    given = Overrides(chat_model=ScriptedChat(), counter=Quarter())
    async with open_services(settings_for(told.db, lease=PATIENCE), given) as services:
        memory = Memory(services)
        note("open")
        for number in range(told.count):
            chat = memory.session(user="u", session=f"s{number}")
            await signal_of(told, f"go{number}")

            async def one(task: int, number: int = number, chat: Session = chat) -> None:
                begun = time.monotonic()
                came = await _DO[told.kind](services, chat, f"{told.writer}-{task}")
                note(f"did {number} {begun} {time.monotonic()} {came}")

            async with anyio.create_task_group() as group:
                for task in range(TASKS):
                    group.start_soon(one, task)
            note(f"round {number}")


async def _append(_services: Services, chat: Session, who: str) -> int:
    return (await chat.add("user", f"from {who}")).seq


async def _rebuild(_services: Services, chat: Session, _who: str) -> bool:
    return await chat.rebuild()


async def _claim(services: Services, _chat: Session, who: str) -> bool:
    return await replace(services.worker, owner=who).claim() is not None


_DO: Mapping[str, Callable[[Services, Session, str], Awaitable[object]]] = {
    "append": _append,
    "rebuild": _rebuild,
    "claim": _claim,
}


async def appenders(told: Told) -> None:
    """Tasks that append to one session, each its own messages in order."""
    async with memory_of(told, worker=False) as memory:
        note("open")
        await signal_of(told, "go")

        async def one(writer: int) -> None:
            chat = memory.session(user="u", session="s")
            for number in range(told.count):
                receipt = await chat.add("user", f"{writer} {number}")
                note(f"took {writer} {number} {receipt.seq}")

        async with anyio.create_task_group() as group:
            for task in range(TASKS):
                group.start_soon(one, told.writer * TASKS + task)


async def steady(told: Told) -> None:
    """Append one message after the other for some seconds, and note how long each took."""
    async with memory_of(told, worker=False) as memory:
        chat = memory.session(user="u", session=f"s{told.writer}")
        note("open")
        await signal_of(told, "go")
        end = time.monotonic() + told.seconds
        number = 0
        while (begun := time.monotonic()) < end:
            try:
                receipt = await chat.add("user", text_of(number))
            except StoreBusy as error:
                note(f"busy {number} {error}")
                continue
            note(f"took {number} {receipt.seq} {time.monotonic() - begun:.6f}")
            number += 1


async def late(told: Told) -> None:
    """In each round claim a job and stand still in the model call until the sign to answer."""
    number = 0

    async def pause() -> None:
        note("asked")
        answer = Path(f"{told.gate}.answer{number}")
        while not answer.exists():
            if told.model == "frozen":
                time.sleep(_LOOK)
            else:
                await anyio.sleep(_LOOK)

    chat = ScriptedChat()
    chat.pause = pause
    given = Overrides(chat_model=chat, counter=Quarter(), failpoint=failpoint_of(told))
    async with open_services(settings_for(told.db, lease=told.lease), given) as services:
        worker = replace(services.worker, on_event=_report)
        for number in range(told.count):
            await signal_of(told, f"go{number}")
            while not await worker.step():
                await anyio.sleep(_LOOK)
            note(f"round {number}")


async def helper(told: Told) -> None:
    """In each round do as many jobs as there are late workers."""
    given = Overrides(chat_model=ScriptedChat(), counter=Quarter())
    async with open_services(settings_for(told.db, lease=told.lease), given) as services:
        worker = replace(services.worker, on_event=_report)
        for number in range(told.count):
            await signal_of(told, f"help{number}")
            done = 0
            with anyio.fail_after(PATIENCE):
                while done < told.head:
                    done += await worker.step()
            note(f"round {number}")


def _report(job: Job, ok: bool) -> None:
    note(f"job {job.id} {job.attempt} {ok}")


async def toil(told: Told) -> None:
    """Work until killed."""
    async with memory_of(told):
        note("open")
        await anyio.sleep_forever()


async def lists(told: Told) -> None:
    """Append numbers to a few sessions and read them, until killed; first what was under way at the last death.

    `append`, `appended`, `read` and `saw` carry the moments between which it happened, by the monotonic clock.
    """
    chance = random.Random(f"{told.writer} {told.head}")
    async with memory_of(told, worker=False) as memory:
        chats = {name: memory.session(user="u", session=name) for name in told.words}
        for name, value in told.pending:
            await _put(chats[name], name, value)
        note("open")
        for start in range(told.head, told.head + told.count, ABREAST):
            async with anyio.create_task_group() as group:
                for number in range(start, start + ABREAST):
                    name = chance.choice(list(chats))
                    group.start_soon(_put, chats[name], name, f"{told.writer}.{number}")
            name = chance.choice(list(chats))
            await chance.choice((read, glimpse))(chats[name], name)
            await anyio.sleep(chance.uniform(0, 0.3))  # so that no list gets longer than one read takes


async def _put(chat: Session, name: str, value: str) -> None:
    note(f"append {time.monotonic()} {name} {value}")
    receipt = await chat.add("user", value, key=value)
    note(f"appended {time.monotonic()} {name} {value} {receipt.seq}")


async def read(chat: Session, name: str) -> None:
    """Read a whole session."""
    begun = time.monotonic()
    values = [message.content for message in await chat.messages(start=0, limit=1000)]
    note(f"read {begun} {time.monotonic()} {name} {','.join(values)}")


async def glimpse(chat: Session, name: str) -> None:
    """See how long a session is by the account of its context."""
    begun = time.monotonic()
    head = (await chat.context(budget=2000)).coverage.head
    note(f"saw {begun} {time.monotonic()} {name} {head}")


async def onlooker(told: Told) -> None:
    """Read as the reading commands do, which never write: each time anew, until there is a sign."""
    while not Path(f"{told.gate}.end").exists():
        async with open_services(settings_for(told.db), read_only=True) as services:
            for name in told.words:
                await read(Memory(services).session(user="u", session=name), name)
        await anyio.sleep(LEASE / 2)


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None]]] = {
    program.__name__: program for program in (populate, burst, appenders, steady, late, helper, toil, lists, onlooker)
}
