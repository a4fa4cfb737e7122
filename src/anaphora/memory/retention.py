"""How long sessions are kept, as the public API shows it."""

from __future__ import annotations

from collections.abc import Sequence

from anaphora.bootstrap import Services
from anaphora.domain.keys import SessionKey
from anaphora.memory.scope import tenant_of
from anaphora.ports.rows import SessionRow
from anaphora.rules.retention import Retention
from anaphora.services.retention import Swept


class RetentionView:
    """How long sessions are kept that nobody uses: first out of sight, then erased."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._retain = services.retain

    def policy(self) -> Retention:
        """What is configured."""
        return self._retain.policy

    async def expired(
        self, *, user: str | None = None, limit: int = 50, tenant: str | None = None
    ) -> Sequence[SessionRow]:
        """Sessions that are out of sight and can be brought back, the last that expired first.

        Args:
            user: only this user's; None = everybody's.
            limit: 1 to 1000.
            tenant: None = the configured default.

        """
        return await self._retain.expired(tenant_of(self._services, tenant), user=user, limit=limit)

    async def keep(
        self, days: float | None, *, user: str, session: str, agent: str | None = None, tenant: str | None = None
    ) -> None:
        """Keep one session for so many silent days; None: for as long as its agent's are kept.

        Raises:
            NotFound: no such session.
            InvalidInput: that is no number of days.

        """
        await self._retain.keep(self._key(user, session, agent, tenant), days)

    async def restore(self, *, user: str, session: str, agent: str | None = None, tenant: str | None = None) -> None:
        """Bring an expired session back, as if it had been used now.

        Raises:
            NotFound: it is not there any more, or has not expired.

        """
        await self._retain.bring_back(self._key(user, session, agent, tenant))

    async def run(self, *, tenant: str | None = None) -> Swept:
        """Let expire what is due, and erase what was out of sight for long enough; workers do it every minute."""
        return await self._retain.run(tenant_of(self._services, tenant))

    def _key(self, user: str, session: str, agent: str | None, tenant: str | None) -> SessionKey:
        agent = self._services.settings.agent if agent is None else agent
        return SessionKey(tenant=tenant_of(self._services, tenant), user=user, agent=agent, session=session)
