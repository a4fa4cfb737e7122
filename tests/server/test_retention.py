"""Retention over HTTP: what is out of sight is told to whose it is, and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.harness import served

from anaphora.testing import FakeClock

pytestmark = pytest.mark.anyio
DAY = 86_400.0


async def test_a_session_is_kept_for_a_time_goes_out_of_sight_and_comes_back(tmp_path: Path) -> None:
    clock = FakeClock()
    async with served(tmp_path, clock=clock, retention={"unsummarised": True}) as service:
        for user in ("ann", "bob"):
            chat = service.memory.session(user=user, session="s/1")
            await chat.add("user", "I like figs.")
        assert (await service.ann.get("/v1/retention")).json()["days"] is None
        for client in (service.ann, service.bob):
            assert (await client.put("/v1/retention/sessions/s%2F1", json={"days": 1})).status_code == 204
        assert (await service.ann.get("/v1/retention/expired")).json() == []
        clock.jump(2 * DAY)
        await service.memory.retention.run()
        (row,) = (await service.ann.get("/v1/retention/expired")).json()
        assert (row["key"]["user"], row["key"]["session"]) == ("ann", "s/1")
        assert (await service.ann.get("/v1/sessions")).json() == []
        assert (await service.ann.post("/v1/retention/sessions/s%2F1/restore")).status_code == 204
        assert (await service.ann.post("/v1/retention/sessions/s%2F1/restore")).status_code == 404
        assert len((await service.ann.get("/v1/sessions")).json()) == 1
        assert (await service.bob.get("/v1/sessions")).json() == []
        assert (await service.ann.put("/v1/retention/sessions/s%2F1", json={"days": None})).status_code == 204


async def test_an_impossible_time_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.memory.session(user="ann", session="s").add("user", "I like figs.")
        for days in (-1, 36_526, 10**400, True, "1", [1]):
            answer = await service.ann.put("/v1/retention/sessions/s", json={"days": days})
            assert answer.status_code == 422, answer.text
        raw = await service.ann.put(
            "/v1/retention/sessions/s", content=b'{"days": NaN}', headers={"Content-Type": "application/json"}
        )
        assert raw.status_code == 422, raw.text
        assert (await service.ann.put("/v1/retention/sessions/s", json={})).status_code == 422
        assert (await service.ann.put("/v1/retention/sessions/none", json={"days": 1})).status_code == 404
        assert [row["keep_days"] for row in (await service.ann.get("/v1/sessions")).json()] == [None]
