"""A service on a port of this machine, and clients that talk to it over HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import uvicorn
from fastapi import FastAPI
from tests.server.harness import TENANT, operator, person

from anaphora.client import Client, Keyring
from anaphora.domain.principals import Principal
from anaphora.memory import Memory
from anaphora.server import create_app
from anaphora.server.gate import Gate
from anaphora.server.listening import Listeners

C = TypeVar("C", bound=Client)


def key_of(user: str | None, tenant: str) -> str:
    """A key that says whose it is; None: the operator's."""
    return base64.urlsafe_b64encode(json.dumps([tenant, user]).encode()).decode()


def users_key(user: str | None, tenant: str) -> str:
    """Of `u`, whom most laws are about, where nobody is named."""
    return key_of("u" if user is None else user, tenant)


class Trusting:
    """Believes what a key says of itself."""

    async def principal(self, token: str | None) -> Principal | None:
        try:
            tenant, user = json.loads(base64.urlsafe_b64decode(token or ""))
        except ValueError:
            return None
        return operator(tenant) if user is None else person(user, tenant=tenant)

    async def again(self, tenant: str, by: str) -> Principal | None:
        del tenant, by
        return None


#: one for all memories, one after the other: making it takes longer than most laws
_MADE: list[FastAPI] = []


def _app(memory: Memory, gate: Gate) -> FastAPI:
    if not _MADE:
        _MADE.append(create_app(memory, gate))
    (app,) = _MADE
    app.state.memory, app.state.gate, app.state.listeners = memory, gate, Listeners()
    return app


@asynccontextmanager
async def serving(memory: Memory, gate: Gate | None = None) -> AsyncIterator[str]:
    """Where the memory is served, until the end."""
    app = _app(memory, gate or Trusting())
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        opened.listen(100)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
        # not `serve`, which takes the signals of the whole process
        running = asyncio.create_task(server._serve([opened]))
        try:
            yield f"http://127.0.0.1:{opened.getsockname()[1]}"
        finally:
            app.state.listeners.close()
            server.should_exit = True
            await running


@asynccontextmanager
async def connected(memory: Memory, *, kind: type[C], key: Keyring = users_key) -> AsyncIterator[C]:
    """A client for whom everybody is let in."""
    async with serving(memory) as url, kind.open(url, key=key, tenant=TENANT) as client:
        yield client
