"""Errors as problem details (RFC 9457): the right status, and one sentence that says what to do."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from anaphora.errors import (
    AnaphoraError,
    ConfigError,
    Erased,
    InvalidInput,
    KeyReused,
    LeaseLost,
    MissingExtra,
    ModelError,
    ModelUnavailable,
    NotFound,
    StoreError,
    Taken,
)
from anaphora.server.faults import told_of

FAILED: Final = "something went wrong here; nothing is known to be changed"
MEDIA_TYPE: Final = "application/problem+json"
#: seconds after which what failed may be tried again, where nobody said another number
RETRY_AFTER: Final = 1.0
_STATUS: Final[Sequence[tuple[type[AnaphoraError], HTTPStatus]]] = (
    (Taken, HTTPStatus.CONFLICT),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotFound, HTTPStatus.NOT_FOUND),
    (KeyReused, HTTPStatus.CONFLICT),
    (Erased, HTTPStatus.CONFLICT),
    (LeaseLost, HTTPStatus.CONFLICT),
    (ConfigError, HTTPStatus.CONFLICT),
    (MissingExtra, HTTPStatus.CONFLICT),
    (StoreError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelError, HTTPStatus.BAD_GATEWAY),
)
#: what the framework says of a body that it cannot read
_UNREAD: Final = "There was an error parsing the body"
_log = logging.getLogger("anaphora.server")


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    where: str
    what: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    title: str
    status: int
    detail: str
    #: the name of the error, as the library raises it
    error: str | None = None
    #: what that error says beside its message, such as the budget that would do
    about: dict[str, str | int | float] | None = None
    faults: list[Fault] | None = None


class Refused(Exception):
    """A request that is refused before it reaches the memory."""

    def __init__(self, status: HTTPStatus, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers


def problem(
    status: HTTPStatus,
    detail: str,
    *,
    error: AnaphoraError | None = None,
    faults: list[Fault] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response that tells of a problem."""
    body = Problem(title=status.phrase, status=status, detail=detail, faults=faults, **_told(error))
    content = body.model_dump(mode="json", exclude_none=True)
    return JSONResponse(content, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def answer(refused: Refused) -> Response:
    """The response that refuses a request."""
    return problem(refused.status, str(refused), headers=refused.headers)


def status_of(error: AnaphoraError) -> HTTPStatus:
    """The status that an error of the library has."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def of_error(error: AnaphoraError) -> Response:
    """An error of the library as a response."""
    status = status_of(error)
    headers: dict[str, str] = {}
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        seconds = error.retry_after if isinstance(error, ModelUnavailable) else None
        headers["Retry-After"] = str(math.ceil(RETRY_AFTER if seconds is None else seconds))
    return problem(status, str(error), error=error, headers=headers)


def _name(error: AnaphoraError) -> str:
    """The name that callers know it by: kinds of our own are what they are kinds of."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == AnaphoraError.__module__)


def _told(error: AnaphoraError | None) -> dict[str, Any]:
    if error is None:
        return {}
    about = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float)}
    return {"error": _name(error), "about": about or None}


def problem_of(error: AnaphoraError) -> Problem:
    """An error of the library as it is told where the response has begun already."""
    status = status_of(error)
    return Problem(title=status.phrase, status=status, detail=str(error), **_told(error))


def documented(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says of problems with these statuses."""
    return {
        int(status): {"description": status.phrase, "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}}
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Answer every error of an app with a problem."""

    @app.exception_handler(AnaphoraError)
    async def _(_: Request, error: AnaphoraError) -> Response:
        return of_error(error)

    @app.exception_handler(Refused)
    async def _(_: Request, error: Refused) -> Response:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> Response:
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return problem(HTTPStatus.BAD_REQUEST, "the body is not JSON")
        faults = [_fault(each) for each in error.errors()]
        detail = "; ".join(f"{fault.where}: {fault.what}" for fault in faults[:3])
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, error=InvalidInput(detail), faults=faults)

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        return of_http(request, error)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> Response:
        return failed(request, error)


def of_http(request: Request, error: HTTPException) -> Response:
    """What the framework refuses, in words of ours."""
    status, detail = HTTPStatus(error.status_code), str(error.detail)
    if detail == _UNREAD:
        if request.headers.get("content-encoding", "identity") != "identity":
            status, detail = (
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "a body is taken as it is: send it without Content-Encoding",
            )
        elif isinstance(error.__cause__, UnicodeDecodeError):
            detail = "the body is not UTF-8"
        else:
            detail = "a number in the body has too many digits"
    elif status is HTTPStatus.NOT_FOUND and detail == status.phrase:
        detail = "there is nothing at this path: /v1/openapi.json names what there is"
    elif status is HTTPStatus.METHOD_NOT_ALLOWED and detail == status.phrase:
        allowed = (error.headers or {}).get("Allow", "another method")
        detail = f"this path is not asked so: it takes {allowed}"
    return problem(status, detail, headers=error.headers)


def failed(request: Request, error: Exception) -> Response:
    """A fault of ours, of which operators are told; never what was in hand then."""
    path = getattr(request.scope.get("route"), "path", "(no route)")
    _log.error("%s %s failed: %s", request.method, path, told_of(error))
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAILED)


def _fault(error: Mapping[str, Any]) -> Fault:
    """Where and what, without the value: it may be what somebody said."""
    where = ".".join(str(part) for part in error["loc"] if isinstance(part, int) or part.isprintable())
    what = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in {"too_long", "string_too_long"} and isinstance(error.get("input"), str):
        what = f"a text has at most {error['ctx']['max_length']:,} characters here"
    return Fault(where=where[:200].encode("ascii", "backslashreplace").decode(), what=what[:300])
