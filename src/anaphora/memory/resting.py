"""The part of a memory that lets it rest."""

from __future__ import annotations

from datetime import datetime

from anaphora.bootstrap import Services
from anaphora.memory.scope import tenant_of


class Resting:
    """Pauses of the memories of users."""

    _services: Services

    async def pause(self, *, user: str, tenant: str | None = None) -> datetime:
        """Let the memory of a user rest; since when it does. Twice is harmless.

        What is said meanwhile stays in its own conversation, and is never learned from: no fact, no page of a notepad.
        Prompts hold nothing of other conversations, no facts and no notepad.
        """
        return await self._services.pausing.pause(tenant_of(self._services, tenant), user)

    async def resume(self, *, user: str, tenant: str | None = None) -> bool:
        """Let it go on; False if it did not rest."""
        return await self._services.pausing.resume(tenant_of(self._services, tenant), user)

    async def paused(self, *, user: str, tenant: str | None = None) -> datetime | None:
        """Since when the memory of a user rests; None: it does not."""
        lasting = await self._services.pausing.lasting(tenant_of(self._services, tenant), user)
        return None if lasting is None else lasting.started_at
