"""Notepads as the public API shows them."""

from __future__ import annotations

from collections.abc import Sequence

from anaphora.bootstrap import Services
from anaphora.domain.notepad import Page
from anaphora.memory.scope import tenant_of


class NotepadView:
    """What agents note of their sessions with users. Each user has a notepad with each agent."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._notepads = services.notepads

    async def show(self, *, user: str, agent: str | None = None, tenant: str | None = None) -> Page | None:
        """What the notepad says: its newest page. None if nothing was ever written.

        Args:
            user: of whom it is.
            agent: with whom; None = the configured default.
            tenant: None = the configured default.

        """
        return await self._notepads.show(tenant_of(self._services, tenant), user, self._agent(agent))

    async def history(
        self,
        *,
        user: str,
        agent: str | None = None,
        limit: int = 20,
        before: int | None = None,
        tenant: str | None = None,
    ) -> Sequence[Page]:
        """Every page, newest first: what was noted, by whom, and from which messages.

        Args:
            user: of whom it is.
            agent: with whom; None = the configured default.
            limit: 1 to 1000.
            before: those before this version, for the next page.
            tenant: None = the configured default.

        """
        return await self._notepads.history(
            tenant_of(self._services, tenant), user, self._agent(agent), limit=limit, before=before
        )

    async def edit(self, text: str, *, user: str, agent: str | None = None, tenant: str | None = None) -> Page:
        """Write the next page as the user wants it; an empty text takes everything out.

        Raises:
            InvalidInput: it is longer than a page may be (`notepad.tokens`); nothing was changed.

        """
        return await self._notepads.edit(tenant_of(self._services, tenant), user, self._agent(agent), text)

    async def revert(self, version: int, *, user: str, agent: str | None = None, tenant: str | None = None) -> Page:
        """Write an earlier page again, as the next one.

        Raises:
            NotFound: there is no such version.
            InvalidInput: it is the newest; nothing was changed.

        """
        return await self._notepads.revert(tenant_of(self._services, tenant), user, self._agent(agent), version)

    def _agent(self, agent: str | None) -> str:
        return self._services.settings.agent if agent is None else agent
