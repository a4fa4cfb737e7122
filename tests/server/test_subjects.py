"""Subjects over HTTP: their owner says who reads what is shared; to all others they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.harness import served

pytestmark = pytest.mark.anyio


async def test_members_come_read_and_go(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        made = await service.ann.post("/v1/subjects", json={"subject": "rex", "name": "Rex the dog"})
        assert (made.status_code, made.json()["owner"], made.json()["members"]) == (201, "ann", ["ann"])
        fact = (await service.ann.post("/v1/facts", json={"content": "Barks at night", "subject": "rex"})).json()
        await service.ann.patch(f"/v1/facts/{fact['id']}/visibility", json={"visibility": "shared"})

        async def seen() -> list[str]:
            return [each["content"] for each in (await service.bob.get("/v1/subjects/rex/facts")).json()]

        assert await seen() == []
        joined = await service.ann.put("/v1/subjects/rex/members/bob")
        assert joined.json()["members"] == ["ann", "bob"]
        assert await seen() == ["Barks at night"]
        assert (await service.bob.get("/v1/subjects/rex/members")).json() == ["ann", "bob"]
        assert [each["name"] for each in (await service.bob.get("/v1/subjects")).json()] == ["Rex the dog"]
        renamed = await service.ann.patch("/v1/subjects/rex", json={"name": "Old Rex"})
        assert (renamed.json()["id"], renamed.json()["name"]) == ("rex", "Old Rex")
        assert (await service.ann.delete("/v1/subjects/rex/members/bob")).json() is True
        assert (await service.ann.delete("/v1/subjects/rex/members/bob")).json() is False
        assert await seen() == []


async def test_members_change_nothing_but_their_own_membership(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/subjects", json={"subject": "rex", "members": ["bob", "carol"]})
        before = (await service.ann.get("/v1/subjects")).text
        for method, path, body in (
            ("PATCH", "/v1/subjects/rex", {"name": "mine"}),
            ("PUT", "/v1/subjects/rex/members/dave", None),
            ("DELETE", "/v1/subjects/rex/members/carol", None),
        ):
            assert (await service.bob.request(method, path, json=body)).status_code == 404
            assert (await service.eve.request(method, path, json=body)).status_code == 404
        assert (await service.ann.delete("/v1/subjects/rex/members/ann")).status_code == 422
        assert (await service.ann.get("/v1/subjects")).text == before
        assert (await service.bob.delete("/v1/subjects/rex/members/bob")).json() is True
        assert (await service.bob.get("/v1/subjects")).json() == []


async def test_a_subject_that_is_there_is_not_made_again_whoever_made_it(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.bob.post("/v1/subjects", json={"subject": "rex"})
        for client in (service.ann, service.bob):
            taken = await client.post("/v1/subjects", json={"subject": "rex"})
            assert (taken.status_code, taken.json()["error"]) == (409, "Taken")
            assert "take another id" in taken.json()["detail"]
        assert (await service.ann.get("/v1/subjects")).json() == []


IMPOSSIBLE: list[dict[str, object]] = [
    {},
    {"subject": ""},
    {"subject": " "},
    {"subject": "x" * 201},
    {"subject": 7},
    {"subject": "rex", "owner": "bob"},
    {"subject": "rex", "name": ""},
    {"subject": "rex", "name": "x" * 201},
    {"subject": "rex", "members": "bob"},
    {"subject": "rex", "members": [""]},
    {"subject": "rex", "members": ["a\x00b"]},
    {"subject": "rex", "members": [f"m{at}" for at in range(101)]},
]


async def test_an_impossible_subject_is_refused_and_not_made(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for body in IMPOSSIBLE:
            answer = await service.ann.post("/v1/subjects", json=body)
            assert answer.status_code == 422, f"{body}: {answer.text}"
        assert (await service.ann.get("/v1/subjects")).json() == []
