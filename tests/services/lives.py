"""Two memories, lives full of chance for one of them, and what must be the same in the other."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from tests.memory.harness import brief, opened, say, text

from anaphora.bootstrap.maintenance import diagnose
from anaphora.domain.context import Context
from anaphora.errors import ModelUnavailable
from anaphora.memory import Memory, Session
from anaphora.settings import RollingPairsSettings, WorkerSettings
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

#: many small summaries, and work that takes several steps
BUSY: dict[str, Any] = {
    "rolling_pairs": RollingPairsSettings(window_pairs=1, min_messages_for_summary=4, summarise_after=2),
    "worker": WorkerSettings(max_attempts=1, batch_messages=4, redo_seconds=5.0),
}


@asynccontextmanager
async def two(folder: Path, clock: FakeClock | None = None, **options: Any) -> AsyncIterator[tuple[Memory, Memory]]:
    """A memory, and an empty one, in folders of these names."""
    given: dict[str, Any] = {"chat": ScriptedChat(brief), "clock": clock or FakeClock()} | options
    for name in ("here", "there"):
        (folder / name).mkdir(exist_ok=True)
    async with opened(folder / "here", **given) as here, opened(folder / "there", **given) as there:
        yield here, there


async def exported(memory: Memory, **scope: Any) -> list[str]:
    """The lines of an export."""
    return [line async for line in memory.export(**scope)]


def broken(memory: Memory) -> list[str]:
    """What the doctor finds in the file."""
    checks = diagnose(memory._services.settings, stuck_seconds=1e9).checks
    return [f"{check.id} {check.name}: {check.detail}" for check in checks if not check.ok and not check.warning]


def of_kind(lines: Sequence[str], kind: str) -> list[dict[str, Any]]:
    """The records of one kind, as JSON."""
    return [value for value in map(json.loads, lines) if value["record"] == kind]


def resummed(lines: Sequence[str]) -> list[str]:
    """The lines with the right sum in the last of them, as whoever forges an export would write it."""
    footer = json.loads(lines[-1]) | {"sha256": sha256("".join(lines[:-1]).encode()).hexdigest()}
    return [*lines[:-1], json.dumps(footer) + "\n"]


def unmarked(context: Context) -> str:
    """The prompt and its account, without the marks that the store's own secret makes."""
    told = (context.to_openai(), context.coverage.to_dict(), context.degraded, context.lines, context.tokens)
    return re.sub(r"memory \d{15}", "memory MARK", str(told))


async def seen(chat: Session, as_of: int | datetime | None = None) -> list[object]:
    """What a session looks like, now or then."""
    return [
        unmarked(await chat.context("and now?", budget=600, as_of=as_of)),
        tuple(await chat.summaries(as_of=as_of)),
        tuple(await chat.messages(limit=1000, as_of=as_of)),
    ]


class Life:
    """What may happen to the conversations of a memory, by chance."""

    names = (("ann", "a", "1"), ("ann", "b", "1"), ("ann", "a", "ü/:%\u2028"), ("bob", "a", "1"))
    actions = ("say", "say", "say", "turn", "step", "step", "work", "edit", "delete", "rebuild", "end", "reset", "fail")

    def __init__(self, memory: Memory, clock: FakeClock, model: ScriptedChat, seed: int) -> None:
        self.memory, self.clock, self.model, self.random = memory, clock, model, Random(seed)
        self.receipts: list[UUID] = []
        self.times: list[datetime] = []

    def chats(self) -> Iterator[Session]:
        """The sessions, with different strategies and subjects."""
        for at, (user, agent, session) in enumerate(self.names):
            strategy = ("rolling_pairs", "sliding_window")[at % 2]
            yield self.memory.session(user=user, agent=agent, session=session, strategy=strategy, subject="x" * at)

    async def go_on(self, steps: int) -> None:
        """So many things happen."""
        chats = list(self.chats())
        for _ in range(steps):
            self.model.script = brief
            await self._do(self.random.choice(self.actions), self.random.choice(chats))
            self.times.append(self.clock.now())
            await self.clock.advance(self.random.choice([0, 0.25, 1]))

    async def head(self, chat: Session) -> int:
        """How many messages a session has."""
        return next((row.head for row in await self.memory.sessions() if row.key == chat.key), 0)

    async def _do(self, action: str, chat: Session) -> None:
        head = await self.head(chat)
        match action:
            case "say":
                self.receipts.extend(receipt.id for receipt in await say(chat, 4, start=head))
            case "turn":
                turn = [{"role": "user", "content": text(head)}, {"role": "user", "content": text(head + 1)}]
                self.receipts.append((await chat.add_turn(turn, key=f"k{head}")).id)
            case "step":
                await self.memory._services.worker.step()
            case "fail":
                self.model.script = _down
                await self.memory.work()
            case "work":
                await self.memory.work()
            case "edit" if head:
                seq = self.random.randrange(head)
                if not (await chat.versions(seq))[-1].deleted:
                    await chat.edit(seq, f"#{seq}# once more, {self.random.random()}")
            case "delete" if head:
                await chat.delete(self.random.randrange(head))
            case "rebuild" if head:
                await chat.rebuild(from_seq=self.random.randrange(head))
            case "end":
                await chat.end()
            case "reset" if self.random.random() < 0.3:
                await chat.reset()
            case _:
                pass


async def a_life(folder: Path) -> list[str]:
    """The lines of a memory that much has happened to."""
    clock, model = FakeClock(), ScriptedChat(brief)
    folder.mkdir()
    async with opened(folder, chat=model, clock=clock, **BUSY) as memory:
        await Life(memory, clock, model, 1).go_on(100)
        return await exported(memory)


def _down(*_: object) -> str:
    raise ModelUnavailable("the model is down")
