"""HEAD where probes and proxies ask with it: what GET would answer, without the answer itself."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PROBED: Final = frozenset({"/", "/health", "/ready"})


class Heads:
    """An ASGI middleware: asks for them what GET asks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through; of one for a head alone, the body is left out."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"] not in _PROBED:
            await self._app(scope, receive, send)
            return
        inner = {**scope, "method": "GET"}

        async def bare(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        try:
            await self._app(inner, receive, bare)
        finally:
            scope["route"] = inner.get("route")
