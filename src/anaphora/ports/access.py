"""Keys and the audit as a store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.access import ApiKey, AuditEntry


class ApiKeys(Protocol):
    """The keys of one tenant."""

    def any(self) -> bool:
        """Whether any tenant has a key; asked in a transaction that sees all of them."""
        ...

    def insert(self, key: ApiKey, kept: str) -> None:
        """Keep a key, with the hash of what makes it one."""
        ...

    def get(self, tenant: str, key_id: UUID) -> tuple[ApiKey, str] | None:
        """A key with its hash."""
        ...

    def list(self, tenant: str, *, user: str | None = None, limit: int) -> Sequence[ApiKey]:
        """Keys, the newest first; with `user`, only of this one."""
        ...

    def revoke(self, tenant: str, key_id: UUID, *, now: datetime) -> bool:
        """Let it let nobody in any more; False if that is so already, or it is not there."""
        ...

    def expire(self, tenant: str, key_id: UUID, *, at: datetime) -> None:
        """Let it end then, unless it ends earlier."""
        ...

    def used(self, tenant: str, key_id: UUID, *, now: datetime) -> None:
        """Note when it was used last."""
        ...


class Audit(Protocol):
    """The account of one tenant: entries are added, and stay."""

    def last(self, tenant: str) -> AuditEntry | None:
        """The newest entry. Nobody else adds one until the end of the transaction."""
        ...

    def insert(self, tenant: str, entry: AuditEntry) -> None:
        """Add an entry."""
        ...

    def list(
        self, tenant: str, *, who: str | None = None, before: int | None = None, limit: int
    ) -> Sequence[AuditEntry]:
        """Entries, the newest first; with `who`, of this one; with `before`, those with smaller numbers."""
        ...

    def chain(self, tenant: str, *, start: int, limit: int) -> Sequence[AuditEntry]:
        """Entries from a number on, in order."""
        ...
