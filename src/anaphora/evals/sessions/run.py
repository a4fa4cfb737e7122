"""Play the scenarios, and say which points hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

from anaphora.bootstrap import Overrides
from anaphora.bootstrap.providers import ChatModels, counter_from
from anaphora.errors import AnaphoraError, ConfigError, InvalidInput, MissingExtra, StoreError
from anaphora.evals.sessions.desk import Desk, Opening, desk
from anaphora.evals.sessions.facts import ABOUT_FACTS
from anaphora.evals.sessions.guarded import GUARDED
from anaphora.evals.sessions.reader import NAME, Reader
from anaphora.evals.sessions.scenarios import End, Look, Point, Say, Scenario, Seen, Step
from anaphora.evals.sessions.seed import SEED
from anaphora.evals.sessions.talks import ABOUT_TALKS
from anaphora.memory import Memory
from anaphora.ports.models import Embedder
from anaphora.settings import Settings

SCENARIOS: Final = (*SEED, *ABOUT_FACTS, *GUARDED, *ABOUT_TALKS)

Tell = Callable[[str], None]


def chosen(words: Sequence[str]) -> Sequence[Scenario]:
    """The scenarios whose names have one of the words, with those that share a store with them; all if none is given.

    Raises:
        InvalidInput: no scenario has a word.

    """
    stores: set[str] = set()
    for word in words:
        found = {each.store for each in SCENARIOS if word.casefold() in each.name.casefold()}
        if not found:
            raise InvalidInput(
                f"no scenario is called {word!r}: there are {', '.join(each.name for each in SCENARIOS)}"
            )
        stores |= found
    return tuple(each for each in SCENARIOS if not words or each.store in stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was found of a point."""

    scenario: str
    name: str
    ok: bool
    #: what is wrong
    detail: str


async def evaluate(
    settings: Settings,
    *,
    embedder: Embedder | None,
    tell: Tell,
    remembers: bool = True,
    scenarios: Sequence[Scenario] = SCENARIOS,
) -> dict[str, Any]:
    """Play the scenarios one after the other.

    Args:
        settings: the database, which must not know the stores of the scenarios, and how to remember. Its model
            answers and makes what is derived; if it names none, the scripted one does.
        embedder: None: words alone are compared.
        tell: told how far it is.
        remembers: False: each question is asked alone, and nothing is kept.
        scenarios: what to play; those of one store in their order.

    Returns:
        `model`, `embedder` (its id or None), `memory`, `scenarios` (name, how many points, how many failed), `points`
        (scenario, name, ok, detail) and `totals` (points, ok, failed).

    Raises:
        InvalidInput: the database holds an earlier run.
        ConfigError: a setting that cannot work.
        StoreError: the database failed.

    """
    reader = Reader() if settings.model is None else None
    models = ChatModels()
    try:
        answers = reader or models.get(settings.chat_model())
        opening = _opening(settings, reader, embedder)
        await _check_unknown(opening, scenarios)
        judged: list[Judged] = []
        for scenario in scenarios:
            async with desk(opening, _tenant(scenario), None if remembers else answers) as place:
                judged += await _play(scenario, place)
            tell(f"{scenario.name}: {sum(each.ok for each in judged)} of {len(judged)} points so far")
    finally:
        await models.aclose()
    return _document(judged, settings.model or NAME, embedder, remembers=remembers)


def _opening(settings: Settings, reader: Reader | None, embedder: Embedder | None) -> Opening:
    given = Overrides(chat_model=reader, memory_model=reader, embedder=embedder, counter=counter_from(settings))
    alone = settings if embedder is not None else settings.model_copy(update={"embedder": "none"})

    def opening() -> AbstractAsyncContextManager[Memory]:
        return Memory.open(settings=alone, overrides=given, worker=False)

    return opening


def _tenant(scenario: Scenario) -> str:
    return f"eval-sessions-{scenario.store}"


async def _check_unknown(opening: Opening, scenarios: Sequence[Scenario]) -> None:
    async with opening() as memory:
        for tenant in dict.fromkeys(map(_tenant, scenarios)):
            if await memory.sessions(tenant=tenant, limit=1):
                raise InvalidInput("the database holds an earlier run of these sessions: give another one")


async def _play(scenario: Scenario, place: Desk) -> list[Judged]:
    """Every point of the scenario; once something cannot be done that the story needs, none holds any more."""
    judged: list[Judged] = []
    broken = ""
    for sitting in scenario.sittings:
        seen = Seen(memory=place.memory, tenant=place.tenant, sitting=sitting)
        for step in sitting.steps:
            if not broken:
                seen, broken = await _done(place, step, seen)
            for point in _points(step):
                ok, detail = (False, broken) if broken else await _judged(point, seen)
                judged.append(Judged(scenario=scenario.name, name=point.name, ok=ok, detail=detail))
    return judged


async def _done(place: Desk, step: Step, seen: Seen) -> tuple[Seen, str]:
    """What there is to see after a step, and why it could not be done, if so."""
    try:
        return await place.play(seen.sitting, step, seen), ""
    except (ConfigError, MissingExtra, StoreError):
        raise
    except AnaphoraError as error:
        return seen, f"{type(step).__name__.lower()}: {error}"


def _points(step: Step) -> Sequence[Point]:
    return step.points if isinstance(step, Say | Look | End) else ()


async def _judged(point: Point, seen: Seen) -> tuple[bool, str]:
    for check in point.checks:
        wrong = await check(seen)
        if wrong is not None:
            return False, wrong
    return True, ""


def _document(judged: Sequence[Judged], model: str, embedder: Embedder | None, *, remembers: bool) -> dict[str, Any]:
    names = dict.fromkeys(each.scenario for each in judged)
    return {
        "model": model,
        "embedder": None if embedder is None else embedder.profile.id,
        "memory": "on" if remembers else "off",
        "scenarios": [{"name": name, **_totals([each for each in judged if each.scenario == name])} for name in names],
        "points": [
            {"scenario": each.scenario, "name": each.name, "ok": each.ok, "detail": each.detail} for each in judged
        ],
        "totals": _totals(judged),
    }


def _totals(judged: Sequence[Judged]) -> dict[str, int]:
    return {
        "points": len(judged),
        "ok": sum(each.ok for each in judged),
        "failed": sum(not each.ok for each in judged),
    }
