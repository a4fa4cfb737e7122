"""Whatever changes something is accounted for once; the account holds no names, and shows where it was changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.memory.harness import opened
from tests.server.harness import TENANT, person, served

from anaphora.storage.access_tables import audit

pytestmark = pytest.mark.anyio


async def test_a_change_is_noted_with_who_what_and_how_it_was_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/sessions/secret%20plan/messages", json={"role": "user", "content": "Hello."})
        assert await service.memory.audit.list() == [], "the log is its own account"
        await service.ann.post("/v1/sessions/secret%20plan/end")
        await service.bob.post("/v1/sessions/secret%20plan/end")
        bobs, anns = await service.memory.audit.list()
        assert (anns.number, anns.action, anns.status, anns.by) == (1, "end_session", 200, "test-ann")
        assert anns.who != bobs.who
        assert set(anns.about) == {"session"}
        assert "secret" not in str(anns)
        assert await service.memory.audit.list(user="ann") == [anns]
        assert await service.memory.audit.list(before=2) == [anns]
        assert await service.memory.audit.list(tenant="other") == []


@pytest.mark.parametrize("change", [{"status": 500}, {"who": None}, {"action": "x"}, {"number": 9}, None])
async def test_an_entry_that_was_changed_or_taken_out_is_found(tmp_path: Path, change: dict[str, Any] | None) -> None:
    async with opened(tmp_path) as memory:
        for number in range(4):
            await memory.audit.record(person("ann"), f"act {number}", status=200)
        assert await memory.audit.broken_at() is None
        this = (audit.c.tenant_id == TENANT, audit.c.number == 2)
        statement = sa.delete(audit).where(*this) if change is None else sa.update(audit).where(*this).values(change)
        await memory._services.store.write(TENANT, lambda unit: unit.audit._run(statement))  # type: ignore[attr-defined]
        assert await memory.audit.broken_at() == 2
