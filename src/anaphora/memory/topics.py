"""Topics as the public API shows them."""

from __future__ import annotations

from collections.abc import Sequence

from anaphora.bootstrap import Services
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message
from anaphora.domain.topics import Segment
from anaphora.memory.scope import tenant_of


class TopicsView:
    """What sessions of the strategy `topics` are cut into."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def list(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        limit: int = 50,
    ) -> Sequence[Segment]:
        """Topics, newest first: of one session (which needs its user), or of the sessions that were last used.

        Args:
            user: only theirs.
            agent: only with this agent; for a session, the configured one.
            session: only this conversation.
            tenant: whose store.
            limit: how many at most, 1 to 1,000.

        Raises:
            InvalidInput: a limit out of range, or a name that cannot be one.

        """
        where = tenant_of(self._services, tenant)
        if session is None:
            return await self._services.segments.list(where, user=user, agent=agent, limit=limit)
        return await self._services.segments.of_session(self._key(where, user or "", agent, session), limit=limit)

    async def show(
        self, seq: int, *, user: str, session: str, agent: str | None = None, tenant: str | None = None
    ) -> tuple[Segment, Sequence[Message]]:
        """The topic that holds a message of the session, and all messages of it that are not deleted.

        Raises:
            NotFound: no such message, or the session keeps no topics.

        """
        key = self._key(tenant_of(self._services, tenant), user, agent, session)
        return await self._services.segments.holding(key, seq)

    def _key(self, tenant: str, user: str, agent: str | None, session: str) -> SessionKey:
        return SessionKey(tenant=tenant, user=user, agent=agent or self._services.settings.agent, session=session)
