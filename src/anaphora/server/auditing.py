"""Every request that changes something is accounted for, by who asked, for what, and how it was answered."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote
from uuid import UUID

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anaphora.domain.principals import Principal
from anaphora.errors import AnaphoraError
from anaphora.memory import Memory
from anaphora.server.problems import of_error

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: what is said is its own account: the log holds it, with when, by whom and from where
_SAID: Final = frozenset({"append", "append_turn", "send", "stream"})
#: what only asks, and what leaves nothing behind
_ASKED: Final = frozenset({"recall", "build_context", "search", "search_documents", "ask_without_memory", "logout"})
UNAUDITED: Final = _SAID | _ASKED
#: who asks too often would make an entry with every further request
_TURNED_AWAY: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS})
_log = logging.getLogger("anaphora.server")


class Auditing:
    """Notes what a route was asked to change before its answer leaves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, and note it when it is answered."""
        if scope["type"] != "http" or scope["method"] in _SAFE:
            await self._app(scope, receive, send)
            return
        noting = _Noting(scope, receive, send)
        try:
            await self._app(scope, receive, noting.send)
        except Exception:
            # answered outside of here
            await noting.failed()
            raise


class _Noting:
    """One request on its way out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._noted = False
        #: the answer of the route is not sent: another one was
        self._replaced = False

    async def send(self, message: Message) -> None:
        """Note the request, then let its answer leave; a change that cannot be noted is not said to have been made."""
        if message["type"] == "http.response.start":
            self._noted = True
            try:
                await _note(self._scope, message["status"])
            except AnaphoraError as error:
                _log_unnoted(self._scope, error)
                if message["status"] < HTTPStatus.INTERNAL_SERVER_ERROR:
                    self._replaced = True
                    await of_error(error)(self._scope, self._receive, self._send)
        if not self._replaced:
            await self._send(message)

    async def failed(self) -> None:
        """Note that there was no answer."""
        if self._noted:
            return
        try:
            await _note(self._scope, HTTPStatus.INTERNAL_SERVER_ERROR)
        except AnaphoraError as error:
            _log_unnoted(self._scope, error)


async def _note(scope: Scope, status: int) -> None:
    principal: Principal | None = scope.get("state", {}).get("principal")
    route = scope.get("route")
    if principal is None or route is None or route.name in UNAUDITED or status in _TURNED_AWAY:
        return
    memory: Memory = scope["app"].state.memory
    ids, names = _about(route, scope.get("path_params", {}))
    made = scope["state"].get("made", {})
    await memory.audit.record(principal, route.name, ids={**ids, **made}, names=names, status=status)


def _about(route: APIRoute, given: Mapping[str, object]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What the path names: ids that the store made, and names that people chose.

    A name may look like an id, and what was sent for an id may be a name: it takes both to be kept as it is.
    """
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    kinds = dict(_typed(route.dependant))
    for part, value in given.items():
        text = unquote(str(value))
        (ids if _is_id(kinds.get(part), text) else names)[part] = text
    return ids, names


def _typed(part: Dependant) -> Iterator[tuple[str, object]]:
    """Parameters of a path with their types, those of what it depends on too."""
    yield from ((field.alias, field.field_info.annotation) for field in part.path_params)
    for each in part.dependencies:
        yield from _typed(each)


def _is_id(kind: object, text: str) -> bool:
    if kind is int:
        return text.isdecimal() and text.isascii()
    if kind is not UUID:
        return False
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _log_unnoted(scope: Scope, error: AnaphoraError) -> None:
    _log.error("%s %s is not in the audit: %s", scope["method"], scope["route"].path, type(error).__name__)
