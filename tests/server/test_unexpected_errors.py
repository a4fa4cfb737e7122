"""What goes wrong in the service itself: one sentence for who asked, as a page for a browser, and a line in the log."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from tests.memory.harness import opened
from tests.server.browsing import mark_on
from tests.server.harness import HERE

from anaphora.domain.principals import Principal
from anaphora.server import create_app

pytestmark = pytest.mark.anyio


class Broken:
    """A gate with a fault, which tells of a secret."""

    async def principal(self, token: str | None) -> Principal | None:
        raise RuntimeError(f"peanuts {token}")

    async def again(self, tenant: str, by: str) -> Principal | None:
        raise RuntimeError(f"peanuts {tenant} {by}")


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("/v1/sessions", "application/json", "application/problem+json"),
        ("/v1/sessions", "text/html", "application/problem+json"),
        ("/login", "text/html,*/*", "text/html; charset=utf-8"),
        ("/login", "application/json", "application/problem+json"),
    ],
)
async def test_a_fault_is_told_of_in_a_sentence_without_what_was_in_hand(
    tmp_path: Path, path: str, accept: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as memory:
        app = create_app(memory, Broken())
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=HERE, headers={"Accept": accept}) as client:
            if path == "/login":
                mark = mark_on((await client.get(path)).text)
                answer = await client.post(path, data={"csrf": mark, "key": "almonds"}, headers={"Origin": HERE})
            else:
                answer = await client.get(path, headers={"Authorization": "Bearer almonds"})
    assert (answer.status_code, answer.headers["content-type"]) == (500, kind)
    assert "omething went wrong here; nothing is known to be changed" in answer.text
    assert "RuntimeError" in caplog.text
    assert not [secret for secret in ("peanuts", "almonds") if secret in answer.text + caplog.text]
