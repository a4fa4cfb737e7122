"""The part of a memory that tells what changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from anaphora.bootstrap import Services
from anaphora.domain.changes import Change
from anaphora.memory.scope import tenant_of


class Listening:
    """What changes of a memory, as it changes."""

    _services: Services

    async def changes(
        self, *, user: str, since: str | None = None, tenant: str | None = None
    ) -> AsyncGenerator[Change]:
        """What changes of a user's memory, as it changes, until the memory is closed: which part and where, no content.

        Changes of other processes are seen too; all are within a second. Several of one part may come as one.

        Args:
            user: whose memory.
            since: the `mark` of the last change that was seen: first comes what changed after that. None: from now on.
            tenant: None = the configured default.

        """
        whose = tenant_of(self._services, tenant)
        async with aclosing(self._services.changes.listen(whose, user, since=since)) as changes:
            async for change in changes:
                yield change

    async def mark(self, *, user: str, tenant: str | None = None) -> str:
        """The mark of now: `changes` since then leave out nothing that changes from now on."""
        return await self._services.changes.mark(tenant_of(self._services, tenant), user)
