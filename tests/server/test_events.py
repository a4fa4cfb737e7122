"""Who follows a memory over HTTP is told what changed, by name, as long as they may; and there are not too many."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.server.harness import Service, person, served

from anaphora.server.listening import Listeners

pytestmark = pytest.mark.anyio


class Stream:
    """One open stream of events."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.began = asyncio.Event()
        self.pieces: asyncio.Queue[str] = asyncio.Queue()
        self.leaves = asyncio.Event()

    async def block(self) -> dict[str, str]:
        """The next event, or what else comes."""
        async with asyncio.timeout(5):
            text = await self.pieces.get()
        return dict(line.split(": ", 1) for line in text.strip().splitlines())


@asynccontextmanager
async def following(service: Service, who: str = "ann", last: str | None = None) -> AsyncIterator[Stream]:
    """A client that reads as events come, which the transport of the others does not."""
    stream = Stream()
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await stream.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            stream.status = message["status"]
            stream.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            stream.began.set()
        elif message.get("body"):
            stream.pieces.put_nowait(message["body"].decode())

    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {who}".encode())]
    headers += [] if last is None else [(b"last-event-id", last.encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/v1/events",
        "raw_path": b"/v1/events",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
        "root_path": "",
        "state": {},
    }
    answering = asyncio.create_task(service.app(scope, receive, send))
    try:
        async with asyncio.timeout(5):
            await stream.began.wait()
        yield stream
    finally:
        stream.leaves.set()
        async with asyncio.timeout(5):
            await asyncio.gather(answering, return_exceptions=True)


async def test_what_changes_is_told_by_name_without_content_and_to_its_user_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as service, following(service) as anns, following(service, "bob") as bobs:
        assert anns.headers["content-type"].startswith("text/event-stream")
        await anns.block()
        await bobs.block()
        await service.ann.post("/v1/sessions/s1/messages", json={"role": "user", "content": "A secret."})
        told = await anns.block()
        assert told["event"] == "messages"
        data = json.loads(told["data"])
        assert (data["kind"], data["agent"], data["session"]) == ("messages", "default", "s1")
        assert "secret" not in str(told)
        await service.bob.post("/v1/sessions/mine/messages", json={"role": "user", "content": "Hello."})
        assert json.loads((await bobs.block())["data"])["session"] == "mine"
        assert anns.pieces.empty()


async def test_a_lost_stream_is_taken_up_where_it_was_lost(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        async with following(service) as stream:
            mark = (await stream.block())["id"]
        await service.ann.post("/v1/sessions/s1/messages", json={"role": "user", "content": "Hello."})
        async with following(service, last=mark) as stream:
            await stream.block()
            told = await stream.block()
            assert told["event"] == "messages"
        async with following(service, last=told["id"]) as stream:
            assert (await stream.block())["id"] == told["id"]
            await asyncio.sleep(0.7)
            assert stream.pieces.empty()


async def test_there_are_signs_of_life_and_a_key_that_is_revoked_ends_the_stream(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        service.app.state.listeners = Listeners(beat=0.05)
        async with following(service) as stream:
            await stream.block()
            assert await stream.block() == {"": "still here"}
            del service.gate.principals["ann"]
            async with asyncio.timeout(5):
                while service.memory._services.changes.watched:
                    await asyncio.sleep(0.02)


async def test_a_key_that_is_revoked_while_much_happens_is_told_nothing_more(tmp_path: Path) -> None:
    async with served(tmp_path) as service, following(service) as stream:
        await stream.block()
        async with asyncio.timeout(5):
            while not service.memory._services.changes.watched:
                await asyncio.sleep(0.02)
        del service.gate.principals["ann"]
        service.gate.principals["other"] = person("ann")
        said = {"role": "user", "content": "Hello."}
        async with asyncio.timeout(5):
            while service.memory._services.changes.watched:
                asking = {"Authorization": "Bearer other"}
                assert (await service.nobody.post("/v1/sessions/s1/messages", json=said, headers=asking)).is_success
                await asyncio.sleep(0.02)
        assert stream.pieces.empty()


async def test_a_key_that_is_revoked_ends_the_stream_before_the_next_sign_of_life(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        service.app.state.listeners = Listeners(beat=60.0, check=0.05)
        async with following(service) as stream:
            await stream.block()
            del service.gate.principals["ann"]
            async with asyncio.timeout(5):
                while service.memory._services.changes.watched:
                    await asyncio.sleep(0.02)
            assert stream.pieces.empty()


async def test_one_key_and_all_together_have_so_many_streams_and_places_are_free_again(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        service.app.state.listeners = Listeners(each=1, most=2)
        async with following(service), following(service) as second, following(service, "bob"):
            assert (second.status, second.headers["retry-after"]) == (429, "5")
            async with following(service, "eve") as third:
                assert third.status == 503
        async with following(service) as again:
            assert again.status == 200
        assert service.memory._services.changes.watched == 0


async def test_the_end_of_the_service_ends_all_streams_and_lets_nobody_in(tmp_path: Path) -> None:
    async with served(tmp_path) as service, following(service) as stream:
        await stream.block()
        service.app.state.listeners.close()
        async with asyncio.timeout(2):
            while service.memory._services.changes.watched:
                await asyncio.sleep(0.02)
        async with following(service) as late:
            assert late.status == 503


async def test_an_operator_follows_nobody(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        assert (await service.operator.get("/v1/events")).status_code == 403
        assert (await service.nobody.get("/v1/events")).status_code == 401
