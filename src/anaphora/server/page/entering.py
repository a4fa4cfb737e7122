"""Signing in with a key, and out."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from anaphora.domain.keys import checked_text
from anaphora.server.gate import Gate
from anaphora.server.page.forms import form_of
from anaphora.server.page.rendering import render
from anaphora.server.page.sealing import Seal
from anaphora.server.page.visits import COOKIE, FLASH, Leaving, error_page, is_local, pages, set_cookie, sign_in
from anaphora.server.rates import Rates

router = pages()

#: ties the form of the sign-in to the browser that it was shown in
_DOOR: Final = "anaphora_door"
_MINUTES: Final = 3600
_STALE: Final = "this form is no longer valid: load the page again"


@router.get("/login")
async def login_page(request: Request, next_: Annotated[str, Query(alias="next", max_length=2100)] = "/") -> Response:
    """A form for a key."""
    return _form(request, next_)


def _form(request: Request, to: str, *, told: str | None = None, status: int = HTTPStatus.OK) -> Response:
    seal: Seal = request.app.state.seal
    nonce = request.cookies.get(_DOOR, "")[:64] or secrets.token_hex(16)
    values = {
        "visit": None,
        "path": "/login",
        "flash": None,
        "told": told,
        "next": to if is_local(to) else "/",
        "csrf": seal.mark("door", nonce),
    }
    response = HTMLResponse(render("login.html", values), status_code=int(status))
    set_cookie(request, response, _DOOR, nonce, seconds=_MINUTES)
    return response


@router.post("/login")
async def login(request: Request) -> Response:
    """Sign in with a key."""
    gate: Gate = request.app.state.gate
    rates: Rates = request.app.state.rates
    seal: Seal = request.app.state.seal
    async with form_of(request, fields=10) as form:
        key, mark, to = (form.get(name, "") for name in ("key", "csrf", "next"))
    if not isinstance(key, str) or not isinstance(mark, str) or not isinstance(to, str):
        return error_page(request, HTTPStatus.UNPROCESSABLE_ENTITY, "send the key as text")
    if not seal.right(mark, "door", request.cookies.get(_DOOR, "")):
        return _form(request, to, told=_STALE, status=HTTPStatus.FORBIDDEN)
    principal = await gate.principal(checked_text(key, "key").strip())
    if principal is None or await gate.again(principal.tenant, principal.by) is None:
        rates.failed(request.client.host if request.client is not None else "")
        told = "Nobody is let in with this key. Is it whole, and not expired or revoked?"
        return _form(request, to, told=told, status=HTTPStatus.UNAUTHORIZED)
    response = RedirectResponse(to if is_local(to) else "/", status_code=int(HTTPStatus.SEE_OTHER))
    sign_in(request, response, principal)
    response.delete_cookie(_DOOR)
    return response


@router.post("/logout")
async def logout(change: Leaving) -> Response:
    """Let the browser forget who it is."""
    del change
    response = RedirectResponse("/login", status_code=int(HTTPStatus.SEE_OTHER))
    response.delete_cookie(COOKIE)
    response.delete_cookie(FLASH)
    return response
