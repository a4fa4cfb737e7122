"""Whether a context is as fast after 100,000 messages as after 100."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anaphora.bench.filling import fill, key_of
from anaphora.bench.question import Question
from anaphora.bench.result import RATIO, Figure, Measured, at_most, ratio, waits
from anaphora.bench.setup import Setup, plain_settings
from anaphora.bootstrap import Overrides, open_services
from anaphora.memory import Memory
from anaphora.rules.timings import percentile
from anaphora.settings import Settings, WorkerSettings
from anaphora.testing.scripted import ScriptedChat

#: L3: the longest session against the shortest, and milliseconds
FLAT = 1.2
SLOWEST_MS = 15.0
#: milliseconds with a search
SEARCHED_MS = 25.0
#: rounds that are not counted: caches fill
_WARM_UP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How long the sessions are, in messages, and how often each is asked."""

    lengths: tuple[int, ...]
    #: a session of which nothing is summarised yet
    unsummarised: int
    rounds: int
    #: tokens of a prompt
    budget: int = 2_000


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """Contexts of sessions of several lengths, in turn, so that what slows the machine down slows all of them."""
    db = setup.folder / "context.db"
    cases = {f"{length:,} messages": f"session{length}" for length in sizes.lengths}
    waiting = f"{sizes.unsummarised:,} messages, none summarised"
    setup.say(f"filling: {sum(sizes.lengths) + sizes.unsummarised:,} messages")
    await fill_sessions(sizes, setup, db)
    setup.say(f"{sizes.rounds:,} contexts of each session")
    found = await contexts(sizes, setup, db, {**cases, waiting: "waiting"})
    searched = {asked(case) for case in (*cases, waiting)}
    figures = [
        figure
        for case, seconds in found.items()
        for figure in waits(seconds, case=case, p99=at_most(SEARCHED_MS if case in searched else SLOWEST_MS))
    ]
    shortest, *_, longest = cases
    figures += [
        Figure(
            name=f"ratio of the {name}",
            case=f"{longest} to {shortest}",
            value=ratio(percentile(found[longest], share), percentile(found[shortest], share)),
            unit=RATIO,
            target=target,
        )
        for name, share, target in (("p50", 0.5, None), ("p99", 0.99, at_most(FLAT)))
    ]
    return Measured(
        figures=tuple(figures),
        notes=(
            f"Each context has a budget of {sizes.budget:,} tokens.",
            "With a search it is for a new question, whose words are looked up in everything that the user said.",
            "It comes with its account of every message in the session.",
            "The summaries were made by a scripted model.",
        ),
    )


async def fill_sessions(sizes: Sizes, setup: Setup, db: Path | str) -> None:
    """Sessions whose summaries are as far as they can be, and one that nobody has worked on."""
    words = setup.words()
    # larger batches than a real model would be given, so that filling does not take longer than asking
    settings = plain_settings(
        db, durability="normal", worker=WorkerSettings(batch_messages=200, input_tokens=30_000, max_attempts=5)
    )
    async with open_services(settings, Overrides(memory_model=ScriptedChat())) as services:
        await fill(services, words, [(key_of("user", f"session{length}"), length) for length in sizes.lengths])
        await services.worker.drain()
        await fill(services, words, [(key_of("user", "waiting"), sizes.unsummarised)])


def asked(case: str) -> str:
    """The same case, with a question whose answer is looked for."""
    return f"{case}, with a search"


async def contexts(
    sizes: Sizes, setup: Setup, db: Path | str, cases: Mapping[str, str]
) -> Mapping[str, Sequence[float]]:
    """Seconds of each context, by case: as the session stands, and with a search in all that was ever said."""
    words = setup.words()
    found: dict[str, list[float]] = {name: [] for case in cases for name in (case, asked(case))}
    settings: Settings = plain_settings(db)
    async with Memory.open(settings=settings, worker=False) as memory:
        chats = {case: memory.session(user="user", session=session) for case, session in cases.items()}
        for number in range(-_WARM_UP, sizes.rounds):
            query = words.question(f"question {number}")
            for case, chat in chats.items():
                for name, question in ((case, None), (asked(case), query)):
                    started = time.perf_counter()
                    await chat.context(question, budget=sizes.budget)
                    if number >= 0:
                        found[name].append(time.perf_counter() - started)
    return found


QUESTION = Question(
    name="context",
    asks="Is a context as fast after 100,000 messages as after 100?",
    full=Sizes(lengths=(100, 10_000, 100_000), unsummarised=100_000, rounds=1_000),
    quick=Sizes(lengths=(10, 40), unsummarised=40, rounds=5),
    measure=measure,
)
