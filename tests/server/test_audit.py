"""Whatever changes something is accounted for once; the account holds no names, and shows where it was changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from pydantic import BaseModel
from tests.memory.harness import opened
from tests.server.harness import TENANT, operator, person, served

from anaphora.bootstrap.maintenance import diagnose
from anaphora.server.auditing import UNAUDITED
from anaphora.server.gate import Open, Writer, recognised
from anaphora.server.page.visits import visitor
from anaphora.server.paths import Name
from anaphora.server.rates import Rates
from anaphora.storage.access_tables import audit

pytestmark = pytest.mark.anyio


async def test_a_change_is_noted_with_who_what_and_how_it_was_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/sessions/secret%20plan/messages", json={"role": "user", "content": "Hello."})
        assert await service.memory.audit.list() == [], "the log is its own account"
        await service.ann.post("/v1/sessions/secret%20plan/end")
        await service.bob.post("/v1/sessions/secret%20plan/end")
        bobs, anns = await service.memory.audit.list()
        assert (anns.number, anns.action, anns.status, anns.by) == (1, "end_session", 200, "test-ann")
        assert anns.who != bobs.who
        assert set(anns.about) == {"session"}
        assert "secret" not in str(anns)
        assert await service.memory.audit.list(user="ann") == [anns]
        assert await service.memory.audit.list(before=2) == [anns]
        assert await service.memory.audit.list(tenant="other") == []
        await service.ann.delete("/v1/sessions/secret%20plan/messages/0")
        (deleted, *_) = await service.memory.audit.list()
        assert (deleted.action, deleted.about["seq"]) == ("delete_message", "0")


class Wanted(BaseModel):
    """What a route takes."""

    fail: bool = False


def ids_beside_names(app: FastAPI) -> None:
    """A route that names people as well as things, and may break."""

    @app.put("/v1/things/{thing}/{number}/{person}")
    async def share_thing(
        thing: UUID, number: int, person: Name, wanted: Wanted, principal: Writer, request: Request
    ) -> None:
        del thing, number, person, principal
        if wanted.fail:
            raise RuntimeError
        request.state.made = {"copy": "7"}


async def test_ids_are_noted_as_they_are_and_names_never_whatever_they_look_like(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        ids_beside_names(service.app)
        here = UUID(int=7)
        number = "5551234567"
        for path in (f"{here}/1/{number}", f"{here}/1/{here}", f"{number}/x/y", f"{here}/{here}/y%20z"):
            await service.ann.put(f"/v1/things/{path}", json={})
        *_, second, first = noted = await service.memory.audit.list()
        assert [entry.status for entry in noted] == [422, 422, 200, 200]
        assert {name: first.about[name] for name in ("thing", "number", "copy")} == {
            "thing": str(here),
            "number": "1",
            "copy": "7",
        }
        assert second.about["person"] != str(here)
        assert number not in str(noted)


async def test_what_breaks_on_the_way_is_noted_too_and_is_a_fault_of_the_service(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        ids_beside_names(service.app)
        answer = await service.ann.put(f"/v1/things/{UUID(int=7)}/1/x", json={"fail": True})
        assert answer.status_code == 500
        (noted,) = await service.memory.audit.list()
        assert (noted.action, noted.status) == ("share_thing", 500)


async def test_nobody_is_told_that_a_change_was_made_that_could_not_be_noted(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        ids_beside_names(service.app)
        await service.memory._services.store.close()
        answer = await service.ann.put(f"/v1/things/{UUID(int=7)}/1/x", json={})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert answer.json()["error"] == "StoreClosed"
        answer = await service.ann.post("/v1/sessions/s/end")
        assert answer.status_code == 503


async def test_who_is_turned_away_writes_nothing(tmp_path: Path) -> None:
    """Otherwise the limit on requests would be none on writing."""
    async with served(tmp_path) as service:
        service.app.state.rates = Rates(requests=2, failures=60)
        statuses = [(await service.ann.post("/v1/sessions/s/end")).status_code for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
        assert (await service.nobody.post("/v1/sessions/s/end")).status_code == 401
        assert (await service.operator.post("/v1/keys", content=b"{")).status_code == 422
        assert [entry.status for entry in await service.memory.audit.list()] == [422, 200, 200]


#: nobody has come in yet, or nothing is changed but what the browser keeps
OPEN = frozenset({"login"})


def guarded(part: Dependant) -> bool:
    """Whether somebody must be recognised for it."""
    return part.call in {recognised, visitor} or any(map(guarded, part.dependencies))


def filled(path: str, part: Dependant) -> str:
    """The path with something for each parameter that may stand there."""
    for field in part.path_params:
        kind: object = field.field_info.annotation
        value = str(UUID(int=7)) if kind is UUID else "7" if kind is int else "x"
        path = path.replace(f"{{{field.alias}}}", value)
    for each in part.dependencies:
        path = filled(path, each)
    return path


async def test_every_route_that_changes_something_writes_one_entry(tmp_path: Path) -> None:
    """T15: for every method of every route there is, whatever it answers, or the log is its account."""
    async with served(tmp_path) as service:
        routes = [
            route
            for route in iter_route_contexts(service.app.routes)
            if isinstance(route.original_route, APIRoute) and route.name not in OPEN
        ]
        assert [route.name for route in routes if changes(route) and not guarded(route.dependant)] == []
        number = 0
        for who in (person("ann"), operator()):
            service.app.state.gate = Open(who)
            for route in filter(changes, routes):
                for method in sorted(changes(route)):
                    what = f"{method} {route.path} ({route.name})"
                    answer = await service.nobody.request(
                        method, filled(route.path or "", route.dependant), json={}, follow_redirects=False
                    )
                    new = await service.memory.audit.list(limit=2)
                    new = [entry for entry in new if entry.number > number]
                    wanted = [] if route.name in UNAUDITED else [(route.name, answer.status_code)]
                    assert [(entry.action, entry.status) for entry in new] == wanted, what
                    number += len(new)
        assert number >= 4
        assert {route.name for route in routes} >= UNAUDITED, "what is excepted is there"


def changes(route: RouteContext) -> set[str]:
    """The methods of a route that are not for looking."""
    return (route.methods or set()) - {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("change", [{"status": 500}, {"who": None}, {"action": "x"}, {"number": 9}, None])
async def test_an_entry_that_was_changed_or_taken_out_is_found(tmp_path: Path, change: dict[str, Any] | None) -> None:
    async with opened(tmp_path) as memory:
        for number in range(4):
            await memory.audit.record(person("ann"), f"act {number}", status=200)
        assert await memory.audit.broken_at() is None
        this = (audit.c.tenant_id == TENANT, audit.c.number == 2)
        statement = sa.delete(audit).where(*this) if change is None else sa.update(audit).where(*this).values(change)
        await memory._services.store.write(TENANT, lambda unit: unit.audit._run(statement))  # type: ignore[attr-defined]
        assert await memory.audit.broken_at() == 2


async def test_the_doctor_names_the_first_entry_that_is_not_as_it_was_written(tmp_path: Path) -> None:
    """Of every tenant, and behind the first page; entries that come at once are one chain."""
    async with opened(tmp_path) as memory:
        many = 501
        await asyncio.gather(*(memory.audit.record(person("ann"), "act", status=200) for _ in range(many)))
        await memory.audit.record(person("ann", tenant="other"), "act", status=200)
        assert await memory.audit.broken_at() is None
        sound = {check.id: check for check in diagnose(memory.settings, stuck_seconds=60).checks}["audit"]
        assert (sound.ok, sound.checked) == (True, many + 1)
        forged = sa.update(audit).where(audit.c.tenant_id == TENANT, audit.c.number == many).values(status=404)
        await memory._services.store.write(TENANT, lambda unit: unit.audit._run(forged))  # type: ignore[attr-defined]
        assert await memory.audit.broken_at() == many
        broken = {check.id: check for check in diagnose(memory.settings, stuck_seconds=60).checks}["audit"]
        assert (broken.ok, broken.detail) == (False, f"changed or taken out: entry {many} of tenant {TENANT}")
