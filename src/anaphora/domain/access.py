"""Keys that let principals in, and the account of what was changed in whose name."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from anaphora.domain.keys import checked_id
from anaphora.domain.principals import Permission, Principal

_PREFIX: Final = "anaphora_"
#: bytes of a key that nobody can guess
SECRET_BYTES: Final = 32
#: no key that we made is longer
_MOST_CHARS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key, without what makes it one: that is shown once, and only its hash is kept."""

    id: UUID
    tenant: str
    #: None: of the tenant's operator
    user: str | None
    #: what it is for, in the words of whoever made it
    name: str
    permissions: frozenset[Permission]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    #: to the minute
    last_used_at: datetime | None = None

    def lets_in(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def principal(self) -> Principal:
        """Who comes with it."""
        return Principal(tenant=self.tenant, user=self.user, permissions=self.permissions, by=self.id.hex)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made, whole. It is never shown again."""

    key: str = field(repr=False)
    made: ApiKey


@dataclass(frozen=True, slots=True, kw_only=True)
class RawKey:
    """The parts of a key as it is sent."""

    tenant: str
    id: UUID
    secret: str = field(repr=False)

    def text(self) -> str:
        """The key as it is sent."""
        return f"{_PREFIX}{_encoded(self.tenant.encode())}.{self.id.hex}.{self.secret}"

    @classmethod
    def parse(cls, text: str) -> RawKey | None:
        """The parts of what somebody sent; None if no key of ours looks like that."""
        if not text.startswith(_PREFIX) or len(text) > _MOST_CHARS or not text.isascii():
            return None
        tenant, *rest = text.removeprefix(_PREFIX).split(".")
        if len(rest) != 2:
            return None
        try:
            name = base64.b64decode(tenant + "=" * (-len(tenant) % 4), altchars=b"-_", validate=True).decode()
            return cls(tenant=checked_id(name, "tenant"), id=UUID(hex=rest[0]), secret=rest[1])
        except (binascii.Error, ValueError):  # InvalidInput is a ValueError
            return None


def secret_text(randomness: bytes) -> str:
    """The part of a key that nobody can guess."""
    return _encoded(randomness)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change that somebody asked for. It holds nothing that anybody said; keyed hashes stand for names."""

    #: from 1, without holes
    number: int
    at: datetime
    #: a keyed hash of the user; None: the operator
    who: str | None
    #: the id of the key, "jwt" or "open"
    by: str
    #: the name of the route
    action: str
    #: ids as they are, and keyed hashes of names, by the names of the route's parameters
    about: Mapping[str, str]
    #: how it was answered, as an HTTP status
    status: int
    #: a keyed hash of the entry and of the seal before: a changed or missing entry breaks the chain
    seal: str
