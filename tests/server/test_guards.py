"""I20: whatever is asked, in whatever shape, there is one right answer, nothing changes, and nobody waits for it."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import httpx2
import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Message, Receive, Scope, Send
from tests.server.harness import Service, served

from anaphora.server.checked_body import MOST_DEPTH, too_deep
from anaphora.server.guards import Guards, Limits
from anaphora.server.problems import Refused
from anaphora.server.rates import Rates
from anaphora.settings.sections import ServerSettings

pytestmark = pytest.mark.anyio

MESSAGES = "/v1/sessions/s1/messages"
JSON: Mapping[str, str] = MappingProxyType({"Content-Type": "application/json"})


@dataclass(frozen=True)
class Odd:
    """A request that is not as it should be, and how it is answered."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)


def said(content: str) -> bytes:
    return b'{"role": "user", "content": "%s"}' % content.encode()


def nested(depth: int) -> bytes:
    return b'{"role": "user", "content": "x", "metadata": {"a": %s%s}}' % (b"[" * depth, b"]" * depth)


ODD: Mapping[str, Odd] = {
    "no JSON": Odd(400, b"{role: user}"),
    "half of it": Odd(400, b'{"role": "user"'),
    "no UTF-8": Odd(400, b'{"role": "user", "content": "\xff\xfe"}'),
    "a number of ten thousand digits": Odd(400, b'{"role": "user", "content": %s}' % (b"9" * 10_000)),
    "no type": Odd(422, said("x"), {}),
    "another type": Odd(422, said("x"), {"Content-Type": "text/plain"}),
    "a list": Odd(422, b"[]"),
    "an unknown key": Odd(422, b'{"role": "user", "content": "x", "tenant": "other"}'),
    "a number for a text": Odd(422, b'{"role": "user", "content": 7}'),
    "NUL": Odd(422, said("a\\u0000b")),
    "a lone surrogate": Odd(422, said("a\\ud800b")),
    "not a number": Odd(422, b'{"role": "user", "content": "x", "metadata": {"n": NaN}}'),
    "infinity": Odd(422, b'{"role": "user", "content": "x", "metadata": {"n": 1e999}}'),
    "one level too many": Odd(422, nested(MOST_DEPTH - 1)),
    "ten thousand levels": Odd(422, nested(10_000)),
    "more than a message may have": Odd(422, said("a" * ((1 << 20) + 1))),
    "more than a body may have": Odd(413, said("a" * (2 << 20))),
    "a length that is none": Odd(400, said("x"), {**JSON, "Content-Length": "many"}),
    "another host": Odd(403, said("x"), {**JSON, "Host": "evil.example"}),
    "no host": Odd(403, said("x"), {**JSON, "Host": ""}),
    "another origin": Odd(403, said("x"), {**JSON, "Origin": "https://evil.example"}),
    "an origin that is none": Odd(403, said("x"), {**JSON, "Origin": "null"}),
    "the same origin on another port": Odd(403, said("x"), {**JSON, "Origin": "http://127.0.0.1:1"}),
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with served(tmp_path) as open_service:
        yield open_service


def check_problem(answer: httpx2.Response, status: int) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert "\n" not in answer.json()["detail"]
    assert answer.headers["x-request-id"]


async def test_what_is_not_as_it_should_be_is_a_problem_and_changes_nothing(service: Service) -> None:
    for name, odd in ODD.items():
        answer = await service.ann.post(MESSAGES, content=odd.body, headers=odd.headers)
        assert answer.status_code == odd.status, (name, answer.text[:200])
        check_problem(answer, odd.status)
    assert (await service.ann.get("/v1/sessions")).json() == []


@pytest.mark.parametrize("query", ["limit=3&limit=5", "stop=x&stop=5", "agent=a&agent=b"])
async def test_a_parameter_that_comes_twice_is_refused(service: Service, query: str) -> None:
    check_problem(await service.ann.get(f"/v1/sessions/s/messages?{query}"), 422)


async def test_a_list_may_name_several_values(service: Service) -> None:
    assert (await service.ann.get("/v1/jobs?state=queued&state=done")).status_code == 200


async def test_a_body_that_does_not_say_how_large_it_is_is_cut_off(service: Service) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 << 20:
            sent += 1 << 18
            yield b"a" * (1 << 18)

    for headers in (JSON, {"Content-Type": "text/plain"}):
        sent = 0
        check_problem(await service.ann.post(MESSAGES, content=endless(), headers=headers), 413)
        assert sent <= 3 << 20
    assert (await service.ann.get("/v1/sessions")).json() == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (201, said("a" * ((1 << 20) - 100))),
        (201, said("e" + "\u0301" * 100_000)),
        (422, nested(10_000)),
        (400, b'"' + b'\\"' * 500_000),
        (422, b"[" * 1_000_000),
        (400, b"]" * 1_000_000),
        (422, b"[{}," * 300_000),
    ],
    ids=["a megabyte", "combining marks", "deep", "escapes", "opened", "closed", "wide"],
)
async def test_the_unusual_is_answered_at_once(service: Service, status: int, body: bytes) -> None:
    # the tokenizer reads its tables at the first message
    await service.ann.post(MESSAGES, content=said("warm"), headers=JSON)
    took = []
    for _ in range(3):
        started = time.process_time()
        answer = await service.ann.post(MESSAGES, content=body, headers=JSON)
        took.append(time.process_time() - started)
        assert answer.status_code == status, answer.text[:200]
    assert min(took) <= 0.2


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("[" * MOST_DEPTH + "]" * MOST_DEPTH, False),
        ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), True),
        ('{"a":' * (MOST_DEPTH + 1) + "1" + "}" * (MOST_DEPTH + 1), True),
        (json.dumps("[" * 99), False),
        (json.dumps('"' + "[" * 99), False),
        (json.dumps("\\" + '"[' * 99), False),
        ("[" + "[]," * 99 + "[]]", False),
        ('{"a": "' + "[" * 99, False),
    ],
)
async def test_depth_is_that_of_lists_and_objects_in_each_other_and_not_in_texts(text: str, deep: bool) -> None:
    assert too_deep(text.encode()) is deep


async def test_answers_say_that_nobody_keeps_frames_or_guesses_at_them(service: Service) -> None:
    for client, path in ((service.ann, "/v1/sessions"), (service.nobody, "/v1/sessions"), (service.ann, "/nowhere")):
        headers = (await client.get(path)).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


async def test_a_request_keeps_its_id_and_gets_one_if_that_is_none(service: Service) -> None:
    given = await service.ann.get("/v1/sessions", headers={"X-Request-Id": "abc-1.2_3"})
    assert given.headers["x-request-id"] == "abc-1.2_3"
    own = [
        (await service.ann.get("/v1/sessions", headers={"X-Request-Id": odd})).headers["x-request-id"]
        for odd in ("", "a b", "<script>", "x" * 65)
    ]
    assert len({*own}) == 4
    assert not {"", "a b", "<script>", "x" * 65} & {*own}


async def test_it_is_reached_by_its_own_names_and_those_that_were_set(tmp_path: Path) -> None:
    options = {"server": ServerSettings(hosts=("memory.example",))}
    async with served(tmp_path, **options) as service:
        for host, status in (
            ("memory.example", 200),
            ("MEMORY.example:443", 200),
            ("localhost", 200),
            ("[::1]:8765", 200),
            ("127.0.0.1.evil.example", 403),
            ("memory.example.evil.example", 403),
            ("127.0.0.1@evil.example", 403),
            ("[::1", 403),
        ):
            answer = await service.ann.get("/v1/sessions", headers={"Host": host})
            assert answer.status_code == status, host


async def test_who_asks_too_often_is_told_when_to_come_again_and_others_are_not(tmp_path: Path) -> None:
    options = {"server": ServerSettings(requests_per_minute=5, failures_per_minute=3)}
    async with served(tmp_path, **options) as service:
        answers = [await service.ann.get("/v1/sessions") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        check_problem(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 12
        assert (await service.bob.get("/v1/sessions")).status_code == 200
        refused = [(await service.nobody.get("/v1/sessions")).status_code for _ in range(4)]
        assert refused == [401, 401, 401, 429]
        # somebody else behind the same address still gets in
        assert (await service.bob.get("/v1/sessions")).status_code == 200


async def test_a_rate_is_so_many_at_once_and_evenly_from_then_on() -> None:
    now = 1000.0
    rates = Rates(requests=0, failures=60, now=lambda: now)

    def failed(address: str) -> bool:
        try:
            rates.failed(address)
        except Refused:
            return False
        return True

    assert sum(failed("10.0.0.1") for _ in range(90)) == 60
    now += 5
    assert sum(failed("10.0.0.1") for _ in range(90)) == 5
    assert failed("10.0.0.2")
    now += 600
    assert sum(failed("10.0.0.1") for _ in range(90)) == 60
    # all addresses of a network of IPv6 are one's
    assert sum(failed(f"2001:db8::{number:x}") for number in range(90)) == 60
    assert failed("2001:db8:0:1::1")


def scope_of(path: str = "/", **headers: str) -> Scope:
    pairs = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    return {"type": "http", "method": "GET", "path": path, "headers": pairs, "query_string": b""}


async def status_of(guards: Guards, scope: Scope) -> int:
    answers: list[Message] = []

    read = False

    async def receive() -> Message:
        nonlocal read
        if read:
            await anyio.sleep_forever()
        read = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answers.append(message)

    await guards(scope, receive, send)
    status: int = answers[0]["status"]
    assert status != 503 or (b"retry-after", b"1") in answers[0]["headers"]
    return status


async def test_more_than_can_be_answered_at_once_is_told_to_come_again_and_gets_in_later() -> None:
    going = anyio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await going.wait()
        await PlainTextResponse("done")(scope, receive, send)

    guards = Guards(slow, Limits(at_once=2))
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append(await status_of(guards, scope_of()))

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert await status_of(guards, scope_of()) == 503
        going.set()
    assert statuses == [200, 200]
    assert await status_of(guards, scope_of()) == 200


async def test_who_listens_for_events_takes_nobodys_place() -> None:
    going = anyio.Event()

    async def events(scope: Scope, receive: Receive, send: Send) -> None:
        async def lines() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            await going.wait()

        kind: dict[str, Any] = {"media_type": "text/event-stream"} if scope["path"] == "/events" else {}
        await StreamingResponse(lines(), **kind)(scope, receive, send)

    guards = Guards(events, Limits(at_once=1))
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(status_of, guards, scope_of("/events"))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(status_of, guards, scope_of("/slow"))
        await anyio.wait_all_tasks_blocked()
        assert await status_of(guards, scope_of("/events")) == 503
        going.set()
    assert await status_of(guards, scope_of("/slow")) == 200


@pytest.mark.parametrize("query", ["agent=%ff", "agent=%fe", "a=%c3&b=%a9", "%ff=x", "agent=%ed%a0%80"])
async def test_a_query_that_is_not_utf8_is_refused_and_not_mended(service: Service, query: str) -> None:
    for path in ("/v1/sessions/s/messages", "/search"):
        answer = await service.ann.get(f"{path}?{query}")
        check_problem(answer, 422)
        assert "UTF-8" in answer.json()["detail"]


async def test_a_query_of_any_script_is_taken(service: Service) -> None:
    for query in ("agent=%C3%A9", "agent=%F0%9F%8D%90+x", "agent=a%26b"):
        assert (await service.ann.get(f"/v1/sessions/s/messages?{query}")).status_code == 200
