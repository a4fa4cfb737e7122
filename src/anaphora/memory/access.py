"""Keys and the audit as the public API shows them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from anaphora.bootstrap import Services
from anaphora.domain.access import ApiKey, AuditEntry, NewKey
from anaphora.domain.principals import Principal
from anaphora.errors import NotFound
from anaphora.memory.scope import tenant_of


class KeysView:
    """Keys with which a service lets people in."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._keys = services.keys
        #: another number after every call through this memory that may have ended a key
        self.generation = 0

    async def create(
        self,
        *,
        user: str | None,
        scopes: Collection[str] = ("all",),
        name: str = "",
        days: float | None = None,
        tenant: str | None = None,
    ) -> NewKey:
        """Make a key; what makes it one is in the answer, and never shown again.

        Args:
            user: in whose name it acts; None: for the tenant's operator, who sees nothing that anybody said.
            scopes: read, write, export, erase, or `all` of them. An operator's key has its own.
            name: what it is for.
            days: after how many it expires; None: it does not.
            tenant: None = the configured default.

        Raises:
            InvalidInput: a name or number that cannot be, or scopes that a person cannot have.
            UnknownName: no such scope.

        """
        whose = tenant_of(self._services, tenant)
        return await self._keys.create(whose, user, scopes=scopes, name=name, days=days)

    async def list(self, *, user: str | None = None, limit: int = 50, tenant: str | None = None) -> Sequence[ApiKey]:
        """Keys, the newest first, expired and revoked ones too; with `user`, only of this one."""
        return await self._keys.list(tenant_of(self._services, tenant), user=user, limit=limit)

    async def revoke(self, key_id: UUID | str, *, tenant: str | None = None) -> bool:
        """Let a key let nobody in any more; False if that is so already.

        Raises:
            NotFound: there is no such key.

        """
        try:
            return await self._keys.revoke(tenant_of(self._services, tenant), _id(key_id))
        finally:
            self.generation += 1

    async def rotate(self, key_id: UUID | str, *, overlap_hours: float = 24.0, tenant: str | None = None) -> NewKey:
        """Make a key like this one, which lets in for `overlap_hours` more.

        Raises:
            NotFound: there is no such key.
            InvalidInput: it lets nobody in any more.

        """
        try:
            return await self._keys.rotate(tenant_of(self._services, tenant), _id(key_id), overlap_hours=overlap_hours)
        finally:
            self.generation += 1

    async def any(self) -> bool:
        """Whether any tenant has a key: without one a service lets nobody in."""
        return await self._keys.any()

    async def verify(self, key: str) -> Principal | None:
        """Who comes with this key; None: nobody who is let in."""
        return await self._keys.verify(key)

    async def again(self, key_id: UUID | str, *, tenant: str | None = None) -> Principal | None:
        """Who came with the key of this id before; None: it lets nobody in any more."""
        return await self._keys.again(tenant_of(self._services, tenant), _id(key_id))

    def signing(self, purpose: str) -> bytes:
        """A key of 32 bytes to sign with, one for each purpose; every process that opens the memory has the same."""
        return hmac.new(self._services.audit.secret, b"signing\0" + purpose.encode(), hashlib.sha256).digest()


class AuditView:
    """The account of what was changed, and in whose name."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._audit = services.audit

    async def record(
        self,
        principal: Principal,
        action: str,
        *,
        ids: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        status: int,
    ) -> AuditEntry:
        """Note a change that a principal asked for.

        Args:
            principal: who asked; the entry stands in their tenant's account.
            action: for what.
            ids: about what: ids, kept as they are.
            names: about what: names that people chose, of which keyed hashes are kept.
            status: how it was answered, as an HTTP status.

        """
        return await self._audit.record(principal, action, ids=ids or {}, names=names or {}, status=status)

    async def list(
        self, *, user: str | None = None, before: int | None = None, limit: int = 50, tenant: str | None = None
    ) -> Sequence[AuditEntry]:
        """Entries, the newest first; with `user`, of this one; with `before`, those with smaller numbers."""
        whose = tenant_of(self._services, tenant)
        return await self._audit.list(whose, user=user, before=before, limit=limit)

    async def broken_at(self, *, tenant: str | None = None) -> int | None:
        """The number of the first entry that was changed or taken out; None: the account is whole."""
        return await self._audit.broken_at(tenant_of(self._services, tenant))


def _id(key_id: UUID | str) -> UUID:
    try:
        return key_id if isinstance(key_id, UUID) else UUID(key_id)
    except ValueError:
        raise NotFound(f"there is no key {key_id!r}") from None
