"""Notepads, as a store keeps them: pages, the newest of which is what a notepad says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from anaphora.domain.notepad import Page
from anaphora.ports.rows import SessionRow


class Notepads(Protocol):
    """Pages of the notepads of one tenant. A notepad belongs to a user and an agent."""

    def alone(self, tenant: str, user: str, agent: str) -> None:
        """Nobody else changes this notepad until the end of the transaction."""
        ...

    def newest(self, tenant: str, user: str, agent: str) -> Page | None:
        """What the notepad says now, or None if nothing was ever written."""
        ...

    def get(self, tenant: str, user: str, agent: str, version: int) -> Page | None:
        """One version, or None if there is none of this number."""
        ...

    def history(self, tenant: str, user: str, agent: str, *, limit: int, before: int | None = None) -> Sequence[Page]:
        """Pages, newest first; with `before`, those with a smaller version number."""
        ...

    def insert(self, tenant: str, page: Page) -> bool:
        """Keep a page; False, and nothing kept, if its version is taken."""
        ...

    def forget(self, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        """A message of the session says nothing any more (None: all of them): leave nothing of what was made of it.

        Pages that were reflected from it go, and with them every later one that was made of such a page: reflected
        upon it, or bringing it back. A session that loses a page loses all of them: it is to be reflected upon anew,
        from its beginning. What the user wrote stays.

        Returns:
            The sessions whose reflections went, each once, the earliest first.

        """
        ...
