"""Paths: segments are cut before they are decoded, so that a name may hold a slash."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes

from pydantic import AfterValidator
from starlette.types import ASGIApp, Receive, Scope, Send

from anaphora.domain.keys import checked_id
from anaphora.server.checked_body import Refusing
from anaphora.server.problems import Refused, answer


class UndecodedPaths:
    """Routes are matched with paths as they were sent; `Name` decodes its own segment. Queries are UTF-8."""

    def __init__(self, app: ASGIApp, *, told: Refusing = lambda _, why: answer(why)) -> None:
        self._app = app
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through with its path as it was sent."""
        if scope["type"] == "http" and not _is_utf8(scope["query_string"]):
            detail = "a query is UTF-8: write each byte of other characters as %XX"
            await self._told(scope, Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail))(scope, receive, send)
            return
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw:
            try:
                scope["path"] = raw.partition(b"?")[0].decode("ascii")
            except UnicodeDecodeError:
                detail = "a path is ASCII: write other characters as %XX of their UTF-8"
                await self._told(scope, Refused(HTTPStatus.BAD_REQUEST, detail))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_utf8(query: bytes) -> bool:
    """Whether nothing of it would be read as something else: what is no UTF-8 would all be read as one character."""
    if b"%" not in query and query.isascii():
        return True
    try:
        unquote_to_bytes(query).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return query.isascii()


def _decoded(segment: str) -> str:
    try:
        return unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("a name in a path is UTF-8, as %XX") from None


def _checked(name: str) -> str:
    return checked_id(name, "a name")


#: a name of a user's own choice in a path
Name = Annotated[str, AfterValidator(_decoded), AfterValidator(_checked)]
#: such a name in a query
Named: Final = AfterValidator(_checked)
