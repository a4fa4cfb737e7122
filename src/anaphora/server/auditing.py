"""Every request that changes something is accounted for, by who asked, for what, and how it was answered."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote
from uuid import UUID

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anaphora.domain.principals import Principal
from anaphora.memory import Memory

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: what is said is its own account: the log holds it, with when, by whom and from where
UNAUDITED: Final = frozenset(
    {"append", "append_turn", "send", "stream", "recall", "build_context", "search", "search_documents"}
)


class Auditing:
    """Notes what a route was asked to change before its answer leaves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, and note it when it is answered."""
        if scope["type"] != "http" or scope["method"] in _SAFE:
            await self._app(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                await _note(scope, message["status"])
            await send(message)

        await self._app(scope, receive, noting)


async def _note(scope: Scope, status: int) -> None:
    principal: Principal | None = scope.get("state", {}).get("principal")
    route = scope.get("route")
    if principal is None or route is None or route.name in UNAUDITED:
        return
    memory: Memory = scope["app"].state.memory
    given = {name: unquote(str(value)) for name, value in scope.get("path_params", {}).items()}
    ids = {name: value for name, value in given.items() if _is_id(value)}
    names = {name: value for name, value in given.items() if name not in ids}
    await memory.audit.record(principal, route.name, ids=ids, names=names, status=status)


def _is_id(value: str) -> bool:
    if value.isdecimal() and len(value) <= 10:
        return True
    try:
        UUID(value)
    except ValueError:
        return False
    return True
