"""Pauses as a store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from anaphora.domain.pauses import Pause


class Pauses(Protocol):
    """The pauses of the users of one tenant. At most one of a user lasts."""

    def lasting(self, tenant: str, user: str) -> Pause | None:
        """The user's pause that lasts, if one does."""
        ...

    def between(self, tenant: str, user: str, first: datetime, last: datetime) -> Sequence[Pause]:
        """The user's pauses in which a moment between these two may lie, the earliest first."""
        ...

    def begin(self, tenant: str, user: str, *, now: datetime) -> None:
        """Let a pause begin; nothing if one lasts."""
        ...

    def end(self, tenant: str, user: str, *, now: datetime) -> None:
        """Let the pause that lasts end; nothing if none does."""
        ...
