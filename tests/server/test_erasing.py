"""Erasing over HTTP: for good, one's own alone, and only what was named."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.entries.kept import EMPTY
from tests.server.harness import Service, person, served

from anaphora.domain.principals import Permission

pytestmark = pytest.mark.anyio


async def lived(service: Service, user: str = "ann") -> None:
    for session in ("s1", "s2"):
        chat = service.memory.session(user=user, session=session)
        await chat.add("user", f"I like figs in {session}.")
        await chat.add("assistant", "Noted.")


async def test_what_would_go_is_told_first_and_then_it_goes(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await lived(service)
        before = (await service.ann.get("/v1/export")).text
        told = (await service.ann.post("/v1/erase", json={"session": "s1", "dry_run": True})).json()
        assert (told["id"], told["kind"], told["counts"]["messages"]) == (None, "session", 2)
        assert (await service.ann.get("/v1/export")).text == before
        done = (await service.ann.post("/v1/erase", json={"session": "s1"})).json()
        assert done["counts"]["messages"] == 2
        assert done["id"]
        assert "figs in s1" not in (await service.ann.get("/v1/export")).text
        (account,) = (await service.operator.get("/v1/erasures")).json()
        assert (account["asked_by"], account["state"], account["target"]) == ("test-ann", "done", None)


async def test_each_thing_is_erased_by_its_name(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await lived(service)
        fact = (await service.ann.post("/v1/facts", json={"content": "Likes figs"})).json()["id"]
        message = (await service.ann.get("/v1/sessions/s2/messages")).json()[0]["id"]
        for named, kind in (
            ({"fact": fact}, "fact"),
            ({"message": message}, "message"),
            ({"session": "s2", "message": 1}, "message"),
            ({"session": "s2", "agent": "default"}, "session"),
            ({"source": "api"}, "source"),
            ({"everything": True}, "user"),
        ):
            answer = await service.ann.post("/v1/erase", json=named)
            assert (answer.status_code, answer.json().get("kind")) == (200, kind), answer.text
        assert (await service.ann.get("/v1/export")).text == EMPTY


async def test_what_is_anothers_is_not_there_and_stays(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await lived(service)
        await lived(service, "bob")
        fact = (await service.ann.post("/v1/facts", json={"content": "Likes figs"})).json()["id"]
        message = (await service.ann.get("/v1/sessions/s1/messages")).json()[0]["id"]
        before = (await service.ann.get("/v1/export")).text
        for what, uid in (("fact", fact), ("message", message)):
            nothing = str(uuid4())
            foreign = await service.bob.post("/v1/erase", json={what: uid})
            absent = await service.bob.post("/v1/erase", json={what: nothing})
            assert (foreign.status_code, absent.status_code) == (404, 404)
            assert foreign.text.replace(uid, "ID") == absent.text.replace(nothing, "ID")
        assert (await service.bob.post("/v1/erase", json={"everything": True})).status_code == 200
        assert (await service.bob.get("/v1/export")).text == EMPTY
        assert (await service.ann.get("/v1/export")).text == before


IMPOSSIBLE: list[dict[str, Any]] = [
    {},
    {"dry_run": True},
    {"everything": False},
    {"everything": None},
    {"everything": 1},
    {"everything": "true"},
    {"everything": True, "session": "s1"},
    {"everything": True, "fact": str(uuid4())},
    {"everything": True, "agent": "default"},
    {"agent": "default"},
    {"user": "ann"},
    {"session": ""},
    {"session": "x" * 201},
    {"session": "s1", "fact": str(uuid4())},
    {"session": "s1", "message": str(uuid4())},
    {"session": "s1", "message": -1},
    {"session": "s1", "message": 10**30},
    {"session": "s1", "message": True},
    {"message": 1},
    {"message": "first"},
    {"fact": "1"},
    {"fact": str(uuid4()), "source": "api"},
    {"source": ""},
    {"source": "agent:"},
    {"session": "s1", "dry_run": "no"},
]


async def test_what_names_nothing_or_too_much_erases_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await lived(service)
        before = (await service.ann.get("/v1/export")).text
        for body in IMPOSSIBLE:
            answer = await service.ann.post("/v1/erase", json=body)
            assert answer.status_code == 422, f"{body}: {answer.text}"
        assert (await service.ann.get("/v1/export")).text == before
        assert (await service.operator.get("/v1/erasures")).json() == []


async def test_it_needs_its_scope_and_the_account_is_for_operators(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await lived(service)
        service.gate.principals["ann"] = person("ann", Permission.READ, Permission.WRITE)
        assert (await service.ann.post("/v1/erase", json={"everything": True})).status_code == 403
        assert (await service.ann.get("/v1/sessions/s1/messages")).json() != []
        assert (await service.ann.get("/v1/erasures")).status_code == 403
