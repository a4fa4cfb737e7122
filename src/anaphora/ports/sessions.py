"""Conversations in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.keys import SessionKey
from anaphora.ports.retention import Expiry
from anaphora.ports.rows import SessionRow


class Sessions(Expiry, Protocol):
    """Sessions of one tenant at a time; every method takes the whole key or the tenant."""

    def find(self, key: SessionKey, *, hidden: bool = False) -> SessionRow | None:
        """The session, or None; one that is out of sight is none, unless it is looked for too (`hidden`)."""
        ...

    def get(self, tenant: str, session_id: UUID) -> SessionRow | None:
        """The session with this id in this tenant, or None."""
        ...

    def lock(self, key: SessionKey) -> SessionRow | None:
        """The session, or None; nobody else changes it until the end of the transaction."""
        ...

    def create(
        self, key: SessionKey, *, session_id: UUID, strategy: str | None, subject: str | None, now: datetime
    ) -> SessionRow:
        """The session, made if it is not there."""
        ...

    def next_number(self, tenant: str, user: str, agent: str) -> int:
        """One more than the highest session name of this user and agent that is a number."""
        ...

    def list(
        self,
        tenant: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        limit: int = 50,
        before: SessionRow | None = None,
    ) -> Sequence[SessionRow]:
        """The newest first, by last activity; with `before`, those that come behind that one."""
        ...

    def set_ended(self, tenant: str, session_id: UUID, *, ended_at: datetime | None) -> None:
        """Mark as ended, or open again."""
        ...

    def reset(self, tenant: str, session_id: UUID, *, now: datetime) -> int:
        """Delete every message and everything derived, raise the epoch; how many messages went."""
        ...
