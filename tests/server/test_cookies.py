"""Cookies of the page leave over TLS alone wherever the service is reached from elsewhere."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from tests.server.harness import HERE, served

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("hosts", "base", "secure"),
    [
        ([], HERE, False),
        (["localhost", "127.0.0.1"], HERE, False),
        (["*"], HERE, False),
        (["memory.example.org"], "http://memory.example.org", True),
        (["localhost", "memory.example.org"], HERE, True),
        ([], "https://127.0.0.1:8765", True),
    ],
)
async def test_a_cookie_is_secure_over_tls_and_where_others_come_under_a_name(
    tmp_path: Path, hosts: list[str], base: str, secure: bool
) -> None:
    async with served(tmp_path, server={"hosts": hosts}) as service:
        transport = httpx2.ASGITransport(service.app)
        async with httpx2.AsyncClient(transport=transport, base_url=base) as browser:
            given = (await browser.get("/login")).headers["set-cookie"]
    assert ("secure" in given.lower().split("; ")) == secure, given
