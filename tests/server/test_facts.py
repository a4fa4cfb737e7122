"""Facts over HTTP: what their owner may do, what members may read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2
import pytest
from tests.server.harness import Service, served

pytestmark = pytest.mark.anyio


async def added(client: httpx2.AsyncClient, content: str, **more: Any) -> dict[str, Any]:
    answer = await client.post("/v1/facts", json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    fact: dict[str, Any] = answer.json()
    return fact


async def learned(service: Service, said: str = "I'm", **more: Any) -> dict[str, Any]:
    """A fact that was learned from a message of ann's."""
    chat = service.memory.session(user="ann", session="kitchen", **more)
    await chat.add("user", f"{said} allergic to peanuts, but my sister is not.")
    await chat.add("assistant", "Noted.")
    await service.memory.work()
    (fact,) = (await service.ann.get("/v1/facts")).json()
    shown: dict[str, Any] = (await service.ann.get(f"/v1/facts/{fact['id']}")).json()
    return shown


async def test_the_printed_endpoints_answer_as_they_are_printed(tmp_path: Path) -> None:
    """Seed 002: list mine and shared, toggle the visibility, delete; and the same under its own paths."""
    async with served(tmp_path) as service:
        await service.ann.post("/v1/subjects", json={"subject": "rex", "members": ["bob"]})
        for listed, changed in (
            ("/v1/subjects/rex/facts", "/v1/facts"),
            ("/api/ai/legacies/rex/facts", "/api/ai/facts"),
        ):
            mine = await added(service.ann, f"Barks at night, {listed}", subject="rex")
            his = await added(service.bob, f"Fears thunder, {listed}", subject="rex")
            assert [fact["id"] for fact in (await service.bob.get(listed)).json()] == [his["id"]]
            shared = await service.ann.patch(f"{changed}/{mine['id']}/visibility", json={"visibility": "shared"})
            assert (shared.status_code, shared.json()["visibility"]) == (200, "shared")
            assert [fact["id"] for fact in (await service.bob.get(listed)).json()] == [his["id"], mine["id"]]
            private = await service.ann.patch(f"{changed}/{mine['id']}/visibility", json={"visibility": "private"})
            assert (private.status_code, private.json()["visibility"]) == (200, "private")
            assert [fact["id"] for fact in (await service.bob.get(listed)).json()] == [his["id"]]
            for refused in (
                await service.bob.patch(f"{changed}/{mine['id']}/visibility", json={"visibility": "shared"}),
                await service.bob.delete(f"{changed}/{mine['id']}"),
            ):
                assert refused.status_code == 404
            gone = await service.ann.delete(f"{changed}/{mine['id']}")
            assert (gone.status_code, gone.content) == (204, b"")
            assert (await service.ann.delete(f"{changed}/{mine['id']}")).status_code == 404
            assert (await service.bob.delete(f"{changed}/{his['id']}")).status_code == 204


async def test_what_is_shared_is_read_by_members_and_changed_by_its_owner_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/subjects", json={"subject": "rex", "members": ["bob"]})
        fact = await added(service.ann, "Barks at night", subject="rex", importance=7)
        await service.ann.patch(f"/v1/facts/{fact['id']}/visibility", json={"visibility": "shared"})
        before = (await service.ann.get("/v1/export")).text
        at = f"/v1/facts/{fact['id']}"
        assert (await service.bob.get(at)).json()["content"] == "Barks at night"
        for method, path, body in (
            ("GET", f"{at}/history", None),
            ("PATCH", at, {"content": "Sleeps at night"}),
            ("POST", f"{at}/pin", None),
            ("POST", f"{at}/unpin", None),
            ("POST", f"{at}/confirm", None),
            ("POST", f"{at}/take-up", None),
            ("POST", f"{at}/undo", None),
            ("PATCH", f"{at}/visibility", {"visibility": "private"}),
            ("DELETE", at, None),
        ):
            refused = await service.bob.request(method, path, json=body)
            assert refused.status_code == 404, f"{method} {path}: {refused.text}"
            assert "only its owner" in refused.json()["detail"]
            assert (await service.eve.request(method, path, json=body)).status_code == 404
        assert (await service.ann.get("/v1/export")).text == before


async def test_members_read_what_is_shared_and_not_the_messages_that_it_was_learned_from(tmp_path: Path) -> None:
    async with served(tmp_path, extraction="turn") as service:
        await service.ann.post("/v1/subjects", json={"subject": "rex", "members": ["bob"]})
        fact = await learned(service, "Rex is", subject="rex")
        (source,) = fact["sources"]
        assert (source["key"]["session"], source["quote"]) == ("kitchen", "Rex is allergic to peanuts")
        await service.ann.post(f"/v1/facts/{fact['id']}/confirm")
        shared = await service.ann.patch(f"/v1/facts/{fact['id']}/visibility", json={"visibility": "shared"})
        assert shared.status_code == 200, shared.text
        for path in (f"/v1/facts/{fact['id']}", "/v1/facts", "/v1/subjects/rex/facts"):
            seen = (await service.bob.get(path)).text
            assert fact["content"] in seen
            assert not any(
                word in seen for word in ("kitchen", "Rex is allergic to peanuts, but", source["message_id"])
            )


async def test_a_foreign_fact_answers_exactly_as_one_that_is_not_there(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        fact, nothing = (await added(service.ann, "Lives in Lisbon"))["id"], str(uuid4())
        for method, path, body in (
            ("GET", "", None),
            ("GET", "/history", None),
            ("PATCH", "", {"content": "Lives in Porto"}),
            ("POST", "/pin", None),
            ("POST", "/undo", None),
            ("PATCH", "/visibility", {"visibility": "shared"}),
            ("DELETE", "", None),
        ):
            foreign = await service.bob.request(method, f"/v1/facts/{fact}{path}", json=body)
            absent = await service.bob.request(method, f"/v1/facts/{nothing}{path}", json=body)
            assert foreign.status_code == absent.status_code == 404
            assert foreign.text.replace(fact, "ID") == absent.text.replace(nothing, "ID")
            for answer in (foreign, absent):
                del answer.headers["x-request-id"]
            assert foreign.headers == absent.headers
        (kept,) = (await service.ann.get("/v1/facts")).json()
        assert (kept["content"], kept["version"]) == ("Lives in Lisbon", 1)


async def test_a_fact_is_corrected_pinned_confirmed_and_taken_back_step_by_step(tmp_path: Path) -> None:
    async with served(tmp_path, extraction="turn") as service:
        at = f"/v1/facts/{(await learned(service))['id']}"
        edited = (await service.ann.patch(at, json={"content": "Allergic to all nuts", "importance": 9})).json()
        assert (edited["content"], edited["importance"], edited["trust"]) == (
            "Allergic to all nuts",
            9,
            "owner_confirmed",
        )
        assert (await service.ann.post(f"{at}/pin")).json()["pinned"]
        assert not (await service.ann.post(f"{at}/unpin")).json()["pinned"]
        assert (await service.ann.post(f"{at}/confirm")).json()["state"] == "active"
        actions = [version["action"] for version in (await service.ann.get(f"{at}/history")).json()]
        assert actions == ["learned", "edited", "pinned", "unpinned"]
        for pinned, content in ((True, "nuts"), (False, "nuts"), (False, "peanuts")):
            undone = (await service.ann.post(f"{at}/undo")).json()
            assert (undone["pinned"], content in undone["content"]) == (pinned, True)
        gone = await service.ann.post(f"{at}/undo")
        assert (gone.status_code, gone.json()) == (200, None)
        assert (await service.ann.get(at)).status_code == 404


async def test_what_is_set_aside_is_counted_listed_and_taken_up(tmp_path: Path) -> None:
    async with served(tmp_path, extraction="turn", facts={"min_importance": 10}) as service:
        chat = service.memory.session(user="ann", session="s")
        await chat.add("user", "I live in Lisbon.")
        await chat.add("assistant", "Noted.")
        await service.memory.work()
        assert (await service.ann.get("/v1/facts")).json() == []
        assert (await service.ann.get("/v1/facts/counts")).json() == {
            "by_state": {"aside": 1},
            "aside_for": {"importance": 1},
        }
        (fact,) = (await service.ann.get("/v1/facts", params={"state": ["aside", "review"]})).json()
        taken = await service.ann.post(f"/v1/facts/{fact['id']}/take-up")
        assert taken.json()["state"] == "active"
        assert [each["id"] for each in (await service.ann.get("/v1/facts")).json()] == [fact["id"]]
        assert (await service.ann.post(f"/v1/facts/{fact['id']}/take-up")).status_code == 422


async def test_a_list_is_narrowed_and_paged(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/subjects", json={"subject": "rex"})
        facts = [await added(service.ann, f"Fact number {at}", category="hobby") for at in range(5)]
        about = await added(service.ann, "Barks at night", subject="rex")
        newest = [fact["id"] for fact in reversed(facts)]

        async def ids(**params: Any) -> list[str]:
            return [fact["id"] for fact in (await service.ann.get("/v1/facts", params=params)).json()]

        assert await ids() == [about["id"], *newest]
        assert await ids(subject="") == await ids(category="hobby") == newest
        assert await ids(subject="rex") == [about["id"]]
        assert await ids(subject="", limit=2) == newest[:2]
        assert await ids(subject="", limit=2, after=newest[1]) == newest[2:4]
        assert (await service.ann.get("/v1/facts/review")).json() == []


NAMES = ["naïve ☕", "a/b", "a%2Fb", "members", "../x", "\u202eevil", "'; DROP TABLE facts;--", "𝕊" * 100]


async def test_a_subject_may_have_any_name(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for name in NAMES:
            assert (await service.ann.post("/v1/subjects", json={"subject": name})).status_code == 201
            fact = await added(service.ann, "Something about it", subject=name)
            (listed,) = (await service.ann.get(f"/v1/subjects/{quote(name, safe='')}/facts")).json()
            assert (listed["id"], listed["subject"]) == (fact["id"], name)
            (listed,) = (await service.ann.get("/v1/facts", params={"subject": name})).json()
            assert listed["id"] == fact["id"]


async def test_a_fact_says_exactly_what_was_said(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for content in ("Likes “ひらがな” 🧑🏽‍🚀", "<script>alert(1)</script>", "a\tb\u0301", "x" * 500):
            assert (await added(service.ann, content))["content"] == content


BODIES: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 422),
    "no JSON": (b"{", 400),
    "no object": (b"[]", 422),
    "no content": (b"{}", 422),
    "unknown key": (b'{"content": "A", "tenant": "other"}', 422),
    "user": (b'{"content": "A", "user": "bob"}', 422),
    "a number": (b'{"content": 5}', 422),
    "empty": (b'{"content": "  "}', 422),
    "too long": (b'{"content": "%s"}' % (b"x" * 501), 422),
    "NUL": (rb'{"content": "a\u0000b"}', 422),
    "half a pair": (rb'{"content": "a\ud800b"}', 422),
    "half a pair as a key": (rb'{"content": "a", "\ud800": 1}', 422),
    "half a pair as a subject": (rb'{"content": "a", "subject": "\udfff"}', 422),
    "not UTF-8": (b'{"content": "\xff"}', 400),
    "deep": (b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422),
    "a huge number": (b'{"content": "a", "importance": ' + b"9" * 400 + b"}", 422),
    "a number without end": (b'{"content": "a", "importance": ' + b"9" * 10_000 + b"}", 400),
    "not a number": (b'{"content": "a", "importance": NaN}', 422),
    "true for a number": (b'{"content": "a", "importance": true}', 422),
    "a text for a number": (b'{"content": "a", "importance": "7"}', 422),
    "too important": (b'{"content": "a", "importance": 11}', 422),
    "a number for true": (b'{"content": "a", "pinned": 1}', 422),
    "an unknown category": (b'{"content": "a", "category": "nonsense"}', 422),
    "an empty subject": (b'{"content": "a", "subject": ""}', 422),
}


async def test_what_cannot_be_kept_is_refused_in_one_sentence_and_changes_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        fact = await added(service.ann, "Lives in Lisbon")
        before = (await service.ann.get("/v1/export")).text
        headers = {"Content-Type": "application/json"}
        for body, (content, status) in BODIES.items():
            answer = await service.ann.post("/v1/facts", content=content, headers=headers)
            assert answer.status_code == status, f"{body}: {answer.text}"
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.json()["detail"]
            assert "\n" not in answer.json()["detail"]
            if body not in {"no content", "an empty subject"}:
                answer = await service.ann.patch(f"/v1/facts/{fact['id']}", content=content, headers=headers)
                assert answer.status_code == status, f"{body}: {answer.text}"
        assert (await service.ann.get("/v1/export")).text == before


QUERIES = [
    "limit=0",
    "limit=1001",
    "limit=99999999999999999999999999",
    "limit=many",
    "after=1",
    "state=deleted",
    "&".join(["state=active"] * 9),
    "category=nonsense",
    f"category={'x' * 201}",
    "subject=%00",
    f"subject={'x' * 201}",
    "agent=",
]
IDS = ["1", "%00", "%FF", "x" * 4000, "..%2F..", "9" * 35]


async def test_an_impossible_question_or_id_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for query in QUERIES:
            answer = await service.ann.get(f"/v1/facts?{query}")
            assert (answer.status_code, answer.json()["status"]) == (422, 422), query
        for fact in IDS:
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pin"), ("GET", "/history")):
                answer = await service.ann.request(method, f"/v1/facts/{fact}{path}")
                assert answer.status_code == 422, answer.text
