"""Two memories, lives full of chance for one of them, and what must be the same in the other."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from tests.memory.harness import brief, opened, say, text
from tests.services.talks import following

from anaphora.bootstrap.maintenance import diagnose
from anaphora.domain.context import Context
from anaphora.domain.facts import Fact, FactAction, FactState
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import SummaryStatus
from anaphora.domain.wire import PromptMessage
from anaphora.errors import InvalidInput, ModelUnavailable
from anaphora.memory import Memory, Session
from anaphora.ports.store import Unit
from anaphora.prompts.reflection import TITLE as REFLECTION
from anaphora.settings import (
    BatchExtractionSettings,
    NotepadSettings,
    RollingPairsSettings,
    TopicsSettings,
    WorkerSettings,
)
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

#: many small summaries, and work that takes several steps
BUSY: dict[str, Any] = {
    "rolling_pairs": RollingPairsSettings(window_pairs=1, min_messages_for_summary=4, summarise_after=2),
    "topics": TopicsSettings(most_characters=80, batch=1),
    "worker": WorkerSettings(max_attempts=1, batch_messages=4, redo_seconds=5.0),
}
#: and sessions that are read for facts, a few messages at a time
KNOWING: dict[str, Any] = BUSY | {
    "extraction": "batch",
    "batch_extraction": BatchExtractionSettings(threshold=3, batch=4, idle_seconds=2.0),
    "notepad": NotepadSettings(enabled="all"),
}
#: a few messages are enough to be read for facts, and nothing is summarised
READING: dict[str, Any] = {
    "extraction": "batch",
    "batch_extraction": BatchExtractionSettings(threshold=0, batch=4, idle_seconds=1000.0),
}
NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
FRUIT = ("figs", "plums", "pears", "7 apples")


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


async def listen(memory: Memory, chat: Session, *fruit: str, who: str = "I like") -> None:
    """Somebody says what they like, and it is read for facts."""
    for each in fruit:
        await chat.add("user", f"{who} {each}.")
        await chat.add("assistant", "Noted.")
    await memory.work()


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


async def own_facts(memory: Memory, user: str, **options: Any) -> list[Fact]:
    """All of a user's own, whatever their state, the newest first."""
    found = await memory.facts.list(user=user, states=list(FactState), limit=1000, **options)
    return [fact for fact in found if fact.owner == user]


def a_fact(number: int, content: str = "Likes figs", **values: object) -> Fact:
    """A fact with this number for an id; what is not given is as if its owner had added it."""
    given: dict[str, Any] = {"agent": None, "category": "other", "trust": Trust.OWNER_CONFIRMED, **values}
    return Fact(
        id=UUID(int=number), owner="u", content=content, valid_from=NOW, created_at=NOW, updated_at=NOW, **given
    )


async def keep(memory: Memory, *facts: Fact) -> None:
    """As if they had been learned or added, all at once."""
    learning = memory._services.facts.learning

    def work(unit: Unit) -> None:
        for fact in facts:
            assert learning.kept(unit, "t", fact, FactAction.LEARNED)

    await memory._services.store.write("t", work)


async def known(memory: Memory, user: str, **options: Any) -> list[object]:
    """What a user knows: own facts with their sources and their pasts, those of others, and subjects."""
    facts = await own_facts(memory, user, **options)
    pasts = [tuple(await memory.facts.history(fact.id, user=user, **options)) for fact in facts]
    return [
        [_places(fact) for fact in await memory.facts.list(user=user, limit=1000, **options)],
        [(_places(fact), past) for fact, past in zip(facts, pasts, strict=True)],
        tuple(await memory.subjects.list(user=user, **options)),
    ]


def attentive(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """Summaries as `brief` makes them, honest facts, notes and topics."""
    title = str((schema or {}).get("title"))
    if title == REFLECTION:
        return faithful(messages, schema)
    if title.startswith("topic_"):
        return following(messages, schema)
    if schema is None or "facts" not in schema.get("properties", {}):
        return brief(messages, schema)
    made = json.loads(faithful(messages, schema))
    return json.dumps({**made, **(json.loads(brief(messages, schema)) if "points" in made else {})})


class Life:
    """What may happen to the conversations of a memory, by chance."""

    names = (("ann", "a", "1"), ("ann", "b", "1"), ("ann", "a", "ü/:%\u2028"), ("bob", "a", "1"))
    users = ("ann", "bob")
    learning = ("tell", "tell", "know", "know", "correct", "mark", "mark", "mark", "forget")
    actions = ("say", "say", "say", "turn", "step", "step", "work", "edit", "delete", "rebuild", "end", "reset", "fail")

    def __init__(self, memory: Memory, clock: FakeClock, model: ScriptedChat, seed: int) -> None:
        self.memory, self.clock, self.model, self.random = memory, clock, model, Random(seed)
        self.knows = memory._services.settings.extraction != "none"
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
        if self.knows:
            await self.memory.subjects.create("x", user="ann", name="The X", members=["bob"])
            await self.memory.subjects.create("ü/", user="bob", members=["cleo", "ann"])
        for _ in range(steps):
            self.model.script = attentive
            if self.knows and self.random.random() < 0.4:
                with suppress(InvalidInput):  # not everything may be done with every fact
                    await self._learn(self.random.choice(self.learning), self.random.choice(chats))
            else:
                await self._do(self.random.choice(self.actions), self.random.choice(chats))
            self.times.append(self.clock.now())
            await self.clock.advance(self.random.choice([0, 0.25, 1]))

    async def leave_open(self) -> None:
        """Work that is half done: the longest session is being summarised anew, and the next one was just edited.

        Beside them is a session of topics, one of which was just edited.
        """
        self.model.script = attentive
        topical = self.memory.session(user="bob", agent="b", session="topics", strategy="topics")
        await say(topical, 10)
        await self.memory.work()
        by_length = sorted([(await self.head(chat), at, chat) for at, chat in enumerate(self.chats())], reverse=True)
        (_, _, longest), (_, _, edited), *_ = by_length
        await longest.rebuild(from_seq=1)
        while not any(s.status is SummaryStatus.BUILDING for s in await longest.summaries(limit=100)):
            assert await self.memory._services.worker.step(), "nothing was rebuilt in steps"
        seq = next(m.seq for m in await edited.messages(limit=1000) if not m.deleted)
        await edited.edit(seq, f"#{seq}# at last")
        await topical.edit(1, "#1# at last")
        await self.memory.knowledge.add("What somebody wrote down.", user="bob", metadata={"n": [1, None]}, key="k")
        self.times.append(self.clock.now())

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

    async def _learn(self, action: str, chat: Session) -> None:
        user = self.random.choice(self.users)
        said = self.random.choice(FRUIT)
        match action:
            case "tell":
                head = await self.head(chat)
                said = f"I {self.random.choice(['like', 'hate'])} {said}. {text(head)}"
                self.receipts.append((await chat.add("user", said)).id)
                self.receipts.append((await chat.add("assistant", text(head + 1))).id)
            case "know":
                subject = self.random.choice([None, "x", "ü/", "nobody"])
                pinned = self.random.random() < 0.3
                await self.memory.facts.add(f"Likes {said}", user=user, subject=subject, pinned=pinned)
            case _:
                facts = await own_facts(self.memory, user)
                if facts:
                    await self._change(action, self.random.choice(facts), user, said)

    async def _change(self, action: str, fact: Fact, user: str, said: str) -> None:
        facts = self.memory.facts
        match action:
            case "correct":
                await facts.edit(fact.id, user=user, content=f"Prefers {said}", importance=self.random.randint(1, 10))
            case "forget":
                await self.random.choice([facts.delete, facts.undo, facts.undo])(fact.id, user=user)
            case _:
                change = self.random.choice(
                    [facts.pin, facts.unpin, facts.confirm, facts.share, facts.share, facts.unshare]
                )
                await change(fact.id, user=user)


async def a_life(folder: Path) -> list[str]:
    """The lines of a memory that much has happened to."""
    clock, model = FakeClock(), ScriptedChat(attentive)
    folder.mkdir()
    async with opened(folder, chat=model, clock=clock, **KNOWING) as memory:
        await Life(memory, clock, model, 1).go_on(150)
        return await exported(memory)


def _down(*_: object) -> str:
    raise ModelUnavailable("the model is down")


def _places(fact: Fact) -> object:
    """The fact without the ids of sessions, which each database has its own of; sources by name."""
    return replace(fact, sources=()), sorted(
        (source.key, source.seq, source.quote, source.range) for source in fact.sources
    )
