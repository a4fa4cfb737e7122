"""The notepad over HTTP: page after page, and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.harness import served

pytestmark = pytest.mark.anyio


async def test_pages_are_written_listed_and_written_again(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        nothing = await service.ann.get("/v1/notepad")
        assert (nothing.status_code, nothing.json()) == (200, None)
        for text in ("Likes figs. ☕", "Likes plums."):
            assert (await service.ann.put("/v1/notepad", json={"text": text})).json()["text"] == text
        assert (await service.ann.get("/v1/notepad")).json()["version"] == 2
        again = await service.ann.post("/v1/notepad/revert", json={"version": 1})
        assert (again.json()["text"], again.json()["restores"]) == ("Likes figs. ☕", 1)
        history = (await service.ann.get("/v1/notepad/history")).json()
        assert [(page["version"], page["action"]) for page in history] == [
            (3, "reverted"),
            (2, "edited"),
            (1, "edited"),
        ]
        older = (await service.ann.get("/v1/notepad/history", params={"before": 3, "limit": 1})).json()
        assert [page["version"] for page in older] == [2]
        assert (await service.ann.get("/v1/notepad", params={"agent": "other"})).json() is None
        assert (await service.bob.get("/v1/notepad")).json() is None


IMPOSSIBLE: list[tuple[str, str, dict[str, object] | None, int]] = [
    ("PUT", "", {}, 422),
    ("PUT", "", {"text": 5}, 422),
    ("PUT", "", {"text": "a\x00b"}, 422),
    ("PUT", "", {"text": "many words " * 50_000}, 422),
    ("PUT", "?agent=", {"text": "a"}, 422),
    ("POST", "/revert", {"version": 0}, 422),
    ("POST", "/revert", {"version": True}, 422),
    ("POST", "/revert", {"version": "1"}, 422),
    ("POST", "/revert", {"version": 10**30}, 422),
    ("POST", "/revert", {"version": 1}, 422),
    ("POST", "/revert", {"version": 9}, 404),
    ("GET", "/history?before=0", None, 422),
    ("GET", "/history?before=99999999999999999999", None, 422),
    ("GET", "/history?limit=1001", None, 422),
]


async def test_an_impossible_page_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.put("/v1/notepad", json={"text": "Likes figs."})
        for method, path, body, status in IMPOSSIBLE:
            answer = await service.ann.request(method, f"/v1/notepad{path}", json=body)
            assert answer.status_code == status, f"{method} {path}: {answer.text[:500]}"
        assert (await service.ann.get("/v1/notepad")).json()["version"] == 1
