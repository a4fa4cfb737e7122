"""The page in the app: its routes, its files, and errors as pages for those who look with a browser."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from typing import Final

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from anaphora.memory import Memory
from anaphora.server.page import (
    account,
    contexts,
    documents,
    entering,
    facts,
    notepad,
    operators,
    people,
    searching,
    sessions,
    talking,
)
from anaphora.server.page.sealing import Seal
from anaphora.server.page.visits import error_page
from anaphora.server.problems import FAILED, Refused, answer, failed, of_http

#: forms that take files
LARGE: Final = frozenset({"/documents"})
#: paths that programs ask
_OF_PROGRAMS: Final = ("/v1/", "/api/", "/health", "/ready", "/metrics")


def install(app: FastAPI, memory: Memory) -> None:
    """Put the page into an app that has `state.memory`, `state.gate` and `state.rates`."""
    app.state.seal = Seal(key=memory.keys.signing("page"))
    for part in (
        facts,
        sessions,
        talking,
        contexts,
        searching,
        notepad,
        documents,
        people,
        account,
        operators,
        entering,
    ):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=str(files("anaphora.server.page") / "static")), name="static")

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        if not _is_browser(request):
            return of_http(request, error)
        told = "There is no such page." if error.status_code == HTTPStatus.NOT_FOUND else str(error.detail)
        return error_page(request, error.status_code, told, error.headers)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> Response:
        told = failed(request, error)
        return error_page(request, told.status_code, f"{FAILED.capitalize()}.") if _is_browser(request) else told


def refusal(scope: Scope, refused: Refused) -> Response:
    """The answer to a request that no route sees: a page for those who look with a browser."""
    request = Request(scope)
    if not _is_browser(request):
        return answer(refused)
    return error_page(request, refused.status, str(refused), refused.headers)


def _is_browser(request: Request) -> bool:
    """Whether a person looks at the answer."""
    path: str = request.scope["path"]
    return not path.startswith(_OF_PROGRAMS) and "text/html" in request.headers.get("accept", "")
