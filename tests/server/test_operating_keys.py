"""Operators make and revoke the keys of their tenant over HTTP, and read its account; nobody else does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from pydantic import TypeAdapter
from tests.server.harness import Service, served

from anaphora.domain.access import ApiKey, AuditEntry, NewKey
from anaphora.server.gate import Either
from anaphora.server.key_gate import TRUST, KeyGate
from anaphora.testing import FakeClock

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1).total_seconds()
KEYS: TypeAdapter[list[ApiKey]] = TypeAdapter(list[ApiKey])
NEW: TypeAdapter[NewKey] = TypeAdapter(NewKey)
ENTRIES: TypeAdapter[list[AuditEntry]] = TypeAdapter(list[AuditEntry])


async def made(client: httpx2.AsyncClient, **wanted: object) -> NewKey:
    """A key that was just made."""
    answer = await client.post("/v1/keys", json=wanted)
    assert answer.status_code == 201, answer.text
    return NEW.validate_json(answer.content)


async def with_key(service: Service, key: str, path: str = "/v1/sessions") -> int:
    """How somebody is answered who comes with it."""
    return (await service.nobody.get(path, headers={"Authorization": f"Bearer {key}"})).status_code


async def test_a_key_that_an_operator_made_lets_in_until_it_is_revoked(tmp_path: Path) -> None:
    now = 100.0
    async with served(tmp_path) as service:
        service.app.state.gate = Either(service.gate, KeyGate(service.memory, now=lambda: now))
        new = await made(service.operator, user="ann", scopes=["read"], name="phone", days=3)
        assert (new.made.user, new.made.name, sorted(new.made.permissions)) == ("ann", "phone", ["read"])
        assert new.made.expires_at is not None
        answers = [await with_key(service, new.key), await with_key(service, new.key, "/v1/audit")]
        assert answers == [200, 403]
        shown = await service.operator.get("/v1/keys", params={"user": "ann"})
        (listed,) = KEYS.validate_json(shown.content)
        assert listed.id == new.made.id
        assert new.key.rpartition(".")[2] not in shown.text
        assert shown.headers["cache-control"] == "no-store"
        gone = [(await service.operator.delete(f"/v1/keys/{new.made.id}")).status_code for _ in range(2)]
        assert gone == [204, 204]
        now += TRUST
        assert await with_key(service, new.key) == 401


async def test_a_key_is_replaced_and_the_old_one_lasts_a_while(tmp_path: Path) -> None:
    now = 100.0
    clock = FakeClock()
    async with served(tmp_path, clock=clock) as service:
        service.app.state.gate = Either(service.gate, KeyGate(service.memory, now=lambda: now))
        old = await made(service.operator, user="ann")
        answer = await service.operator.post(f"/v1/keys/{old.made.id}/rotate", json={"overlap_hours": 1})
        new = NEW.validate_json(answer.content)
        assert answer.status_code == 201
        assert [await with_key(service, old.key), await with_key(service, new.key)] == [200, 200]
        clock.jump(HOUR)
        now += TRUST
        assert [await with_key(service, old.key), await with_key(service, new.key)] == [401, 200]


async def test_the_account_names_the_keys_that_were_made_and_what_came_with_them(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        service.app.state.gate = Either(service.gate, KeyGate(service.memory))
        new = await made(service.operator, user="ann")
        await service.nobody.post("/v1/sessions/secret/end", headers={"Authorization": f"Bearer {new.key}"})
        await service.operator.delete(f"/v1/keys/{new.made.id}")
        answer = await service.operator.get("/v1/audit")
        revoked, ended, created = ENTRIES.validate_json(answer.content)
        assert (created.action, created.status, created.who, created.by) == ("create_key", 201, None, "test-operator")
        assert created.about == {"made": str(new.made.id)}
        assert (ended.action, ended.by) == ("end_session", new.made.id.hex)
        assert revoked.about == {"key": str(new.made.id)}
        assert "secret" not in answer.text
        assert new.key.rpartition(".")[2] not in answer.text
        hers = await service.operator.get("/v1/audit", params={"user": "ann"})
        assert ENTRIES.validate_json(hers.content) == [ended]
        older = await service.operator.get("/v1/audit", params={"before": 3, "limit": 1})
        assert ENTRIES.validate_json(older.content) == [ended]


async def test_keys_and_the_account_are_of_one_tenant_and_of_its_operator(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        new = await made(service.operator, user="ann")
        routes = [
            ("GET", "/v1/keys"),
            ("POST", "/v1/keys"),
            ("POST", f"/v1/keys/{new.made.id}/rotate"),
            ("DELETE", f"/v1/keys/{new.made.id}"),
            ("GET", "/v1/audit"),
        ]
        wanted = {"user": "ann"}
        for client, status in ((service.nobody, 401), (service.ann, 403), (service.eve, 403)):
            answers = [await client.request(method, path, json=wanted) for method, path in routes]
            assert [answer.status_code for answer in answers] == [status] * len(routes)
        key = await service.memory.keys.create(user=None, tenant="other")
        service.app.state.gate = KeyGate(service.memory)
        other = service.nobody
        other.headers["Authorization"] = f"Bearer {key.key}"
        foreign = [await other.request(method, path, json={}) for method, path in routes[2:4]]
        missing = await other.delete(f"/v1/keys/{UUID(int=7)}")
        assert [answer.status_code for answer in (*foreign, missing)] == [404, 404, 404]
        assert foreign[1].json()["detail"].replace(str(new.made.id), "") == missing.json()["detail"].replace(
            str(UUID(int=7)), ""
        )
        (own,) = KEYS.validate_json((await other.get("/v1/keys")).content)
        assert own.tenant == "other"
        assert {entry.by for entry in ENTRIES.validate_json((await other.get("/v1/audit")).content)} == {
            own.id.hex,
            "test-eve",
        }
        assert [key.revoked_at for key in await service.memory.keys.list()] == [None]


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"user": ""},
        {"user": "a\0b"},
        {"user": "ann", "scopes": []},
        {"user": "ann", "scopes": "all"},
        {"user": "ann", "scopes": ["operate"]},
        {"user": "ann", "scopes": ["raed"]},
        {"user": "ann", "days": 0},
        {"user": "ann", "days": "3"},
        {"user": "ann", "days": 1e300},
        {"user": "ann", "name": "x" * 201},
        {"user": "ann", "name": "\0"},
        {"user": "ann", "tenant": "other"},
    ],
)
async def test_what_is_no_key_is_refused_and_none_is_made(wanted: dict[str, object], tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        answer = await service.operator.post("/v1/keys", json=wanted)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert await service.memory.keys.list() == []
        assert [entry.status for entry in await service.memory.audit.list()] == [422]
