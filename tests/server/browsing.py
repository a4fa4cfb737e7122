"""Somebody with a browser that runs no scripts: follows links, and sends the forms that it is shown."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.server.harness import HERE, Service


@dataclass(frozen=True)
class Browser:
    client: httpx2.AsyncClient

    async def page(self, path: str, status: int = 200) -> str:
        response = await self.client.get(path, headers={"Accept": "text/html"})
        assert response.status_code == status, (path, response.status_code, response.text)
        return response.text

    async def send(self, path: str, shown_on: str = "/", **fields: Any) -> httpx2.Response:
        """Send a form, with the mark that it has on the page on which it is shown."""
        return await self.client.post(path, data={"csrf": mark_on(await self.page(shown_on)), **fields})

    async def done(self, path: str, shown_on: str = "/", **fields: Any) -> str:
        """Send a form that is taken; the page that it leads to."""
        response = await self.send(path, shown_on, **fields)
        assert response.status_code == 303, (response.status_code, response.text)
        return await self.page(response.headers["location"])


def mark_on(page: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]


def text_of(page: str) -> str:
    """What the page says, without what it is made of."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


@asynccontextmanager
async def browsing(service: Service, key: str | None) -> AsyncIterator[Browser]:
    """A browser of its own; with a key, signed in."""
    transport = httpx2.ASGITransport(service.app)
    async with httpx2.AsyncClient(transport=transport, base_url=HERE) as client:
        browser = Browser(client)
        if key is not None:
            assert (await browser.send("/login", "/login", key=key)).status_code == 303
        yield browser
