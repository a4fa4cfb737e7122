"""Sessions that are out of sight, as a store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.ports.rows import SessionRow


class Expiry(Protocol):
    """The part of `ports.store.Sessions` that lets sessions expire."""

    def longest_unused(
        self, tenant: str, *, before: datetime | None, after: SessionRow | None, limit: int
    ) -> Sequence[SessionRow]:
        """Sessions in sight that were last used before that, or have a time of their own, the longest unused first.

        With `after`, those behind that one.
        """
        ...

    def expired(self, tenant: str, *, limit: int, user: str | None = None, first: bool = False) -> Sequence[SessionRow]:
        """Sessions out of sight, of one user or of all, the last that expired first; with `first`, the first."""
        ...

    def keep_for(self, tenant: str, session_id: UUID, days: float | None) -> None:
        """Note after how many silent days the session expires; None: after those of its agent."""
        ...

    def expire(self, row: SessionRow, *, now: datetime) -> None:
        """Put a session out of sight, and the facts that only sessions out of sight have told."""
        ...

    def revive(self, row: SessionRow, *, now: datetime | None = None) -> None:
        """Bring a session back into sight, with what it has told; `now`: as if it had been used then."""
        ...
