"""Requests of a client: in whose name, as JSON, tried again where that is harmless, and their answers as they were."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote
from uuid import UUID

import anyio
import httpx2
from pydantic import TypeAdapter, ValidationError

from anaphora.client.doorman import Doorman, Keyring, Who
from anaphora.client.problems import error_of
from anaphora.domain.principals import Principal
from anaphora.errors import AnaphoraError, CommitUnknown, InvalidInput, ModelError, StoreClosed, StoreError
from anaphora.rules.text import one_line

T = TypeVar("T")

#: seconds before the first and between further attempts, where nobody said another number
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_SAFE: Final = frozenset({"GET", "PUT"})
#: what is refused before anything is done
_NOTHING_DONE: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS})
_BUSY: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_NOT_BEGUN: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_PRINCIPAL: Final = TypeAdapter(Principal)


class Wire:
    """The connection to one service.

    Args:
        http: sends requests; its base URL is the service's.
        key: the one key, or a keyring; None: the service wants none.
        tenant: of those whose tenant nobody names, with a keyring.
        patience: seconds for which a request is tried again.

    """

    def __init__(self, http: httpx2.AsyncClient, key: str | Keyring | None, *, tenant: str, patience: float) -> None:
        self._http = http
        self._patience = patience
        self.doorman = Doorman(key, tenant, self._whose)

    async def ask(
        self,
        shape: TypeAdapter[T],
        method: str,
        *path: str | int | UUID,
        who: Who,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        once: str | None = None,
        harmless: bool = False,
        headers: Mapping[str, str] | None = None,
        **more: Any,  # noqa: ANN401 - content, files, data: as httpx2 takes them
    ) -> T:
        """The answer to a request.

        Args:
            shape: what it is.
            method: of HTTP.
            path: its segments after `/v1`, whatever characters they have.
            who: in whose name.
            params: of the query; None is left out.
            body: JSON.
            once: a key by which the service knows a request that it had before: so it may be sent again.
            harmless: it changes nothing, or nothing more when it comes again.
            headers: more of them.
            more: `content`, or `files` and `data`.

        Raises:
            AnaphoraError: what the service could not do, as the library raises it.
            StoreError: it could not be reached; nothing was done.
            CommitUnknown: the connection was lost on the way; it may be done.
            StoreClosed: the client is closed.

        """
        token = await self.doorman.token(who)
        request = self._request(token, method, path, params=params, body=body, once=once, headers=headers, **more)
        again = _Again.IF_LOST if harmless or method in _SAFE or once is not None else _Again.IF_NOTHING_DONE
        response = await self._sent(request, again=_Again.IF_NOT_BEGUN if "content" in more else again)
        if response.is_success:
            return _read(shape, response)
        raise error_of(response)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        *path: str,
        who: Who,
        once: str | None = None,
        **more: Any,  # noqa: ANN401 - as in `ask`
    ) -> AsyncIterator[AsyncIterable[str]]:
        """The lines of an answer that goes on for as long as it does, without what ends them."""
        token = await self.doorman.token(who)
        request = self._request(token, method, path, once=once, **more)
        request.extensions["timeout"] = {**request.extensions["timeout"], "read": None}
        again = _Again.IF_LOST if method in _SAFE else _Again.IF_NOTHING_DONE
        response = await self._sent(request, again=again, streamed=True)
        try:
            if not response.is_success:
                await response.aread()
                raise error_of(response)
            yield _lines(response)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _whose(self, token: str | None) -> Principal:
        response = await self._sent(self._request(token, "GET", ("me",)), again=_Again.IF_LOST)
        if response.is_success:
            return _read(_PRINCIPAL, response)
        raise error_of(response)

    def _request(
        self,
        token: str | None,
        method: str,
        path: tuple[str | int | UUID, ...],
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        once: str | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,  # noqa: ANN401 - as in `ask`
    ) -> httpx2.Request:
        sent = {"Accept": "application/json, text/event-stream;q=0.9, application/x-ndjson;q=0.9"}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        try:
            if once is not None:
                sent["Idempotency-Key"] = once
            if body is not None:
                sent["Content-Type"] = "application/json"
                more["content"] = json.dumps(body, allow_nan=False, ensure_ascii=False, default=_plain).encode()
            query = {name: _written(value) for name, value in (params or {}).items() if value is not None}
            url = "/v1/" + "/".join(_segment(str(part)) for part in path)
            return self._http.build_request(method, url, params=query, headers={**sent, **(headers or {})}, **more)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"this cannot be sent as JSON over HTTP: {error}") from None

    async def _sent(self, request: httpx2.Request, *, again: _Again, streamed: bool = False) -> httpx2.Response:
        """The response, after as many attempts as are harmless and there is time for."""
        deadline = anyio.current_time() + self._patience
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._attempt(request, again=again, streamed=streamed)
            except _Failed as failed:
                wait = max(pause, failed.wait)
                if anyio.current_time() + wait > deadline:
                    raise failed.error from None
            await anyio.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _attempt(self, request: httpx2.Request, *, again: _Again, streamed: bool) -> httpx2.Response:
        if self._http.is_closed:
            raise StoreClosed("the client is closed: open it again")
        try:
            response = await self._http.send(request, stream=streamed)
        except _NOT_BEGUN as error:
            raise _Failed(
                StoreError(f"no service answers at {_place(request)} ({_what(error)}): is it running?")
            ) from None
        except httpx2.TransportError as error:
            lost = f"the connection to {_place(request)} was lost on the way ({_what(error)})"
            if again is _Again.IF_LOST:
                raise _Failed(StoreError(f"{lost}: try again")) from None
            raise CommitUnknown(f"{lost}: it may be done, look before you try again") from None
        if response.status_code not in _BUSY:
            return response
        await response.aread()
        refusal = error_of(response)
        nothing_done = response.status_code in _NOTHING_DONE and again is not _Again.IF_NOT_BEGUN
        if not (nothing_done or again is _Again.IF_LOST) or isinstance(refusal, ModelError):
            return response
        raise _Failed(refusal, _asked_to_wait(response))


class _Again(Enum):
    """When a request may be sent once more."""

    #: wherever it is not known what became of it: twice is harmless
    IF_LOST = auto()
    #: only if the service did nothing about it
    IF_NOTHING_DONE = auto()
    #: only if it never left: it comes from what can be read once
    IF_NOT_BEGUN = auto()


class _Failed(Exception):
    """An attempt after which another one is harmless."""

    def __init__(self, error: AnaphoraError, wait: float = 0.0) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _read(shape: TypeAdapter[T], response: httpx2.Response) -> T:
    try:
        return shape.validate_json(response.content or b"null")
    except ValidationError:
        raise StoreError(
            f"{_place(response.request)} answers otherwise than this version of the client reads: use the same version"
        ) from None


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Cut at line feeds alone: JSON may hold what others take for the end of a line."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun = ""
    try:
        async for piece in response.aiter_bytes():
            *whole, begun = (begun + decoder.decode(piece)).split("\n")
            for line in whole:
                yield line
    except httpx2.TransportError as error:
        raise StoreError(
            f"the connection to {_place(response.request)} was lost on the way ({_what(error)}): try again"
        ) from None
    if begun:
        yield begun


def _asked_to_wait(response: httpx2.Response) -> float:
    try:
        return max(0.0, float(response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def _place(request: httpx2.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"


def _what(error: Exception) -> str:
    return one_line(str(error)) or type(error).__name__


def _segment(part: str) -> str:
    """A name of any characters as one segment of a path."""
    return part.replace(".", "%2E") if part in {".", ".."} else quote(part, safe="")


def _written(value: object) -> str | list[str]:
    """A value of a query."""
    if isinstance(value, str | int | float | UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return [str(each) for each in cast("Iterable[object]", value)]


def _plain(value: object) -> object:
    """What JSON has no type of its own for."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
