"""Which key is sent with a request, and whose it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anaphora.domain.principals import Principal
from anaphora.errors import InvalidInput

#: gives the key of a user (None: of the operator) in a tenant
Keyring = Callable[[str | None, str], str]
#: asks the service who comes with a key
Ask = Callable[[str | None], Awaitable[Principal]]

#: keys that are remembered with whose they are
_MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """In whose name something is asked."""

    #: None: of the one whose key there is
    user: str | None = None
    tenant: str | None = None


class Doorman:
    """Knows the keys. No request leaves with the key of somebody else than it is made for."""

    def __init__(self, key: str | Keyring | None, tenant: str, ask: Ask) -> None:
        self._key = key
        self._ask = ask
        self._known: dict[str | None, Principal] = {}
        #: of those whose tenant nobody names
        self.tenant = tenant
        #: the only one there is; None: there are several
        self.only: Principal | None = None

    async def open(self) -> None:
        """Learn whose the one key is, if there is but one."""
        if not callable(self._key):
            self.only = await self._ask(self._key)
            self.tenant = self.only.tenant

    async def token(self, who: Who) -> str | None:
        """The key to send; None: none.

        Raises:
            InvalidInput: it is somebody else's.

        """
        tenant = self.tenant if who.tenant is None else who.tenant
        token = self._key(who.user, tenant) if callable(self._key) else self._key
        principal = self.only or self._known.get(token)
        if principal is None:
            principal = await self._ask(token)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[token] = principal
        if who.user not in {None, principal.user}:
            raise InvalidInput(f"this is not the key of user {who.user!r}: it sees nobody else's memory")
        if tenant != principal.tenant:
            raise InvalidInput(f"this key is not one of tenant {tenant!r}")
        return token
