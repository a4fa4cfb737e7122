"""The log over HTTP: what is acknowledged is there, names may hold anything, foreign keys see nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from tests.server.harness import served

pytestmark = pytest.mark.anyio


async def test_what_was_appended_is_listed_and_a_retry_with_the_same_key_is_harmless(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        said = {"role": "user", "content": "I'm allergic to peanuts."}
        first = await service.ann.post("/v1/sessions/s1/messages", json=said, headers={"Idempotency-Key": "k"})
        again = await service.ann.post("/v1/sessions/s1/messages", json=said, headers={"Idempotency-Key": "k"})
        assert (first.status_code, again.status_code) == (201, 201)
        assert (first.json()["id"], again.json()["repeated"]) == (again.json()["id"], True)
        listed = (await service.ann.get("/v1/sessions/s1/messages")).json()
        assert [message["content"] for message in listed] == ["I'm allergic to peanuts."]


@pytest.mark.parametrize("name", ["a/b", "a b", "naïve ☕", "a%2Fb", "messages", "x/messages", "..."])
async def test_a_session_may_have_any_name(tmp_path: Path, name: str) -> None:
    async with served(tmp_path) as service:
        said = {"role": "user", "content": "Hello."}
        assert (await service.ann.post(f"/v1/sessions/{quote(name, safe='')}/messages", json=said)).status_code == 201
        assert [row["key"]["session"] for row in (await service.ann.get("/v1/sessions")).json()] == [name]


async def test_without_a_key_and_with_another_users_nothing_is_seen(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/sessions/s1/messages", json={"role": "user", "content": "Mine."})
        assert (await service.nobody.get("/v1/sessions")).status_code == 401
        for other in (service.bob, service.eve):
            assert (await other.get("/v1/sessions")).json() == []
            assert (await other.get("/v1/sessions/s1/messages")).json() == []
        assert (await service.operator.get("/v1/sessions")).status_code == 403
