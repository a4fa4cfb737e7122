"""I11 over HTTP: whatever a principal asks any route, nothing of another one comes back or changes.

The routes are those of the OpenAPI document; how each is asked stands in `tests/server/entries`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from tests.memory.principals import OPTIONS, Things, Who, difference, exported, live, model, plain
from tests.memory.test_two_principals import work_of
from tests.server.harness import HERE, TENANT, Service, operator, person, served
from tests.server.matrix import Entry, asked, collected, named

from anaphora.domain.facts import Fact
from anaphora.domain.principals import OF_PERSONS, Permission
from anaphora.server.gate import Reader
from anaphora.testing import FakeClock

pytestmark = pytest.mark.anyio

#: everything is asked at once
OFTEN = {"requests_per_minute": 0, "failures_per_minute": 100_000}
METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})
FIRST = Who(tenant=TENANT, user="ann", canary="zzfirst", name="only")
#: another user of the tenant, and the same user in another tenant
NEIGHBOUR = Who(tenant=TENANT, user="bob", canary="yysecond", name="own")
NAMESAKE = Who(tenant="other", user="ann", canary="xxthird", name="own")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(kw_only=True)
class Matrix:
    """A service in which principals have lived, and what was found wrong so far."""

    service: Service
    things: Things
    #: of the first one
    ids: frozenset[str]
    jobs: str
    clients: dict[str, httpx2.AsyncClient]
    wrong: list[str] = field(default_factory=list)

    async def is_asked(self, name: str, at: int, entry: Entry) -> None:
        """Everybody but the owner asks."""
        what = f"{name} [{at}]"
        if entry.scope is None:
            for who in ("nobody", "bob", "operator"):
                await self.got(what, who, name, entry, self.things, (entry.owner,))
            return
        allowed = entry.foreign or (entry.owner,)
        await self.got(what, "nobody", name, entry, self.things, (401,))
        if entry.scope is Permission.OPERATE:
            for who in ("ann", "bob", "namesake"):
                await self.got(what, who, name, entry, self.things, (403,))
            await self.got(what, "other operator", name, entry, self.things, allowed)
            return
        await self.got(what, f"without {entry.scope.value}", name, entry, self.things, (403,))
        await self.got(what, "operator", name, entry, self.things, (403,))
        for who in ("bob", "namesake"):
            got = await self.got(what, who, name, entry, self.things, allowed)
            nothing = await self.got(what, who, name, entry, self.things.ghosts(), allowed)
            if entry.compared and got != nothing:
                self.wrong.append(f"{what} tells {who} what is there: {difference(got, nothing)}")

    async def got(self, what: str, who: str, name: str, entry: Entry, things: Things, allowed: Sequence[int]) -> str:
        """The answer as text, without the names that were asked for; what is wrong with it is noted."""
        answer, sent = await asked(self.clients[who], name, entry, things)
        if answer.status_code not in allowed:
            self.wrong.append(f"{what} answers {who} {answer.status_code}, not {allowed}: {answer.text[:200]}")
        said = f"{answer.status_code} {dict(answer.headers)} {answer.text}"
        if FIRST.canary in said:
            self.wrong.append(f"{what} shows {who}: {said[max(0, said.index(FIRST.canary) - 100) :][:200]}")
        shown = (self.ids & set(_ID.findall(said))) - set(_ID.findall(sent))
        if shown:
            self.wrong.append(f"{what} shows {who} the ids {sorted(shown)[:3]}")
        return plain(f"{answer.status_code} {answer.text}", things)

    async def is_answered(self, name: str, at: int, entry: Entry) -> None:
        """The owner asks."""
        who = "operator" if entry.scope is Permission.OPERATE else "ann"
        answer, _ = await asked(self.clients[who], name, entry, self.things)
        if answer.status_code != entry.owner:
            self.wrong.append(f"{name} [{at}] answers its owner {answer.status_code}: {answer.text[:200]}")
        if entry.shows and FIRST.canary not in answer.text:
            self.wrong.append(f"{name} [{at}] shows its owner nothing either: {answer.text[:200]}")
        if who == "operator" and FIRST.canary in answer.text:
            self.wrong.append(f"{name} [{at}] shows an operator what was said")

    async def check_untouched(self, what: str) -> None:
        """What is remembered of the first one is what was, byte by byte."""
        now = await exported(self.service.memory, FIRST)
        assert now == list(self.things.lines), f"{what} changed what is somebody else's; {self.wrong}"
        assert await work_of(self.service.memory, FIRST) == self.jobs, f"{what} changed jobs; {self.wrong}"


@asynccontextmanager
async def filled(folder: Path) -> AsyncIterator[Matrix]:
    clock = FakeClock()
    async with served(folder, chat=model(), clock=clock, server=OFTEN, **OPTIONS) as service, AsyncExitStack() as stack:
        for who in (NEIGHBOUR, NAMESAKE):
            await live(service.memory, who, clock)
        things = await live(service.memory, FIRST, clock)
        service.gate.principals |= {
            "namesake": person("ann", tenant="other"),
            "other operator": operator("other"),
            **{f"without {each.value}": person("ann", *(OF_PERSONS - {each})) for each in OF_PERSONS},
        }
        clients = {"nobody": service.nobody}
        for token in service.gate.principals:
            client = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(service.app),
                base_url=HERE,
                headers={"Authorization": f"Bearer {token}"},
            )
            clients[token] = await stack.enter_async_context(client)
        known = [str(getattr(things, name)) for name in ("fact", "document", "archived", "message", "receipt", "job")]
        yield Matrix(
            service=service,
            things=things,
            ids=frozenset(_ID.findall(" ".join([*things.lines, *known]))),
            jobs=await work_of(service.memory, FIRST),
            clients=clients,
        )


def entries(*, changes: bool) -> list[tuple[str, int, Entry]]:
    """What is asked, in the order of the files."""
    return [
        (name, at, entry)
        for name, found in collected().items()
        if name.startswith("GET ") != changes
        for at, entry in enumerate(found)
        if not entry.apart
    ]


async def test_no_route_shows_or_changes_what_is_somebody_elses(tmp_path: Path) -> None:
    async with filled(tmp_path) as matrix:
        for name, at, entry in entries(changes=False):
            await matrix.is_answered(name, at, entry)
        for name, at, entry in entries(changes=False):
            await matrix.is_asked(name, at, entry)
        await matrix.check_untouched("a read")
        await check_it_can_fail(matrix)
        # what others make of their own under such names is made last
        changes = sorted(entries(changes=True), key=lambda each: 404 not in each[2].foreign)
        for part, group in itertools.groupby(changes, key=lambda each: each[0].split("/")[2]):
            for name, at, entry in group:
                await matrix.is_asked(name, at, entry)
            await matrix.check_untouched(f"a change of {part}")
        for name, at, entry in sorted(entries(changes=True), key=lambda each: (each[2].destroys, not each[2].shows)):
            await matrix.is_answered(name, at, entry)
        assert not matrix.wrong, "\n".join(matrix.wrong)


async def test_no_route_lets_a_member_change_what_is_shared_with_them(tmp_path: Path) -> None:
    async with filled(tmp_path) as matrix:
        await matrix.service.memory.subjects.add_member(matrix.things.subject, "bob", **FIRST.self)
        assert (await matrix.clients["bob"].get(f"/v1/facts/{matrix.things.fact}")).status_code == 200
        before = await exported(matrix.service.memory, FIRST)
        changes = [
            (name, at, entry)
            for name, at, entry in entries(changes=True)
            if entry.foreign == (404,) and ("{fact" in name or "{subject}" in name)
        ]
        assert len(changes) >= 14
        for name, at, entry in changes:
            answer, _ = await asked(matrix.clients["bob"], name, entry, matrix.things)
            assert (answer.status_code, answer.json()["error"]) == (404, "NotFound"), f"{name} [{at}]: {answer.text}"
        assert await exported(matrix.service.memory, FIRST) == before


async def check_it_can_fail(matrix: Matrix) -> None:
    """A route that tells everybody is found out."""
    known = matrix.service.memory.facts

    @matrix.service.app.get("/v1/leak/{fact}")
    async def leak(fact: UUID, principal: Reader) -> Fact:
        return await known.get(fact, user="ann" if fact == matrix.things.fact else "bob", tenant=principal.tenant)

    careless = replace(matrix, wrong=[])
    await careless.is_asked("GET /v1/leak/{fact}", 0, named(Permission.READ))
    found = {" ".join(each.partition("] ")[2].split()[:2]).rstrip(":") for each in careless.wrong}
    assert found == {"answers bob", "shows bob", "tells bob"}


async def test_every_route_has_an_entry(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        paths = (await service.nobody.get("/v1/openapi.json")).json()["paths"]
    there = {f"{method.upper()} {path}" for path, found in paths.items() for method in found if method in METHODS}
    assert collected().keys() == there, "say in tests/server/entries how each route is asked"
