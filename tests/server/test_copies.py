"""Exports and restores over HTTP: one's own, whole or not at all, and nobody else's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.server.entries.kept import EMPTY
from tests.server.harness import Service, person, served

from anaphora.domain.principals import Permission
from anaphora.server.routes import copies

pytestmark = pytest.mark.anyio


async def lived(service: Service) -> str:
    """Something of everything of ann's, and her export."""
    for session in ("s1", "s/2"):
        chat = service.memory.session(user="ann", session=session)
        await chat.add("user", f"I like figs in {session}. ☕")
        await chat.add("assistant", "Noted.")
    await service.ann.post("/v1/subjects", json={"subject": "rex", "members": ["bob"]})
    await service.ann.post("/v1/facts", json={"content": "Barks at night", "subject": "rex"})
    await service.ann.put("/v1/notepad", json={"text": "Likes figs."})
    await service.ann.post("/v1/knowledge", json={"text": "Bake at 220 degrees."})
    return (await service.ann.get("/v1/export")).text


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[tuple[Service, Service]]:
    """Services over two databases."""
    for name in ("one", "two"):
        (folder / name).mkdir()
    async with served(folder / "one") as here, served(folder / "two") as there:
        yield here, there


def resealed(export: str, change: Any) -> str:
    """The export with other records, and a sum that fits."""
    lines = [json.dumps(record) for record in change([json.loads(line) for line in export.splitlines()])]
    footer = json.loads(lines.pop())
    body = "".join(f"{line}\n" for line in lines)
    return body + json.dumps({**footer, "sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n"


async def restored(client: httpx2.AsyncClient, export: str | bytes) -> httpx2.Response:
    return await client.post("/v1/restore", content=export, headers={"Content-Type": copies.LINES})


async def test_what_was_exported_erased_elsewhere_and_restored_is_the_same(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        export = await lived(here)
        answer = await restored(there.ann, export)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["sessions"], answer.json()["messages"]) == (2, 4)
        assert (await there.ann.get("/v1/export")).text == export
        again = await restored(there.ann, export)
        assert (again.json()["messages"], again.json()["held"]) == (0, 4)
        assert (await there.ann.get("/v1/export")).text == export
        assert (await there.eve.get("/v1/export")).text == EMPTY


async def test_an_export_is_narrowed_and_needs_its_scope(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await lived(service)
        answer = await service.ann.get("/v1/export", params={"session": "s/2", "agent": "default"})
        assert answer.headers["Content-Type"].startswith(copies.LINES)
        assert "figs in s/2" in answer.text
        assert "figs in s1" not in answer.text
        service.gate.principals["ann"] = person("ann", Permission.READ, Permission.WRITE)
        refused = await service.ann.get("/v1/export")
        assert (refused.status_code, "'export'" in refused.json()["detail"]) == (403, True)
        assert (await service.ann.get("/v1/export", params={"session": ""})).status_code == 403


async def test_nobody_takes_what_is_anothers_by_sending_their_export(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        export = await lived(service)
        secret = service.memory.session(user="ann", session="a secret name")
        await secret.add("user", "Hidden.")
        moved = resealed(
            (await service.ann.get("/v1/export")).text,
            lambda records: [
                {**each, "session": "x"} if each.get("session") == "a secret name" else each for each in records
            ],
        )
        before = (await service.ann.get("/v1/export")).text
        for sent in (export, moved):
            refused = await restored(service.bob, sent)
            assert refused.status_code == 422
            assert not any(word in refused.text for word in ("a secret name", "'ann'", "Hidden"))
            assert (await service.ann.get("/v1/export")).text == before
        assert (await service.bob.get("/v1/sessions")).json() == []
        assert (await service.bob.get("/v1/facts")).json() == []


async def test_a_restore_writes_in_nobodys_namespace_but_ones_own(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        await here.ann.post("/v1/knowledge", json={"text": "Of the team."})
        export = (await here.ann.get("/v1/export")).text
        for namespace in (["team"], ["team", "docs"], ["user"], ["user", "eve", "x"]):
            made_up = resealed(
                export,
                lambda records, namespace=namespace: [
                    {**each, "namespace": namespace} if each["record"] == "document" else each for each in records
                ],
            )
            # a document of a namespace belongs to no user: the footer counts none
            made_up = resealed(made_up, lambda records: [*records[:-1], {**records[-1], "users": 0}])
            assert (await restored(there.bob, made_up)).status_code == 200
            assert await there.memory.knowledge.list(namespace=namespace) == []
        assert (await restored(there.bob, export)).status_code == 200
        (own,) = (await there.bob.get("/v1/knowledge")).json()
        assert own["namespace"] == ["user", "bob"]


def many_users(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    subject = next(each for each in records if each["record"] == "fact")
    other = {**subject, "id": "f" + subject["id"][1:], "owner": "eve"}
    at = records.index(subject)
    footer = {**records[-1], "facts": records[-1]["facts"] + 1, "users": 2}
    return [*records[: at + 1], other, *records[at + 1 : -1], footer]


async def test_an_export_that_is_not_one_users_whole_own_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        export = await lived(here)
        lines = export.splitlines(keepends=True)
        later = lines[0].replace('"version":', '"version":9')
        for sent in (
            "",
            "\n\n",
            "{}",
            "no JSON",
            "".join(lines[:-1]),
            "".join(lines[1:]),
            export.replace("figs", "nuts"),
            export + lines[-1],
            later + "".join(lines[1:]),
            resealed(export, many_users),
            lines[0] + "[" * 100_000 + "\n" + lines[-1],
            lines[0] + '{"a":' * 50_000 + "\n" + lines[-1],
            lines[0] + "9" * 10_000 + "\n" + lines[-1],
            lines[0] + '"\\ud800"\n' + lines[-1],
            b"\xff\xfe" + export.encode("utf-16-le"),
            export.encode()[:200] + b"\xff" + export.encode()[200:],
            b"\x00" * 100,
        ):
            refused = await restored(there.ann, sent)
            assert refused.status_code == 422, (sent[:100], refused.text)
            assert refused.json()["detail"].count("\n") == 0
            assert refused.json()["error"] == "InvalidInput"
            assert (await there.ann.get("/v1/export")).text == EMPTY


async def test_more_than_may_be_is_refused_before_all_of_it_was_read(tmp_path: Path) -> None:
    taken: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        for at in range(10_000):
            taken.append(at)
            yield b"x" * 100_000

    async with served(tmp_path, server={"upload_bytes": 1 << 20}) as service:
        assert (await restored(service.ann, b"x" * (2 << 20))).status_code == 413
        assert (await service.ann.post("/v1/restore", content=endless())).status_code == 413
        assert len(taken) < 20
        assert (await service.ann.get("/v1/export")).text == EMPTY
