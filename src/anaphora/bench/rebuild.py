"""How long it takes to make all summaries anew from the log."""

from __future__ import annotations

import time
from dataclasses import dataclass

from anaphora.bench.filling import fill, spread
from anaphora.bench.question import Question
from anaphora.bench.result import RATE, SECONDS, Figure, Measured, at_most, per_second
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.keys import SessionKey
from anaphora.memory import Memory
from anaphora.testing.scripted import ScriptedChat

#: F15: 100,000 messages with a scripted model
REBUILT_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The log."""

    messages: int
    sessions: int


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """The first summaries of a log, then all of them again."""
    model = ScriptedChat()
    conversations = list(spread(sizes.messages, users=sizes.sessions, sessions=sizes.sessions))
    settings = plain_settings(setup.folder / "memory.db")
    async with open_services(settings, Overrides(memory_model=model)) as services:
        setup.say(f"filling: {sizes.messages:,} messages")
        await fill(services, setup.words(), conversations)
        setup.say("the first summaries")
        first = await _drain(services)
        before = await _covered(services, conversations)
        first_calls = len(model.prompts)
        setup.say("all of them again")
        memory = Memory(services)
        for key, _ in conversations:
            await memory.session(user=key.user, session=key.session).rebuild()
        again = await _drain(services)
        changed = sum(old != new for old, new in zip(before, await _covered(services, conversations), strict=True))
    return Measured(
        figures=(
            Figure(name="rebuilt", value=round(again, 2), unit=SECONDS, target=at_most(REBUILT_SECONDS)),
            Figure(name="messages", case="rebuild", value=per_second(sizes.messages, again), unit=RATE),
            Figure(name="messages", case="first summaries", value=per_second(sizes.messages, first), unit=RATE),
            Figure(name="calls of the model", case="rebuild", value=len(model.prompts) - first_calls),
            Figure(name="calls of the model", case="first summaries", value=first_calls),
            Figure(name="sessions whose summary speaks for other messages", value=changed, target=at_most(0)),
        ),
        notes=(
            "The scripted model answers at once: this is the time of everything else, commits included.",
            "A real model needs its own time for each call.",
        ),
    )


async def _drain(services: Services) -> float:
    """Seconds until nothing is due."""
    started = time.perf_counter()
    await services.worker.drain()
    return time.perf_counter() - started


async def _covered(services: Services, conversations: list[tuple[SessionKey, int]]) -> list[tuple[int, int] | None]:
    """The range that each session's newest summary speaks for."""
    memory = Memory(services)
    found: list[tuple[int, int] | None] = []
    for key, _ in conversations:
        newest = await memory.session(user=key.user, session=key.session).summaries(limit=1)
        found.append((newest[0].range.start, newest[0].range.stop) if newest else None)
    return found


QUESTION = Question(
    name="rebuild",
    asks="How long does it take to make the summaries of 100,000 messages anew from the log?",
    full=Sizes(messages=100_000, sessions=20),
    quick=Sizes(messages=60, sessions=2),
    measure=measure,
)
