"""Who is let in: a request's credentials become the principal in whose name everything is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated, Final, Protocol

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from anaphora.domain.principals import Permission, Principal
from anaphora.server.problems import Refused
from anaphora.server.rates import Rates

_BEARER: Final = HTTPBearer(
    auto_error=False, description="An API key (`anaphora keys create`), or a JWT of the issuer."
)
Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


class Gate(Protocol):
    """Recognises principals by their credentials."""

    async def principal(self, token: str | None) -> Principal | None:
        """Who comes with this bearer token (None: with none); None: nobody who is let in."""
        ...

    async def again(self, tenant: str, by: str) -> Principal | None:
        """Who was let in before, by what it was recognised then (`Principal.by`); None: not any more."""
        ...


class Either:
    """Lets in whom one of several gates lets in."""

    def __init__(self, *gates: Gate) -> None:
        self._gates = gates

    async def principal(self, token: str | None) -> Principal | None:
        """The first that one of them recognises."""
        for gate in self._gates:
            found = await gate.principal(token)
            if found is not None:
                return found
        return None

    async def again(self, tenant: str, by: str) -> Principal | None:
        """The first that one of them recognises again."""
        for gate in self._gates:
            found = await gate.again(tenant, by)
            if found is not None:
                return found
        return None


class Open:
    """Lets everybody in as one person: for one's own machine."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    async def principal(self, token: str | None) -> Principal | None:
        """The one person."""
        del token
        return self._principal

    async def again(self, tenant: str, by: str) -> Principal | None:
        """The one person."""
        return self._principal if (tenant, by) == (self._principal.tenant, self._principal.by) else None


async def recognised(request: Request, bearer: Bearer) -> Principal:
    """The principal of a request.

    Raises:
        Refused: 401, it is nobody's; 429, too many come.

    """
    gate: Gate = request.app.state.gate
    rates: Rates = request.app.state.rates
    principal = await gate.principal(bearer.credentials if bearer is not None else None)
    if principal is None:
        rates.failed(request.client.host if request.client is not None else "")
        raise Refused(
            HTTPStatus.UNAUTHORIZED,
            "send a valid API key as `Authorization: Bearer KEY`: `anaphora keys create` makes one",
            headers=_CHALLENGE,
        )
    request.state.principal = principal
    rates.asked(principal)
    return principal


def still_let_in(request: Request, principal: Principal) -> Callable[[], Awaitable[bool]]:
    """Asks whether who sent the request would be let in again, as the same principal."""
    gate: Gate = request.app.state.gate
    kind, _, token = request.headers.get("authorization", "").partition(" ")

    async def still() -> bool:
        return await gate.principal(token if kind.lower() == "bearer" else None) == principal

    return still


class May:
    """A dependency: the principal, if it may do one of these."""

    def __init__(self, *permissions: Permission) -> None:
        self._permissions = permissions

    async def __call__(self, principal: Annotated[Principal, Depends(recognised)]) -> Principal:
        """The principal.

        Raises:
            Refused: 403, it may not.

        """
        if not any(principal.may(permission) for permission in self._permissions):
            lacks = " or ".join(repr(permission.value) for permission in self._permissions)
            raise Refused(HTTPStatus.FORBIDDEN, f"this key may not do that: it lacks the scope {lacks}")
        return principal


Anybody = Annotated[Principal, Depends(recognised)]
Reader = Annotated[Principal, Depends(May(Permission.READ))]
Writer = Annotated[Principal, Depends(May(Permission.WRITE))]
Exporter = Annotated[Principal, Depends(May(Permission.EXPORT))]
Eraser = Annotated[Principal, Depends(May(Permission.ERASE))]
#: a person, for what is theirs, or an operator, for all of the tenant
ReaderOrOperator = Annotated[Principal, Depends(May(Permission.READ, Permission.OPERATE))]
WriterOrOperator = Annotated[Principal, Depends(May(Permission.WRITE, Permission.OPERATE))]
Operator = Annotated[Principal, Depends(May(Permission.OPERATE))]
