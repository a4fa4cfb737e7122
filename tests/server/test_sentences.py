"""What is refused is refused with one sentence that says what to do, in the words of who asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.server.harness import Service, served

pytestmark = pytest.mark.anyio

MESSAGES = "/v1/sessions/s1/messages"
JSON = {"Content-Type": "application/json"}
LONG = b"9" * 5000
A_MESSAGE = "body.message: a message is named by its number in its session, from 0, or by its id"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with served(tmp_path) as open_service:
        yield open_service


@pytest.mark.parametrize(
    ("method", "path", "given", "status", "says"),
    [
        ("POST", MESSAGES, {"content": b'{"role": "\xff"}', "headers": JSON}, 400, "the body is not UTF-8"),
        (
            "POST",
            MESSAGES,
            {"content": b"\x1f\x8b\x08\x00a", "headers": {**JSON, "Content-Encoding": "gzip"}},
            415,
            "a body is taken as it is: send it without Content-Encoding",
        ),
        (
            "POST",
            MESSAGES,
            {"content": b'{"role": "user", "content": %s}' % LONG, "headers": JSON},
            400,
            "a number in the body has too many digits",
        ),
        ("GET", "/v1/nope", {}, 404, "there is nothing at this path: /v1/openapi.json names what there is"),
        ("PUT", "/v1/sessions", {}, 405, "this path is not asked so: it takes GET"),
        (
            "GET",
            "/v1/search",
            {"params": {"q": "x" * 10_001}},
            422,
            "query.q: a text has at most 10,000 characters here",
        ),
        ("POST", "/v1/erase", {"json": {"session": "s", "message": "x"}}, 422, A_MESSAGE),
        ("POST", "/v1/erase", {"json": {"session": "s", "message": -1}}, 422, A_MESSAGE),
        ("POST", "/v1/erase", {"json": {"session": "s", "message": True}}, 422, A_MESSAGE),
        (
            "GET",
            MESSAGES,
            {"params": {"as_of": "0001-01-01T00:00:00+14:00"}},
            422,
            "query.as_of: a time lies between year 1 and year 9999 in UTC",
        ),
        (
            "POST",
            "/v1/restore",
            {"content": b'{"a":%s%s}\n' % (b"[" * 90_000, b"]" * 90_000)},
            422,
            "line 1: expected JSON that is nested less deeply",
        ),
        ("POST", "/v1/restore", {"content": b'{"a":%s}\n' % LONG}, 422, "line 1: a number has too many digits"),
    ],
)
async def test_what_is_refused_says_what_to_do_without_the_words_of_a_library(
    service: Service, method: str, path: str, given: Mapping[str, Any], status: int, says: str
) -> None:
    answer = await service.ann.request(method, path, **given)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["detail"]) == (status, says)


async def test_a_message_is_erased_by_its_number_or_its_id(service: Service) -> None:
    for number in range(2):
        await service.ann.post(MESSAGES, json={"role": "user", "content": f"{number}"})
    by_id = (await service.ann.get(MESSAGES)).json()[1]["id"]
    for body in ({"session": "s1", "message": 0}, {"message": by_id}):
        assert (await service.ann.post("/v1/erase", json=body)).status_code == 200, body
