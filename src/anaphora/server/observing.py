"""What operators see of each request: a line and figures. Routes and numbers: no names, nothing that was said."""

from __future__ import annotations

import hashlib
import logging
import time
from functools import lru_cache
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anaphora.domain.principals import Principal
from anaphora.server.guards import dressed
from anaphora.server.logs import REQUESTS
from anaphora.server.metrics import Metrics
from anaphora.server.problems import failed

#: the status of a request whose asker left before the answer
_GONE: Final = 499
_FAILED: Final = 500
_NOWHERE: Final = "(none)"
_PREFIXES: Final = ("/v1", "/api")

_log: Final = structlog.wrap_logger(
    logging.getLogger(REQUESTS),
    processors=[
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)


class Observing:
    """An ASGI middleware around everything else, refusals included; no error gets out of it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, and tell of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = None

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)

        started = time.perf_counter()
        try:
            await self._app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 - whoever runs the app would log it with what was in hand
            request = Request(scope, receive)
            if status is None:
                answer = await self._told(request, error)
                await answer(scope, receive, dressed(noting, scope))
            else:
                # half an answer: its connection is closed by whoever runs the app
                failed(request, error)
                status = _FAILED
        finally:
            self._tell(scope, _GONE if status is None else status, time.perf_counter() - started)

    @staticmethod
    async def _told(request: Request, error: Exception) -> Response:
        """What is answered, and a line in the log."""
        handler = request.app.exception_handlers.get(Exception)
        try:
            answer: Response = await handler(request, error)
        except Exception as another:  # noqa: BLE001 - a page of an error that has an error
            return failed(request, another)
        return answer

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = _method(scope), route_of(scope)
        self._metrics.answered(method, route, status, seconds)
        if logging.getLogger(REQUESTS).isEnabledFor(logging.INFO):
            state = scope.get("state", {})
            principal: Principal | None = state.get("principal")
            _log.info(
                "request",
                request_id=state.get("request_id"),
                method=method,
                route=route,
                status=status,
                ms=round(seconds * 1000, 1),
                **({} if principal is None else {"tenant": hashed(principal.tenant)}),
            )


def route_of(scope: Scope) -> str:
    """The route as it was written, with the names of its parameters instead of what they are here."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    if path is not None:
        # a route that was included under a prefix may know only its own part of the path
        lead = next((lead for lead in _PREFIXES if scope["path"].startswith(f"{lead}/")), "")
        return str(path) if str(path).startswith(lead) else f"{lead}{path}"
    app = scope.get("app")
    if app is not None and scope["path"] == app.openapi_url:
        return str(app.openapi_url)
    return "/static" if scope["path"].startswith("/static/") else _NOWHERE


@lru_cache(maxsize=4096)
def hashed(tenant: str) -> str:
    """By what a tenant is known in logs and spans."""
    return hashlib.sha256(f"tenant\0{tenant}".encode()).hexdigest()[:16]


def _method(scope: Scope) -> str:
    """The method, if it is one: anybody may write anything there."""
    method: str = scope["method"]
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return method if method in known else "(other)"
