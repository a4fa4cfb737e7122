"""How fast append and search are, and how large the database is, beside LangGraph's SqliteStore and mem0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from anaphora.bench.children import Child, started
from anaphora.bench.machine import installed
from anaphora.bench.peers.side import Plan, orders
from anaphora.bench.peers.with_mem0 import quiet
from anaphora.bench.question import Question
from anaphora.bench.result import COUNT, RATE, RATIO, Figure, Measured, per_second, ratio
from anaphora.bench.setup import Setup
from anaphora.errors import MissingExtra
from anaphora.rules.timings import millis, percentile

PROGRAM = "anaphora.bench.peers"
#: what each system is called where it is shown; Anaphora first
NAMES: Mapping[str, str] = {"anaphora": "Anaphora", "langgraph": "LangGraph SqliteStore", "mem0": "mem0 (infer=False)"}
#: what the others are, in the package index
PACKAGES = ("langgraph-checkpoint-sqlite", "mem0ai")
#: what stands behind them: worth telling, too
_BEHIND = ("langgraph-checkpoint", "sqlite-vec", "qdrant-client", "pysqlite3-binary", "onnxruntime")
#: what is also shown as a multiple of Anaphora's
RELATIVE = frozenset({"append", "append without embedding", "search p50", "database"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What each system is given."""

    users: int
    single: int
    calls: int
    per_call: int
    queries: int
    limit: int = 10

    def plan(self, seed: int) -> Plan:
        """With a seed it is a plan."""
        return Plan(seed=seed, **asdict(self))


def check_installed(packages: Sequence[str] = PACKAGES) -> None:
    """Raise `MissingExtra` unless the packages of the others are here."""
    if not all(map(installed, packages)):
        raise MissingExtra("the comparison with LangGraph and mem0", "bench")


async def measure(sizes: Sizes, setup: Setup) -> Measured:
    """All systems, each in a process and a folder of its own, in turn."""
    outcomes = await asked(tuple(NAMES), sizes, setup)
    return Measured(
        figures=tuple(compared(outcomes, sizes)),
        notes=tuple(_notes(outcomes, sizes)),
        versions={name: found for name in (*PACKAGES, *_BEHIND) if (found := installed(name)) is not None},
    )


async def asked(sides: Sequence[str], sizes: Sizes, setup: Setup) -> Mapping[str, Mapping[str, Any]]:
    """What was measured of each system."""
    plan = sizes.plan(setup.seed)
    async with AsyncExitStack() as stack:
        children: dict[str, Child] = {}
        for side in sides:
            setup.say(f"starting {NAMES[side]}")
            data, own = setup.folder / side, setup.folder / f"{side}-own"
            data.mkdir()
            own.mkdir()
            child = children[side] = await stack.enter_async_context(started(PROGRAM, setup, quiet(own)))
            told = {"side": side, "plan": asdict(plan), "folder": str(data), "models": str(setup.models)}
            await child.tell(told)
            await child.hear()
        for order in orders(plan):
            setup.say(f"{order.what} {order.stop:,}")
            for child in children.values():
                await child.tell(asdict(order))
                await child.hear()
        outcomes = {}
        for side, child in children.items():
            await child.tell({"finish": True})
            outcomes[side] = await child.hear()
    return outcomes


def compared(outcomes: Mapping[str, Mapping[str, Any]], sizes: Sizes) -> Iterator[Figure]:
    """The figures of all systems, and how many times Anaphora's those of the others are."""
    found = {side: list(_figures(outcome, sizes)) for side, outcome in outcomes.items()}
    first = found[next(iter(NAMES))]
    for at, (name, _, unit) in enumerate(first):
        for side, figures in found.items():
            yield Figure(name=name, case=NAMES[side], value=figures[at][1], unit=unit)
    for at, (name, value, _) in enumerate(first):
        if name in RELATIVE and not isinstance(value, str):
            for side, figures in found.items():
                times = ratio(float(figures[at][1]), value)
                yield Figure(name=f"{name}, times Anaphora's", case=NAMES[side], value=times, unit=RATIO)


def _figures(outcome: Mapping[str, Any], sizes: Sizes) -> Iterator[tuple[str, float | str, str]]:
    """Name, value and unit."""
    for name, times, per_call in (("append", outcome["single"], 1), ("in one call", outcome["many"], sizes.per_call)):
        lead = name if per_call == 1 else f"append of {per_call} {name}"
        total, embedding = (sum(part) for part in zip(*times, strict=True))
        yield lead, per_second(len(times) * per_call, total), RATE
        yield f"{lead} without embedding", per_second(len(times) * per_call, total - embedding), RATE
    for name, times in (("append", outcome["single"]), ("search", outcome["search"])):
        taken = [seconds for seconds, _ in times]
        yield f"{name} p50", millis(percentile(taken, 0.5)), "ms"
        yield f"{name} p99", millis(percentile(taken, 0.99)), "ms"
        yield f"{name} p50, of which embedding", millis(percentile([part for _, part in times], 0.5)), "ms"
    yield "messages found by a search", round(outcome["found"] / len(outcome["search"]), 1), COUNT
    yield "database", round(outcome["bytes"] / 1e6, 2), "MB"
    yield "database, a message", round(outcome["bytes"] / sizes.plan(0).messages), "bytes"
    for name, fact in outcome["facts"].items():
        yield name, str(fact), COUNT


def _notes(outcomes: Mapping[str, Mapping[str, Any]], sizes: Sizes) -> Iterator[str]:
    plan = sizes.plan(0)
    text = next(iter(outcomes.values()))["text_bytes"]
    embedder = " and ".join(sorted({str(outcome["embedder"]) for outcome in outcomes.values()}))
    each = text / plan.messages
    yield f"{plan.messages:,} messages of {plan.users} users, {each:.0f} bytes of text each, by one client."
    yield f"A search is six words of a message and asks for {plan.limit}. The systems take turns, part by part."
    yield f"Those that embed use {embedder}; the lines without embedding leave out exactly the time inside it."
    yield "The systems do not do the same: LangGraph and mem0 find by meaning, Anaphora by words."
    yield "How good the finds are is not measured here."
    yield "mem0 runs without telemetry and without its optional packages for keywords (fastembed, spaCy)."
    yield "Without `infer=False` each of its appends would call a language model."


QUESTION = Question(
    name="peers",
    asks="How fast are append and search, and how large is the database, beside LangGraph's SqliteStore and mem0?",
    full=Sizes(users=10, single=1_500, calls=75, per_call=20, queries=300),
    quick=Sizes(users=2, single=6, calls=2, per_call=4, queries=4),
    measure=measure,
    needs=check_installed,
)
