"""Upkeep of several servers that are one store: each as if it were alone, then what only all of them can tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from anyio.from_thread import start_blocking_portal

from anaphora.bootstrap.stores import open_member, open_store, placement_of, servers_of
from anaphora.bootstrap.system import SystemClock, system_randomness
from anaphora.domain.jobs import JobKind
from anaphora.services.maintenance import Check, Diagnosis
from anaphora.settings import Settings
from anaphora.storage.routed.opening import astray, opened_members
from anaphora.storage.routed.store import named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from anaphora.domain.plans import State
    from anaphora.storage.routed.opening import Member

T = TypeVar("T")
#: brings one database to the newest schema: its revision before, and the one after
Migrate = Callable[[Settings], tuple[str | None, str]]


def migrate(settings: Settings, one: Migrate) -> tuple[str | None, str]:
    """Bring every server to the newest schema, and write down on each that it is one of these.

    Returns:
        The oldest revision that one of them had (None: there was no schema), and the one after.

    Raises:
        ConfigError: the list of servers cannot work.
        StoreError: one of them cannot be opened, or keeps a tenant that belongs to another.

    """
    before, after = zip(*(each(settings, one).values()), strict=True)

    async def opened() -> None:
        async with open_store(settings, read_only=False, **_looking()):
            pass

    _run(opened)
    oldest = None if None in before else min(str(revision) for revision in before)
    return oldest, str(after[0])


def diagnose(settings: Settings, one: Callable[[Settings], Diagnosis]) -> Diagnosis:
    """Examine every server, and whether each tenant lives where it is looked for; nothing is written.

    A law is kept if every server keeps it; what was found says on which.

    Raises:
        ConfigError: the list of servers cannot work.
        StoreError: one of them cannot be opened.

    """
    by_id: dict[str, dict[str, Check]] = defaultdict(dict)
    for name, found in each(settings, one).items():
        for check in found.checks:
            by_id[check.id][name] = check
    checks = tuple(_together(each) for each in by_id.values())
    return Diagnosis(checks=(*checks, _run(lambda: _at_home(settings))))


def each(settings: Settings, one: Callable[[Settings], T]) -> Mapping[str, T]:
    """What comes of every server, by its name."""
    done: dict[str, T] = {}
    placement_of(settings)
    for name, url in sorted(servers_of(settings).items()):
        with named(name):
            done[name] = one(settings.model_copy(update={"db": url}))
    return done


def _together(checks: Mapping[str, Check]) -> Check:
    first = next(iter(checks.values()))
    return Check(
        id=first.id,
        name=first.name,
        ok=all(check.ok for check in checks.values()),
        detail="; ".join(f"{name}: {check.detail}" for name, check in checks.items() if check.detail),
        checked=sum(check.checked for check in checks.values()),
        warning=all(check.warning for check in checks.values() if not check.ok) and first.warning,
    )


async def _at_home(settings: Settings) -> Check:
    placement, urls = placement_of(settings), servers_of(settings)

    @asynccontextmanager
    async def opening(name: str) -> AsyncIterator[Member]:
        how = {**_looking(), "busy_timeout": settings.busy_timeout, "read_only": True}
        async with open_member(urls[name], **how) as member:
            yield member

    async with opened_members(opening, placement) as members:
        found = await astray(members, placement)
    return Check(
        id="servers",
        name="every tenant lives where it is looked for",
        ok=not found.count,
        detail=str(found),
        checked=len(urls),
    )


def _looking() -> Mapping[str, Any]:
    """How a store is opened that plans nothing."""

    def never(_strategy: str | None, _state: State, /) -> JobKind | None:
        return None

    clock = SystemClock()
    return {"planner": never, "reader_of": str, "clock": clock, "time": None, "randomness": system_randomness}


def _run(work: Callable[[], Awaitable[T]]) -> T:
    """In an event loop of its own, whether or not one runs here."""
    with start_blocking_portal() as portal:
        return portal.call(work)
