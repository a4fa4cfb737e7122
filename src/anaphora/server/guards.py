"""What every request passes before any route sees it: from where, how large, how many; and what leaves with answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from secrets import token_hex
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anaphora.server.checked_body import Body, Refusing, too_large
from anaphora.server.problems import Refused, answer

#: names of the machine itself: a page elsewhere that is called otherwise cannot reach the service (DNS rebinding)
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
#: no script, style or frame of anybody else, and none that stands in the page
_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", _CSP),
)
_STATIC: Final = "/static/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a service takes."""

    #: names under which it is reached, beside those of the machine itself; `*` for any
    hosts: Collection[str] = ()
    #: bytes of a body, and of an export that is put back
    body: int = 2 << 20
    large_body: int = 64 << 20
    #: requests at a time: the next ones are told to come again
    at_once: int = 256


class Guards:
    """An ASGI middleware: refuses what no route should see, and dresses what leaves."""

    def __init__(
        self, app: ASGIApp, limits: Limits, *, large: Collection[str] = (), told: Refusing = lambda _, why: answer(why)
    ) -> None:
        self._app = app
        self._told = told
        self._limits = limits
        self._hosts = LOOPBACK | {host.lower() for host in limits.hosts}
        self._large = frozenset(large)
        self._under_way = 0
        self._new_id = _request_ids()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        scope.setdefault("state", {})["request_id"] = given if _REQUEST_ID.fullmatch(given) else self._new_id()
        send = dressed(send, scope)
        try:
            self._check(scope, headers)
            body = Body(receive, self._most(scope))
            if "json" in headers.get("content-type", "") and scope["path"] not in self._large:
                await body.read_json()
            self._check_room()
        except Refused as refused:
            await self._told(scope, refused)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        await self._let_through(scope, body, send)

    async def _let_through(self, scope: Scope, body: Body, send: Send) -> None:
        self._under_way += 1
        counted = True

        async def watched(message: Message) -> None:
            # who listens for what will happen waits for long, and asks for nothing meanwhile
            nonlocal counted
            if counted and message["type"] == "http.response.start" and _is_stream(message):
                counted = False
                self._under_way -= 1
            await send(message)

        try:
            await self._app(scope, body.receive, body.watching(watched, scope, self._told))
        finally:
            self._under_way -= counted

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = _name_of(headers.get("host", ""))
        if "*" not in self._hosts and host not in self._hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "this service is not reached by this name: see `server.hosts`")
        origin = headers.get("origin")
        if scope["method"] not in _SAFE and origin is not None and not _same(origin, headers.get("host", "")):
            raise Refused(HTTPStatus.FORBIDDEN, "changes are not taken from pages of other origins")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise Refused(HTTPStatus.BAD_REQUEST, "Content-Length is not a number")
        if int(length[:20]) > self._most(scope):
            raise too_large(self._most(scope))
        self._check_room()

    def _check_room(self) -> None:
        if self._under_way >= self._limits.at_once:
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too much is asked for at once: try again in a second",
                headers={"Retry-After": "1"},
            )

    def _most(self, scope: Scope) -> int:
        return self._limits.large_body if scope["path"] in self._large else self._limits.body


def dressed(send: Send, scope: Scope) -> Send:
    """Send answers to this request with the headers that every answer has."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if (request_id := scope.get("state", {}).get("request_id")) is not None:
                headers["x-request-id"] = request_id
            for name, value in _HEADERS:
                headers.setdefault(name, value)
            static = scope["path"].startswith(_STATIC)
            headers.setdefault("cache-control", "no-cache" if static else "no-store")
        await send(message)

    return sent


def _name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _is_stream(message: Message) -> bool:
    return any(name == b"content-type" and b"event-stream" in value for name, value in message.get("headers", ()))


def _request_ids() -> Callable[[], str]:
    """Ids that tell requests of this and other processes apart; nothing depends on nobody guessing them."""
    lead, numbers = token_hex(6), count(1)
    return lambda: f"{lead}-{next(numbers):x}"
