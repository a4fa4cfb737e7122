"""What goes wrong in the service itself: one sentence for who asked, as a page for a browser, and a line in the log."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from tests.memory.harness import opened
from tests.server.browsing import mark_on
from tests.server.harness import HERE

from anaphora.domain.principals import Principal
from anaphora.server import create_app
from anaphora.server.connections import Connection
from anaphora.server.faults import told_of

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


@asynccontextmanager
async def over_uvicorn(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """As it is served: by the same server, over a real connection."""
    server = uvicorn.Server(uvicorn.Config(app, http=Connection, log_config=None, access_log=False, lifespan="off"))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
                yield client
        finally:
            server.should_exit = True
            await serving


def everything(caplog: pytest.LogCaptureFixture) -> str:
    """All that any handler of logs is given, tracebacks too."""
    return "\n".join(logging.Formatter("%(name)s %(message)s").format(record) for record in caplog.records)


async def test_what_was_in_hand_is_in_no_log_of_the_server_but_where_it_failed_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as memory, over_uvicorn(create_app(memory, Broken())) as client:
        answer = await client.get("/v1/sessions", headers={"Authorization": "Bearer almonds", "X-Request-Id": "id-1"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "id-1")
    assert answer.headers["content-security-policy"]
    said = everything(caplog)
    assert re.search(r"RuntimeError at .*anaphora\.server\.gate:\d+", said), said
    assert not [secret for secret in ("peanuts", "almonds") if secret in said]


async def test_an_answer_that_breaks_off_leaves_nothing_that_was_in_hand_in_a_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> AsyncIterator[str]:
        yield "begun"
        try:
            "peanuts \ud800".encode()
        except UnicodeEncodeError as error:
            raise RuntimeError("almonds") from error

    async with opened(tmp_path) as memory:
        app = create_app(memory, Broken())
        app.add_api_route("/broken", lambda: StreamingResponse(broken()))
        async with over_uvicorn(app) as client:
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.get("/broken")
    said = everything(caplog)
    assert "RuntimeError" in said
    assert "UnicodeEncodeError" in said
    assert not [secret for secret in ("peanuts", "almonds") if secret in said]


async def test_where_something_failed_is_told_by_types_and_places_of_all_that_led_to_it() -> None:
    def third() -> None:
        raise ValueError("peanuts")

    def second() -> None:
        try:
            third()
        except ValueError as error:
            raise ExceptionGroup("almonds", [KeyError("walnuts"), error]) from error

    with pytest.raises(ExceptionGroup) as raised:
        second()
    told = told_of(raised.value)
    assert re.match(r"ExceptionGroup at .*test_unexpected_errors:\d+ \(KeyError; ValueError at ", told), told
    assert not [secret for secret in ("peanuts", "almonds", "walnuts") if secret in told]
