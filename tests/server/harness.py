"""A service over a real database, asked by people with keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.domain.principals import OF_PERSONS, Permission, Principal
from anaphora.server import create_app

HERE = "http://127.0.0.1:8765"
#: that of the test memories
TENANT = "t"


def person(user: str, *permissions: Permission, tenant: str = TENANT) -> Principal:
    return Principal(tenant=tenant, user=user, permissions=frozenset(permissions) or OF_PERSONS, by=f"test-{user}")


def operator(tenant: str = TENANT) -> Principal:
    return Principal(tenant=tenant, user=None, permissions=frozenset({Permission.OPERATE}), by="test-operator")


class Known:
    """Lets in those that it knows by their token."""

    def __init__(self, principals: Mapping[str, Principal]) -> None:
        self.principals = dict(principals)

    async def principal(self, token: str | None) -> Principal | None:
        return None if token is None else self.principals.get(token)

    async def again(self, tenant: str, by: str) -> Principal | None:
        return next((each for each in self.principals.values() if (each.tenant, each.by) == (tenant, by)), None)


@dataclass(frozen=True)
class Service:
    """A service that is asked."""

    memory: Memory
    app: FastAPI
    gate: Known
    #: asks without a key
    nobody: httpx2.AsyncClient
    #: keys are the names: `ann`, `bob`, `eve` (of another tenant), `operator`
    ann: httpx2.AsyncClient
    bob: httpx2.AsyncClient
    eve: httpx2.AsyncClient
    operator: httpx2.AsyncClient


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[Service]:
    """A service in this process, over a database of its own."""
    gate = Known(
        {"ann": person("ann"), "bob": person("bob"), "eve": person("eve", tenant="other"), "operator": operator()}
    )
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(opened(folder, **options))
        app = create_app(memory, gate)

        async def client(token: str | None) -> httpx2.AsyncClient:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            transport = httpx2.ASGITransport(app)
            return await stack.enter_async_context(
                httpx2.AsyncClient(transport=transport, base_url=HERE, headers=headers)
            )

        names = ("ann", "bob", "eve", "operator")
        clients = {name: await client(name) for name in names}
        yield Service(memory=memory, app=app, gate=gate, nobody=await client(None), **clients)
