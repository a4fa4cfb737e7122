"""Two principals in one database: what each has lived through, and how an answer to one of them is looked at."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final
from uuid import UUID

from anaphora import Memory
from anaphora.domain.jobs import JobState
from anaphora.errors import AnaphoraError
from anaphora.settings import BatchExtractionSettings, RecallSettings, RollingPairsSettings, TokenBudgetSettings
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

#: everything is made of a few messages, and whatever may be brought back is
OPTIONS: Final[dict[str, Any]] = {
    "extraction": "batch",
    "batch_extraction": BatchExtractionSettings(threshold=2, batch=4),
    "notepad": {"enabled": "all"},
    "rolling_pairs": RollingPairsSettings(window_pairs=1, min_messages_for_summary=2, summarise_after=1),
    "token_budget": TokenBudgetSettings(threshold_tokens=192, recent_messages_to_keep=2, archive_conversations=True),
    "recall": RecallSettings(threshold=0, threshold_here=0, conversations=True, conversation_threshold=0, agents="all"),
    "worker": {"max_attempts": 1},
    "retention": {"unsummarised": True, "grace_days": 365},
}
#: sessions of everybody, by their strategy
SESSIONS: Final = {"rolling": "rolling_pairs", "threads": "topics"}
#: what everybody speaks of
COMMON: Final = "apples in the harbour"
DAY: Final = 86_400.0
_ID = re.compile(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b")
_HASH = re.compile(r"\b[0-9a-f]{16,}\b|memory \d{15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """One principal."""

    tenant: str
    user: str
    #: stands in whatever is kept of the principal alone
    canary: str
    #: a session, a subject and a namespace that nobody else has
    name: str

    @property
    def self(self) -> dict[str, Any]:
        """As almost every method takes it."""
        return {"user": self.user, "tenant": self.tenant}


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """What belongs to a principal, as others might name it."""

    session: str
    expired: str
    subject: str
    namespace: str
    fact: UUID
    document: UUID
    archived: UUID
    message: UUID
    receipt: UUID
    job: UUID
    lines: tuple[str, ...] = field(repr=False)

    def ghosts(self) -> Things:
        """Their next neighbours, which are not there: no order and no length tells them from these."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, UUID):
                changed[each.name] = UUID(int=value.int ^ 1)
            elif isinstance(value, str):
                changed[each.name] = f"{value[:-1]}~"
        return replace(self, **changed)

    def names(self) -> list[str]:
        """All that can be given, as text."""
        values = [getattr(self, each.name) for each in fields(self) if each.name != "lines"]
        return sorted((str(value) for value in values), key=len, reverse=True)


def model() -> ScriptedChat:
    """It does not want to hear of what is poisoned: the work on that fails."""

    def script(messages: Any, schema: Any) -> str:
        if any("poisoned" in message.content for message in messages):
            raise KeyError("poison")
        return faithful(messages, schema)

    return ScriptedChat(script)


async def live(memory: Memory, who: Who, clock: FakeClock) -> Things:
    """Have everything that can be had; what is the principal's."""
    word, mine = who.canary, who.self
    receipt = None
    for session, strategy in {**SESSIONS, who.name: "token_budget"}.items():
        chat = memory.session(session=session, strategy=strategy, **mine)
        for turn in range(4):
            receipt = await chat.add("user", f"I like {word}{turn} {COMMON}, number {turn}.", key=f"{turn}")
            await chat.add("assistant", f"Noted: {word}. Decision: keep {COMMON}" + ", and then the next" * 7)
        await chat.edit(0, f"I like {word}0 {COMMON} very much.")
        await chat.delete(3)
        await chat.end()
    gone = memory.session(session=f"{who.name}-gone", **mine)
    await gone.add("user", f"I hate {word} {COMMON}.")
    await gone.add("user", f"This is {word}-erased.")
    poor = memory.session(session="poor", **mine)
    for _ in range(4):
        await poor.add("user", f"I work on poisoned {word}.")
        await poor.add("assistant", "Noted.")
    await memory.work()
    assert receipt is not None
    message = (await chat.messages(limit=1))[0]
    await memory.erase(session=gone.key.session, message=1, **mine)
    await memory.retention.keep(1, session=gone.key.session, **mine)
    await memory.subjects.create(who.name, name=f"about {word}", **mine)
    fact = await memory.facts.add(f"Owns {word} {COMMON}", pinned=True, subject=who.name, **mine)
    await memory.facts.edit(fact.id, content=f"Owns all {word} {COMMON}", **mine)
    await memory.facts.share(fact.id, **mine)
    await memory.facts.add(f"Keeps {word} to themselves", pinned=True, **mine)
    await memory.notepad.edit(f"Speaks of {word}.", **mine)
    document = await memory.knowledge.add(
        f"{word} {COMMON}.", title=f"On {word}", key="common", doc_type="note", metadata={"of": word}, **mine
    )
    await memory.knowledge.add(f"{word} {COMMON}.", namespace=["team", who.name], tenant=who.tenant)
    (archived, *_) = await memory.knowledge.list(doc_type="conversation", **mine)
    await memory.work()
    clock.jump(2 * DAY)
    await memory.retention.run(tenant=who.tenant)
    assert len(await memory.retention.expired(tenant=who.tenant)) >= 1
    jobs = await memory.jobs.list(limit=1000, tenant=who.tenant)
    again = {(each.session_id, each.kind) for each in jobs if each.state is JobState.QUEUED}
    failed = [each for each in jobs if each.state is JobState.FAILED]
    job = next(each for each in failed if (each.session_id, each.kind) not in again)
    return Things(
        session=who.name,
        expired=gone.key.session,
        subject=who.name,
        namespace=who.name,
        fact=fact.id,
        document=document.id,
        archived=archived.id,
        message=message.id,
        receipt=receipt.id,
        job=job.id,
        lines=tuple(await exported(memory, who)),
    )


async def exported(memory: Memory, who: Who) -> list[str]:
    """All that is remembered of a principal."""
    return [line async for line in memory.export(**who.self)]


Call = Callable[[Memory, Who, Things], Any]


async def outcome(call: Call, memory: Memory, who: Who, things: Things) -> str:
    """What came of a call, as text: an answer, or an error that is meant for people."""
    try:
        found = call(memory, who, things)
        if isinstance(found, AsyncGenerator):
            found = [each async for each in found]
        elif isinstance(found, Awaitable):
            found = await found
        text = repr(found)
    except AnaphoraError as error:
        text = f"{type(error).__name__}: {error}"
    return text


def plain(text: str, things: Things) -> str:
    """An answer without the names and ids that were asked for, and without those that chance has made."""
    for name in things.names():
        text = text.replace(name, "NAME")
    return _HASH.sub("HASH", _ID.sub("ID", text))


def difference(one: str, other: str) -> str:
    """Where two answers part."""
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, at - 60)
    return f"{one[start : at + 200]!r} / {other[start : at + 200]!r}"
