"""Sessions, what was made of them, and the work on them: each to its own user; what is looked up by id, too."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from pydantic import TypeAdapter
from tests.memory.harness import say
from tests.server.harness import Service, person, served

from anaphora.domain.differences import Difference
from anaphora.domain.principals import Permission, Principal
from anaphora.domain.summaries import Summary
from anaphora.domain.topics import Segment
from anaphora.ports.store import Unit
from anaphora.storage.tables import jobs

pytestmark = pytest.mark.anyio


async def test_sessions_are_numbered_shown_ended_and_reset_by_their_user(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        made = await service.ann.post("/v1/sessions", json={"strategy": "topics"})
        assert (made.status_code, made.json()["key"]["session"], made.json()["strategy"]) == (201, "1", "topics")
        assert (await service.ann.post("/v1/sessions", json={})).json()["key"]["session"] == "2"
        unknown = await service.ann.post("/v1/sessions", json={"strategy": "tropics"})
        assert (unknown.status_code, "did you mean 'topics'" in unknown.json()["detail"]) == (422, True)
        await service.ann.post("/v1/sessions/1/messages", json={"role": "user", "content": "Hello."})
        assert (await service.ann.get("/v1/sessions/1")).json()["head"] == 1
        assert (await service.ann.post("/v1/sessions/1/end")).json() is True
        assert (await service.ann.post("/v1/sessions/none/end")).json() is False
        assert (await service.bob.get("/v1/sessions/1")).status_code == 404
        assert (await service.bob.post("/v1/sessions/1/reset")).json() == 0
        assert (await service.ann.post("/v1/sessions/1/rebuild", json={})).status_code == 200
        assert (await service.ann.post("/v1/sessions/none/rebuild", json={})).status_code == 404
        service.gate.principals["writer"] = person("ann", Permission.READ, Permission.WRITE)
        refused = await service.nobody.post("/v1/sessions/1/reset", headers={"Authorization": "Bearer writer"})
        assert (refused.status_code, "'erase'" in refused.json()["detail"]) == (403, True)
        assert (await service.ann.post("/v1/sessions/1/reset")).json() == 1


async def test_a_session_is_made_with_the_strategy_and_subject_of_the_first_message(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        said = {"role": "user", "content": "Hello."}
        where = {"strategy": "topics", "agent": "cook"}
        assert (await service.ann.post("/v1/sessions/s/messages", json=said, params=where)).status_code == 201
        row = (await service.ann.get("/v1/sessions/s", params={"agent": "cook"})).json()
        assert (row["strategy"], row["key"]["agent"]) == ("topics", "cook")
        wrong = await service.ann.post("/v1/sessions/s/messages", json=said, params={"strategy": "x"})
        assert (wrong.status_code, wrong.json()["error"]) == (422, "UnknownName")


async def test_versions_of_summaries_are_listed_shown_and_compared(tmp_path: Path) -> None:
    async with served(tmp_path, strategy="sliding_window") as service:
        chat = service.memory.session(user="ann", session="s")
        for _ in range(2):
            await say(chat, 30)
            await service.memory.work()
        listed = TypeAdapter(list[Summary]).validate_json((await service.ann.get("/v1/sessions/s/summaries")).content)
        assert len(listed) >= 2
        assert listed == await chat.summaries()
        shown = await service.ann.get("/v1/sessions/s/summaries/1")
        assert TypeAdapter(Summary).validate_json(shown.content) == listed[-1]
        told = await service.ann.get("/v1/sessions/s/summaries/2/diff", params={"since": 1})
        assert TypeAdapter(Difference).validate_json(told.content) == await chat.diff(1, 2)
        assert (await service.ann.get("/v1/sessions/s/summaries/99")).status_code == 404
        for path in ("summaries/1", "summaries/2/diff?since=1"):
            assert (await service.bob.get(f"/v1/sessions/s/{path}")).status_code == 404
        assert (await service.bob.get("/v1/sessions/s/summaries")).json() == []
        counts = [(await who.get("/v1/stats")).json()["count"] for who in (service.ann, service.bob)]
        assert counts == [len(listed), 0]


async def test_topics_are_shown_to_their_user(tmp_path: Path) -> None:
    async with served(tmp_path, strategy="topics") as service:
        await say(service.memory.session(user="ann", session="s"), 4)
        (segment,) = TypeAdapter(list[Segment]).validate_json((await service.ann.get("/v1/topics")).content)
        assert segment.topic is None
        assert len((await service.ann.get("/v1/sessions/s/topics")).json()) == 1
        shown, messages = (await service.ann.get("/v1/sessions/s/topics/2")).json()
        assert (shown["range"], len(messages)) == ({"start": 0, "stop": 4}, 4)
        assert (await service.bob.get("/v1/topics")).json() == []
        assert (await service.bob.get("/v1/sessions/s/topics/2")).status_code == 404


async def test_a_receipt_is_there_for_who_appended(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        said = {"role": "user", "content": "Hello."}
        receipt = (await service.ann.post("/v1/sessions/s/messages", json=said)).json()["id"]
        assert (await service.ann.get(f"/v1/receipts/{receipt}")).json() == "appended"
        for other in (service.bob, service.eve):
            assert (await other.get(f"/v1/receipts/{receipt}")).status_code == 404
        assert (await service.ann.get(f"/v1/receipts/{uuid4()}")).status_code == 404
        assert (await service.ann.get("/v1/receipts/x")).status_code == 422


async def test_jobs_are_those_of_the_person_or_for_an_operator_those_of_the_tenant(tmp_path: Path) -> None:
    async with served(tmp_path, strategy="sliding_window") as service:
        anns, bobs = await _failed(service, "ann"), await _failed(service, "bob")
        assert [job["id"] for job in (await service.ann.get("/v1/jobs", params={"state": "failed"})).json()] == [
            str(anns)
        ]
        assert len((await service.operator.get("/v1/jobs")).json()) == 2
        assert (await service.eve.get("/v1/jobs")).json() == []
        assert (await service.ann.post(f"/v1/jobs/{bobs}/retry")).status_code == 404
        assert (await service.eve.post(f"/v1/jobs/{anns}/retry")).status_code == 404
        assert (await service.ann.post("/v1/jobs/retry")).json() == 1
        assert (await service.operator.post(f"/v1/jobs/{bobs}/retry")).json() == 1
        for wrong in ({"state": "lost"}, {"stuck_seconds": "nan"}, {"stuck_seconds": 1e300}, {"limit": 0}):
            assert (await service.ann.get("/v1/jobs", params=wrong)).status_code == 422


async def test_me_is_whose_key_it_is(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for client, name in ((service.ann, "ann"), (service.operator, None)):
            told = TypeAdapter(Principal).validate_json((await client.get("/v1/me")).content)
            assert (told.user, told.tenant) == (name, "t")
        assert (await service.nobody.get("/v1/me")).status_code == 401


async def _failed(service: Service, user: str) -> UUID:
    chat = service.memory.session(user=user, session="s")
    await say(chat, 30)
    row = await chat.row()

    def fail(unit: Unit) -> None:
        unit.jobs._run(sa.update(jobs).where(jobs.c.session_uid == row.id).values(state="failed"))  # type: ignore[attr-defined]

    await service.memory._services.store.write("t", fail)
    (job,) = await service.memory.jobs.list(user=user)
    return job.id
