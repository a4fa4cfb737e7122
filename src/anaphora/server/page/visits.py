"""Visits: who looks at a page, in whose name it is made, and what a form may change."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final, TypedDict

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from anaphora.domain.erasure import ErasureReport
from anaphora.domain.keys import checked_text
from anaphora.domain.principals import Permission, Principal
from anaphora.errors import AnaphoraError, InvalidInput, ModelUnavailable
from anaphora.memory import Memory, Session
from anaphora.server.gate import Gate
from anaphora.server.guards import LOOPBACK
from anaphora.server.inputs import MOST_CHARS, Text
from anaphora.server.page.forms import form_of
from anaphora.server.page.rendering import link, render
from anaphora.server.page.sealing import Seal
from anaphora.server.problems import Refused, status_of
from anaphora.server.rates import Rates

COOKIE: Final = "anaphora_session"
FLASH: Final = "anaphora_flash"
#: seconds that somebody stays signed in, and that a change can be undone from the message that tells of it
SIGNED_IN: Final = 12 * 3600
_FLASHED: Final = 60
#: a page of ours, and nothing that a browser could take for another host
_LOCAL: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2000}")
_STALE: Final = "this form is no longer valid: go back, load the page again and send it once more"
#: what is looked for
Question = Annotated[Text, Query(max_length=MOST_CHARS)]


class SignedOut(Exception):
    """Nobody is signed in."""


class Whose(TypedDict):
    """In whose name a memory is asked."""

    user: str
    tenant: str


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Somebody looks at a page."""

    request: Request
    memory: Memory
    principal: Principal
    seal: Seal
    #: of this sign-in
    nonce: str

    @property
    def user(self) -> str:
        """Whose memory is looked at.

        Raises:
            InvalidInput: an operator is nobody's memory.

        """
        return self.principal.person

    @property
    def whose(self) -> Whose:
        """In whose name the memory is asked."""
        return {"user": self.user, "tenant": self.principal.tenant}

    @property
    def csrf(self) -> str:
        """The mark that every form of this sign-in carries."""
        return self.seal.mark("form", self.principal.tenant, self.principal.by, self.nonce)

    def may(self, permission: str) -> bool:
        """Whether the visitor may do that."""
        return self.principal.may(Permission(permission))

    def session(self, agent: str, session: str) -> Session:
        """One of the visitor's conversations."""
        return self.memory.session(agent=agent, session=session, **self.whose)

    def show(self, template: str, *, status: int = HTTPStatus.OK, **values: Any) -> Response:  # noqa: ANN401
        """The page made of a template; what was to be told is told once."""
        flash = self.seal.open(f"flash {self.nonce}", self.request.cookies.get(FLASH))
        told = {"visit": self, "path": self.request.url.path, "flash": flash, **values}
        response = HTMLResponse(render(template, told), status_code=int(status))
        if FLASH in self.request.cookies:
            response.delete_cookie(FLASH)
        return response


@dataclass(frozen=True, kw_only=True)
class Change(Visit):
    """Somebody sent a form."""

    form: FormData

    def text(self, name: str, default: str | None = None) -> str:
        """A text of the form, with the line ends of the log.

        Raises:
            InvalidInput: it is not there, or no store could hold it.

        """
        value = self.form.get(name, default)
        if not isinstance(value, str):
            raise InvalidInput(f"the form lacks {name!r}")
        return checked_text(value, name).replace("\r\n", "\n")

    def some(self, name: str) -> str | None:
        """A text of the form; None if it is empty or not there."""
        return self.text(name, "").strip() or None

    def whole(self, name: str) -> int:
        """A whole number of the form.

        Raises:
            InvalidInput: it is none.

        """
        value = self.text(name)
        if not re.fullmatch(r"[0-9]{1,9}", value):
            raise InvalidInput(f"{name} must be a whole number")
        return int(value)

    def file(self, name: str) -> UploadFile | None:
        """A file of the form; None if none was chosen."""
        value = self.form.get(name)
        return value if isinstance(value, UploadFile) and value.filename else None

    def back(
        self,
        default: str,
        told: str | None = None,
        *,
        undo: Mapping[str, Any] | None = None,
        gone: str | None = None,
    ) -> Response:
        """To where the form stood (`next`), or to `default`, where it is told what was done.

        Args:
            default: a page of ours.
            told: what was done.
            undo: how to take it back.
            gone: how addresses of pages begin that are no longer there: no form leads back to them.

        """
        wanted = self.form.get("next")
        there = isinstance(wanted, str) and is_local(wanted) and not (gone and wanted.startswith(gone))
        to = wanted if isinstance(wanted, str) and there else default
        response = RedirectResponse(to, status_code=int(HTTPStatus.SEE_OTHER))
        if told is not None:
            sealed = self.seal.close(f"flash {self.nonce}", {"told": told, "undo": undo}, seconds=_FLASHED)
            set_cookie(self.request, response, FLASH, sealed, seconds=_FLASHED)
        return response


def is_local(target: str) -> bool:
    """Whether it names a page of this service."""
    return _LOCAL.fullmatch(target) is not None


def set_cookie(request: Request, response: Response, name: str, value: str, *, seconds: int) -> None:
    """Let the browser keep something that no script reads and no other site sends; over TLS, if people come so.

    A proxy ends TLS, so that the request does not tell: where the service has a name, it is there.
    """
    memory: Memory = request.app.state.memory
    named = any(host != "*" and host.lower() not in LOOPBACK for host in memory.settings.server.hosts)
    secure = named or request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)


def sign_in(request: Request, response: Response, principal: Principal) -> None:
    """Let the browser keep who it is."""
    seal: Seal = request.app.state.seal
    who = {"tenant": principal.tenant, "by": principal.by, "nonce": secrets.token_hex(16)}
    set_cookie(request, response, COOKIE, seal.close("session", who, seconds=SIGNED_IN), seconds=SIGNED_IN)


async def visitor(request: Request) -> Visit:
    """Who looks.

    Raises:
        SignedOut: nobody who is let in.
        Refused: 429, too much was asked for.

    """
    gate: Gate = request.app.state.gate
    rates: Rates = request.app.state.rates
    seal: Seal = request.app.state.seal
    principal, nonce = await gate.principal(None), ""
    if principal is None:
        kept = seal.open("session", request.cookies.get(COOKIE))
        if kept is None:
            raise SignedOut
        principal, nonce = await gate.again(kept["tenant"], kept["by"]), kept["nonce"]
    if principal is None:
        raise SignedOut
    request.state.principal = principal
    found = Visit(request=request, memory=request.app.state.memory, principal=principal, seal=seal, nonce=nonce)
    request.state.visit = found
    rates.asked(principal)
    return found


Visitor = Annotated[Visit, Depends(visitor)]


class _Seeing:
    """A dependency: the visit of somebody who may do that."""

    def __init__(self, permission: Permission) -> None:
        self._permission = permission

    def __call__(self, visit: Visitor) -> Visit:
        if not visit.principal.may(self._permission):
            raise Refused(HTTPStatus.FORBIDDEN, _may_not(visit.principal, self._permission))
        return visit


class _Changing:
    """A dependency: the form of somebody who may do that, and who was shown it here."""

    def __init__(self, permission: Permission | None) -> None:
        self._permission = permission

    async def __call__(self, visit: Visitor) -> AsyncGenerator[Change]:
        if self._permission is not None:
            _Seeing(self._permission)(visit)
        async with form_of(visit.request, files=1, fields=50) as form:
            mark = form.get("csrf")
            about = (visit.principal.tenant, visit.principal.by, visit.nonce)
            if not isinstance(mark, str) or not visit.seal.right(mark, "form", *about):
                raise Refused(HTTPStatus.FORBIDDEN, _STALE)
            yield Change(
                request=visit.request,
                memory=visit.memory,
                principal=visit.principal,
                seal=visit.seal,
                nonce=visit.nonce,
                form=form,
            )


def _may_not(principal: Principal, permission: Permission) -> str:
    if principal.user is None:
        return "an operator's key sees nothing that anybody said: sign in with the key of a person"
    return f"your key may not do that: it lacks the scope {permission.value!r}"


Reading = Annotated[Visit, Depends(_Seeing(Permission.READ))]
Exporting = Annotated[Visit, Depends(_Seeing(Permission.EXPORT))]
Operating = Annotated[Visit, Depends(_Seeing(Permission.OPERATE))]
Writing = Annotated[Change, Depends(_Changing(Permission.WRITE))]
Erasing = Annotated[Change, Depends(_Changing(Permission.ERASE))]
Mending = Annotated[Change, Depends(_Changing(Permission.OPERATE))]
#: whatever they may do
Leaving = Annotated[Change, Depends(_Changing(None))]


def error_page(request: Request, status: int, told: str, headers: Mapping[str, str] | None = None) -> Response:
    """What went wrong, in one sentence."""
    visit: Visit | None = getattr(request.state, "visit", None)
    values = {"visit": visit, "path": request.scope["path"], "flash": None, "status": status, "told": told}
    title = HTTPStatus(status).phrase
    return HTMLResponse(render("error.html", {**values, "title": title}), status_code=int(status), headers=headers)


def goodbye(request: Request, report: ErasureReport) -> Response:
    """What was erased; the browser forgets who it was."""
    values = {"visit": None, "path": request.url.path, "flash": None, "counts": report.counts}
    response = HTMLResponse(render("erased.html", values))
    response.delete_cookie(COOKIE)
    response.delete_cookie(FLASH)
    return response


class PageRoute(APIRoute):
    """A route that answers with a page, whatever happens."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """The handler, with errors as pages."""
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handle(request)
            except SignedOut:
                return _to_sign_in(request)
            except AnaphoraError as error:
                after = {"Retry-After": "1"} if isinstance(error, ModelUnavailable) else None
                return error_page(request, status_of(error), str(error), after)
            except Refused as error:
                return error_page(request, error.status, str(error), error.headers)
            except RequestValidationError:
                return error_page(request, HTTPStatus.UNPROCESSABLE_ENTITY, "this address holds something impossible")
            except HTTPException as error:
                return error_page(request, error.status_code, str(error.detail), error.headers)

        return shown


def _to_sign_in(request: Request) -> Response:
    safe = request.method == "GET" and request.url.path != "/"
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    to = link("login", next=asked if safe and is_local(asked) else None)
    response = RedirectResponse(to, status_code=int(HTTPStatus.SEE_OTHER))
    response.delete_cookie(COOKIE)
    return response


def pages() -> APIRouter:
    """A router of pages."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)
