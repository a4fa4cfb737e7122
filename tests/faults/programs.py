"""What the children do that are killed, and those that find what they left.

A child notes what happens by one unbuffered line each: `send N` before it appends, `ack N SEQ` when the append has
returned, `reached NAME` at the failpoint it was told of.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from tests.databases.sql import open_sql

from anaphora import Memory
from anaphora.bootstrap import Overrides, open_services
from anaphora.bootstrap.system import failpoint_from
from anaphora.cli.working import Crew
from anaphora.domain.jobs import Job, JobState
from anaphora.domain.wire import PromptMessage
from anaphora.errors import ModelUnavailable
from anaphora.memory import Session
from anaphora.ports.clock import Failpoint
from anaphora.ports.models import TokenCounter
from anaphora.settings import RollingPairsSettings, Settings, WorkerSettings
from anaphora.testing.scripted import Script, ScriptedChat, faithful
from anaphora.testing.summaries import canaries

LEASE = 0.5
#: messages that wait for a worker in a prepared database
BACKLOG = 40
#: seconds after which a child that is not killed gives up
PATIENCE = 20.0
CROWD = 8
#: seconds between reaching a failpoint and dying there: time for other threads to say what is not true yet
_LINGER = 0.005
_END = (
    "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
    " where application_name = 'anaphora' and datname = current_database()"
)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a child is told."""

    db: str
    #: `NAME:COUNT`, as the setting
    failpoint: str | None = None
    #: honest, failing, slow, hanging, held
    model: str = "honest"
    #: `NAME:COUNT`: there its server ends its connections, or, with a gate, all stands still until that opens
    cut: str = ""
    count: int = 40
    #: where the child waits for a file to appear
    gate: str = ""
    #: when the one before died, by the monotonic clock
    died: float = 0.0
    #: messages whose append was not acknowledged
    unanswered: Sequence[int] = ()
    head: int = 0
    #: work by a running worker, or by hand
    worker: bool = True
    #: messages in one call of the model
    batch: int = 4
    #: seconds for which a job is claimed
    lease: float = LEASE
    #: seconds for which the store tries again
    patience: float = 5.0
    #: the number of this one of several processes
    writer: int = 0
    #: what a crowd does, or what is erased
    kind: str = ""
    #: how long it goes on
    seconds: float = 0.0
    #: session and value of appends under way at the death of the one before
    pending: Sequence[tuple[str, str]] = ()
    #: what is too small: the disk, or any of its files
    small: str = "disk"
    #: a folder for what must outlive such a disk
    keep: str = ""
    #: the words of a command, its folder, and the settings in its environment
    folder: str = ""
    words: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class Quarter(TokenCounter):
    """Counts quickly: four characters a token."""

    @property
    def name(self) -> str:
        return "quarter"

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


def note(line: str) -> None:
    """Write a line that stays even if this process dies in the next instant."""
    os.write(1, f"{line}\n".encode())


def settings_for(db: str, *, batch: int = 4, lease: float = LEASE, patience: float = 5.0) -> Settings:
    """Many small jobs, short leases, quick retries."""
    return Settings(
        db=db,
        embedder="none",
        busy_timeout=patience,
        rolling_pairs=RollingPairsSettings(window_pairs=1, min_messages_for_summary=4, summarise_after=2),
        worker=WorkerSettings(
            lease_seconds=lease,
            max_attempts=2,
            backoff_seconds=0.0,
            max_backoff_seconds=0.0,
            batch_messages=batch,
            redo_seconds=0.0,
        ),
    )


def text_of(number: int) -> str:
    """What message `number` says."""
    return f"#{number}# word{number} was said here"


def role_of(number: int) -> str:
    """Who says message `number`."""
    return "assistant" if number % 2 else "user"


def failpoint_of(told: Told) -> Failpoint:
    """The failpoint as the setting makes it, with a note before it; and a note of what a late worker reaches."""
    deadly = failpoint_from(told.failpoint)
    noted = told.failpoint.partition(":")[0] if told.failpoint else ""
    cut = _cut_of(told)

    def reached(name: str, /) -> None:
        if name == noted or (told.model in {"held", "frozen"} and name.startswith("summarise.")):
            note(f"reached {name}")
            time.sleep(_LINGER)
        cut(name)
        deadly(name)

    return reached


def _cut_of(told: Told) -> Failpoint:
    """What happens between this process and its server at the failpoint; nothing else runs here meanwhile."""
    wanted, _, count = told.cut.partition(":")
    left = int(count or 1)

    def reached(name: str, /) -> None:
        nonlocal left
        left -= name == wanted
        if name != wanted or left != 0:
            return
        if told.gate:
            note(f"held {name}")
            while not Path(told.gate).exists():
                time.sleep(0.005)
        else:
            note(f"cut {name} {end_connections(told.db)}")

    return reached


def end_connections(db: str) -> int:
    """Let a server end every connection of Anaphora's to a database; how many."""
    with closing(open_sql(db)) as sql:
        ((ended,),) = sql.rows(_END)
    return int(ended)


def chat_of(told: Told) -> ScriptedChat:
    """The scripted model of a child."""
    chat = ScriptedChat(_SCRIPTS.get(told.model, faithful))
    chat.pause = _pauses(told).get(told.model, chat.pause)
    return chat


def _down(_messages: Sequence[PromptMessage], _schema: Mapping[str, Any] | None) -> str:
    raise ModelUnavailable("the model is down")


def _deadly(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """Answers, but for what speaks of the third message: that ends the process."""
    if "word3 " in messages[-1].content.partition("\nNEW\n")[2]:
        note("asked")
        os.kill(os.getpid(), 9)
    return faithful(messages, schema)


_SCRIPTS: Mapping[str, Script] = {"failing": _down, "deadly": _deadly}


def _pauses(told: Told) -> Mapping[str, Callable[[], Awaitable[None]]]:
    async def slow() -> None:
        await anyio.sleep(0.6 * LEASE)

    async def hanging() -> None:
        note("asked")
        await anyio.sleep(10 * PATIENCE)

    async def held() -> None:
        """Until the gate opens: the heartbeat goes on meanwhile."""
        note("asked")
        while not Path(told.gate).exists():
            await anyio.sleep(0.005)

    async def frozen() -> None:
        """Until the gate opens: nothing else runs, so that the late result is handed in before any heartbeat."""
        note("asked")
        while not Path(told.gate).exists():
            time.sleep(0.005)

    return {"slow": slow, "hanging": hanging, "held": held, "frozen": frozen}


@asynccontextmanager
async def memory_of(told: Told, *, worker: bool = True) -> AsyncIterator[Memory]:
    """The memory of a child."""
    given = Overrides(chat_model=chat_of(told), counter=Quarter(), failpoint=failpoint_of(told))
    settings = settings_for(told.db, batch=told.batch, lease=told.lease, patience=told.patience)
    async with Memory.open(settings=settings, overrides=given, worker=worker) as memory:
        yield memory


async def quiet(memory: Memory, *, by_hand: bool = False, strictly: bool = False) -> bool:
    """Wait until there is nothing to do; False if that takes too long.

    What waits for a model until later is not to be done now, unless `strictly`.
    """
    with anyio.move_on_after(PATIENCE):
        while await _busy(memory, strictly=strictly):
            if by_hand:
                await memory.work()
            await anyio.sleep(0.01)
        return True
    return False


async def _busy(memory: Memory, *, strictly: bool) -> bool:
    live = await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING])
    now = datetime.now(UTC)
    return any(strictly or not job.needs_model or job.state is JobState.RUNNING or job.run_at <= now for job in live)


async def say(chat: Session, number: int) -> None:
    """Append one message, with a key, and note it."""
    note(f"send {number}")
    receipt = await chat.add(role_of(number), text_of(number), key=f"k{number}")
    note(f"ack {number} {receipt.seq}")


async def library(told: Told) -> None:
    """Append with a worker inside."""
    async with memory_of(told) as memory:
        chat = memory.session(user="u", session="s")
        for number in range(told.count):
            await say(chat, number)
        note(f"quiet {await quiet(memory)}")


async def fill(told: Told) -> None:
    """Append without a worker."""
    async with memory_of(told, worker=False) as memory:
        chat = memory.session(user="u", session="s")
        for number in range(told.count):
            await say(chat, number)


async def labour(told: Told) -> None:
    """Work on what is there."""
    async with memory_of(told) as memory:
        note(f"quiet {await quiet(memory)}")


async def wipe(told: Told) -> None:
    """Append and reset, again and again."""
    async with memory_of(told, worker=False) as memory:
        chat = memory.session(user="u", session="s")
        for _ in range(told.count):
            for number in range(6):
                await say(chat, number)
            note("reset")
            await chat.reset()
            note("wiped")


async def replace_all(told: Told) -> None:
    """Reset the session and append other messages."""
    async with memory_of(told, worker=False) as memory:
        chat = memory.session(user="u", session="s")
        await chat.reset()
        for number in range(told.count):
            await say(chat, number)


async def erase_all(told: Told) -> None:
    """Erase what the worker in hand reads: the user, the session, or a message of it."""
    targets: dict[str, dict[str, Any]] = {
        "user": {"user": "u"},
        "session": {"user": "u", "session": "s"},
        "message": {"user": "u", "session": "s", "message": 0},
    }
    async with memory_of(told, worker=False) as memory:
        await memory.erase(**targets[told.kind])


async def crowd(told: Told) -> None:
    """Append turns in many tasks to two sessions, with a worker inside."""

    async def talk(chat: Session, task: int) -> None:
        for number in range(task * 1000, task * 1000 + told.count):
            note(f"send {number}")
            turn = [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": f"answer {number}"},
            ]
            receipt = await chat.add_turn(turn, key=f"k{number}")
            note(f"ack {number} {receipt.seq}")

    async with memory_of(told) as memory, anyio.create_task_group() as group:
        note("open")
        for task in range(CROWD):
            group.start_soon(talk, memory.session(user="u", session=f"s{task % 2}"), task)


async def leave(told: Told) -> None:
    """Work until the model is asked, and be cancelled there; once more for each of `count`."""
    chat = chat_of(told)
    given = Overrides(chat_model=chat, counter=Quarter(), failpoint=failpoint_of(told))
    async with open_services(settings_for(told.db, batch=told.batch), given) as services:
        for asked in range(told.count):
            async with anyio.create_task_group() as group:
                group.start_soon(services.worker.run, anyio.Event())
                while len(chat.prompts) <= asked:
                    await anyio.sleep(0.002)
                group.cancel_scope.cancel()


async def command(told: Told) -> None:
    """Work as the command `anaphora worker` does, until a signal."""
    given = Overrides(chat_model=chat_of(told), counter=Quarter(), failpoint=failpoint_of(told))
    async with open_services(settings_for(told.db, batch=told.batch), given) as services:
        tally = await Crew(services).work()
        note(f"ended {tally.done} {tally.waiting}")


async def one_job(told: Told) -> None:
    """Claim and do one job."""

    def report(job: Job, ok: bool) -> None:
        note(f"job {job.attempt} {ok}")

    given = Overrides(chat_model=chat_of(told), counter=Quarter(), failpoint=failpoint_of(told))
    async with open_services(settings_for(told.db, batch=told.batch), given) as services:
        await replace(services.worker, on_event=report).step()


async def recover(told: Told) -> None:
    """Open what a dead process left and work, without help; then ask again for what was never acknowledged."""
    async with memory_of(told, worker=told.worker) as memory:
        chat = memory.session(user="u", session="s")
        done = await quiet(memory, by_hand=not told.worker)
        note(f"recovered {done} {time.monotonic() - told.died:.3f}")
        coverage = (await chat.context(budget=100_000)).coverage
        note(f"verbatim {coverage.counts()['verbatim']}")
        for number in told.unanswered:
            await say(chat, number)
        for number in range(told.head, told.head + 4):
            await say(chat, number)
        done = await quiet(memory, by_hand=not told.worker, strictly=told.model == "honest")
        note(f"finished {done}")
        context = await chat.context(budget=100_000)
        block = "".join(message.content for message in context.messages if message.section == "memory")
        served = {**context.coverage.to_dict(), "canaries": sorted(canaries(block)), "degraded": context.degraded}
        note(f"context {json.dumps(served)}")


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None]]] = {
    program.__name__: program
    for program in (library, fill, labour, wipe, replace_all, erase_all, crowd, leave, command, one_job, recover)
}
