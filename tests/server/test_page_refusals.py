"""What no route sees is refused with a page to those who look with a browser, and as a problem to programs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from tests.server.browsing import Browser, browsing
from tests.server.harness import served

from anaphora.settings.sections import ServerSettings

pytestmark = pytest.mark.anyio

LOOKING = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = "application/x-www-form-urlencoded"


async def _piecemeal() -> AsyncIterator[bytes]:
    for _ in range(40):
        yield b"x" * 100


async def refused(browser: Browser, headers: dict[str, str], path: str) -> dict[str, httpx2.Response]:
    post, get = browser.client.post, browser.client.get
    form = {**headers, "Content-Type": FORM}
    return {
        "another origin": await post(path, headers={**headers, "Origin": "https://evil.example"}),
        "another host": await get(path, headers={**headers, "Host": "evil.example"}),
        "no host": await get(path, headers={**headers, "Host": "["}),
        "too large": await post(path, content=b"x" * 3000, headers=form),
        "too large, piece by piece": await post(path, content=_piecemeal(), headers=form),
        "no UTF-8": await get(f"{path}?next=%FF", headers=headers),
        "no length": await post(path, content=b"x", headers={**form, "Content-Length": "many"}),
    }


STATUSES = {
    "another origin": 403,
    "another host": 403,
    "no host": 403,
    "too large": 413,
    "too large, piece by piece": 413,
    "no UTF-8": 422,
    "no length": 400,
}


async def test_a_browser_is_refused_with_a_page(tmp_path: Path) -> None:
    async with served(tmp_path, server=ServerSettings(body_bytes=2000)) as service, browsing(service, "ann") as ann:
        answers = await refused(ann, LOOKING, "/facts")
        assert {name: answer.status_code for name, answer in answers.items()} == STATUSES
        for name, answer in answers.items():
            assert answer.headers["content-type"].startswith("text/html"), name
            assert '<p class="lead"' in answer.text, name
            assert "default-src 'none'" in answer.headers["content-security-policy"], name


async def test_a_program_is_refused_with_a_problem_whatever_it_accepts(tmp_path: Path) -> None:
    async with served(tmp_path, server=ServerSettings(body_bytes=2000)) as service, browsing(service, "ann") as ann:
        answers = await refused(ann, {}, "/facts")
        of_the_api = await refused(ann, LOOKING, "/v1/facts")
        for found in (answers, of_the_api):
            assert {name: answer.status_code for name, answer in found.items()} == STATUSES
            for name, answer in found.items():
                assert answer.headers["content-type"] == "application/problem+json", name
                assert answer.json()["status"] == STATUSES[name]
