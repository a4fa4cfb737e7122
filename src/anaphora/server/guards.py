"""What every request passes before any route sees it: from where, how large, how many; and what leaves with answers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anaphora.server.problems import problem

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

Refusal = tuple[HTTPStatus, str]


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

    def __init__(self, app: ASGIApp, limits: Limits, *, large: Collection[str] = ()) -> None:
        self._app = app
        self._limits = limits
        self._hosts = LOOPBACK | {host.lower() for host in limits.hosts}
        self._large = frozenset(large)
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        dressed = _dressed(send, request_id, static=scope["path"].startswith(_STATIC))
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            after = {"Retry-After": "1"} if refusal[0] is HTTPStatus.SERVICE_UNAVAILABLE else None
            await problem(*refusal, headers=after)(scope, receive, dressed)
            return
        body = _Body(receive, self._most(scope))
        self._under_way += 1
        try:
            await self._app(scope, body.receive, body.watching(dressed, scope))
        finally:
            self._under_way -= 1

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        host = _name_of(headers.get("host", ""))
        if "*" not in self._hosts and host not in self._hosts:
            return HTTPStatus.FORBIDDEN, "this service is not reached by this name: see `server.hosts`"
        origin = headers.get("origin")
        if scope["method"] not in _SAFE and origin is not None and not _same(origin, headers.get("host", "")):
            return HTTPStatus.FORBIDDEN, "changes are not taken from pages of other origins"
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return HTTPStatus.BAD_REQUEST, "Content-Length is not a number"
        if int(length[:20]) > self._most(scope):
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {self._most(scope):,} bytes here"
        if self._under_way >= self._limits.at_once:
            return HTTPStatus.SERVICE_UNAVAILABLE, "too much is asked for at once: try again in a second"
        return None

    def _most(self, scope: Scope) -> int:
        return self._limits.large_body if scope["path"] in self._large else self._limits.body


@dataclass(slots=True)
class _Body:
    """Counts what comes, where nobody said beforehand how much it would be."""

    inner: Receive
    most: int
    come: int = field(default=0)
    too_large: bool = field(default=False)

    async def receive(self) -> Message:
        message = await self.inner()
        self.come += len(message.get("body", b""))
        if self.come > self.most:
            self.too_large = True
            return {"type": "http.request", "body": b"", "more_body": False}
        return message

    def watching(self, send: Send, scope: Scope) -> Send:
        """Whatever was made of half a body, the answer is that it was too large."""
        answered = False

        async def checked(message: Message) -> None:
            nonlocal answered
            if not self.too_large:
                await send(message)
            elif not answered:
                answered = True
                detail = f"a body has at most {self.most:,} bytes here"
                await problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)(scope, self.inner, send)

        return checked


def _dressed(send: Send, request_id: str, *, static: bool) -> Callable[[Message], Awaitable[None]]:
    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = request_id
            for name, value in _HEADERS:
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-cache" if static else "no-store")
        await send(message)

    return dressed


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
