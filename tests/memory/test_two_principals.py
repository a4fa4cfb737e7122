"""I11: whatever a principal calls, with whichever names and ids, nothing of another one comes back or changes.

Hole 0.19: a foreign id is as one that is not there. Holes 1.12, 1.13: a name that begins as another does is another.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.memory.calls import ENTRIES, Entry, Sort
from tests.memory.harness import opened
from tests.memory.principals import (
    OPTIONS,
    Things,
    Who,
    difference,
    exported,
    live,
    model,
    outcome,
    plain,
)

from anaphora import Memory, Session
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

FIRST = Who(tenant="t", user="alice", canary="zzfirst", name="only")
#: another user of the tenant, whose name is how the first one's begins; and the same user in another tenant
NEIGHBOUR = Who(tenant="t", user="al", canary="yysecond", name="own")
NAMESAKE = Who(tenant="t2", user="alice", canary="xxthird", name="own")


@dataclass(kw_only=True)
class Matrix:
    """A memory in which principals live, and what was found wrong so far."""

    memory: Memory
    chat: ScriptedChat
    things: Things
    jobs: str
    wrong: list[str] = field(default_factory=list)

    async def ask(self, who: Who, entry: Entry, name: str) -> None:
        """Somebody else calls, once with what is the first one's, once with what is not there."""
        tenant_wide = who is NEIGHBOUR and entry.tenant_wide
        if tenant_wide and (entry.shows or entry.sort is Sort.CHANGE):
            return
        got, nothing = [await self.got(entry, who, things) for things in (self.things, self.things.ghosts())]
        if FIRST.canary in got:
            at = got.index(FIRST.canary)
            self.wrong.append(f"{name} shows {who.user} {got[max(0, at - 100) : at + 100]!r}")
        told = who is NEIGHBOUR and entry.told
        if got != nothing and entry.compared and not (tenant_wide or told):
            self.wrong.append(f"{name} tells {who.user} what is there: {difference(got, nothing)}")

    async def is_hollow(self, entry: Entry) -> bool:
        """Whether the first one's own call shows nothing of what a leak would show."""
        got = await self.got(entry, FIRST, self.things)
        if entry.shows:
            return FIRST.canary not in got
        return entry.finds and got == await self.got(entry, FIRST, self.things.ghosts())

    async def got(self, entry: Entry, who: Who, things: Things) -> str:
        """The answer, and what a model was told for it."""
        asked = len(self.chat.prompts)
        answer = await outcome(entry.call, self.memory, who, things)
        told = [each.content for prompt in self.chat.prompts[asked:] for each in prompt]
        return plain(f"{answer} {told}", things)

    async def check_untouched(self, what: str) -> None:
        """What is remembered of the first one is what was, byte by byte."""
        now = await exported(self.memory, FIRST)
        assert now == list(self.things.lines), f"{what} changed what is somebody else's; {self.wrong}"
        assert await work_of(self.memory, FIRST) == self.jobs, f"{what} changed somebody else's jobs; {self.wrong}"


async def work_of(memory: Memory, who: Who) -> str:
    """The background work that was ever planned for a principal."""
    return repr([job for job in await memory.jobs.list(limit=1000, tenant=who.tenant) if job.key.user == who.user])


def entries(*sorts: Sort) -> Iterator[tuple[str, Entry]]:
    for space, methods in ENTRIES.items():
        for method, found in methods.items():
            for at, entry in enumerate(found):
                if entry.sort in sorts:
                    yield f"{space}.{method}[{at}]", entry


async def test_nothing_of_one_principal_is_shown_to_another_or_changed_by_it(tmp_path: Path) -> None:
    clock, chat = FakeClock(), model()
    async with opened(tmp_path, chat=chat, clock=clock, **OPTIONS) as memory:
        for who in (NEIGHBOUR, NAMESAKE):
            await live(memory, who, clock)
        things = await live(memory, FIRST, clock)
        matrix = Matrix(memory=memory, chat=chat, things=things, jobs=await work_of(memory, FIRST))
        hollow = [name for name, entry in entries(Sort.READ) if await matrix.is_hollow(entry)]
        assert not hollow, "their owner is not shown anything either"
        for who in (NEIGHBOUR, NAMESAKE):
            for name, entry in entries(Sort.READ):
                await matrix.ask(who, entry, name)
            await matrix.check_untouched("a read")
            for space, group in itertools.groupby(entries(Sort.CHANGE), key=lambda each: each[0].partition(".")[0]):
                for name, entry in group:
                    await matrix.ask(who, entry, name)
                await matrix.check_untouched(f"{who}, by {space},")
        assert not matrix.wrong, "\n".join(matrix.wrong)
        await check_copies(matrix)
        hollow = [
            f"{name}: {got}"
            for name, entry in entries(Sort.CHANGE)
            if (got := await matrix.got(entry, FIRST, things)).startswith(("NotFound", "False", "0")) and not entry.gone
        ]
        assert not hollow, "their owner cannot do it either"
        for _, entry in entries(Sort.PROCESS):
            assert FIRST.canary not in await outcome(entry.call, memory, NAMESAKE, things)


async def check_copies(matrix: Matrix) -> None:
    """Who holds the first one's export may put it back under another name: what it was made from stays as it is."""
    for who, begins in ((replace(NEIGHBOUR, user="alic"), "BadFile"), (replace(NAMESAKE, tenant="t3"), "ImportReport")):
        got = await outcome(lambda m, w, t: m.restore(t.lines, **w.self), matrix.memory, who, matrix.things)
        assert got.startswith(begins)
        await matrix.check_untouched("restoring a copy")


@pytest.mark.parametrize("who", [NEIGHBOUR, NAMESAKE], ids=["member", "namesake"])
async def test_what_a_member_shares_is_read_by_members_and_changed_by_nobody_else(tmp_path: Path, who: Who) -> None:
    """By design: a fact that its owner shares is shown to the members of its subject, and only shown."""
    async with opened(tmp_path) as memory:
        await memory.subjects.create("dog", members=[NEIGHBOUR.user], **FIRST.self)
        fact = await memory.facts.add(f"Feeds the dog, says {FIRST.canary}", subject="dog", **FIRST.self)
        await memory.facts.share(fact.id, **FIRST.self)
        before = await exported(memory, FIRST)
        nothing = UUID(int=0)
        things = Things(
            session="s",
            expired="s",
            subject="dog",
            namespace="s",
            fact=fact.id,
            document=nothing,
            archived=nothing,
            message=nothing,
            receipt=nothing,
            job=nothing,
            lines=(),
        )
        shown = set()
        for method, found in ENTRIES["facts"].items():
            for entry in found:
                got = await outcome(entry.call, memory, who, things)
                if FIRST.canary in got:
                    shown.add(method)
                if entry.sort is Sort.CHANGE and method != "add":
                    assert got.startswith("NotFound"), f"{method}: {got}"
        assert shown == ({"list", "get"} if who is NEIGHBOUR else set())
        assert await exported(memory, FIRST) == before


async def test_every_public_method_says_how_another_principal_might_call_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        spaces = {
            name: type(value)
            for name, value in vars(memory).items()
            if not name.startswith("_") and type(value).__module__.startswith("anaphora.memory")
        }
    classes = {"memory": Memory, "session": Session, **spaces}
    there = {
        space: {name for name, _ in inspect.getmembers(each, callable) if name[0] != "_"}
        for space, each in classes.items()
    }
    assert {space: set(methods) for space, methods in ENTRIES.items()} == there
