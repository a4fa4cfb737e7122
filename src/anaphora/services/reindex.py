"""After a change of the embedder: give everything that was said vectors of the new one, and forget those of the old."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import anyio.to_thread

from anaphora.domain.vectors import Space
from anaphora.errors import ConfigError
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import Embedder
from anaphora.ports.store import Store, Unit
from anaphora.services.planning import Planning
from anaphora.services.retrieve import space_of

#: sessions, or messages, that are handled in one transaction
_AT_A_TIME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindex:
    """Plans the vectors that are missing. Until they are there, search goes by words and by the vectors there are."""

    store: Store
    planning: Planning
    embedder: Embedder | None
    clock: Clock
    failpoint: Failpoint

    async def plan(self, tenant: str) -> int:
        """Queue a job for every session of the tenant with messages that have no vectors; how many sessions.

        Raises:
            ConfigError: there is no embedder.
            ModelError: a remote one does not say how long its vectors are.

        """
        space, planned = await self._space(), 0
        after: UUID | None = None
        while True:
            last, count = await self.store.write(tenant, partial(self._some, tenant=tenant, space=space, after=after))
            self.failpoint("reindex.planned")
            planned += count
            if last is None:
                return planned
            after = last

    async def forget(self, tenant: str) -> int:
        """Drop the vectors of every other embedder; of how many messages.

        Raises:
            ConfigError: there is no embedder.
            ModelError: a remote one does not say how long its vectors are.

        """
        space, gone = await self._space(), 0
        while True:
            count = await self.store.write(
                tenant, lambda unit: unit.embedding.forget_others(tenant, space, limit=_AT_A_TIME)
            )
            self.failpoint("reindex.forgotten")
            gone += count
            if count < _AT_A_TIME:
                return gone

    def _some(self, unit: Unit, *, tenant: str, space: Space, after: UUID | None) -> tuple[UUID | None, int]:
        """Some sessions; the last of them, None if there are no more behind it."""
        rows = unit.embedding.behind(tenant, space, after=after, limit=_AT_A_TIME)
        now = self.clock.now()
        for row in rows:
            self.planning.plan_embed(unit, row, now=now)
        return (rows[-1].id if len(rows) == _AT_A_TIME else None), len(rows)

    async def _space(self) -> Space:
        if self.embedder is None:
            raise ConfigError("there is no embedder: run `anaphora models pull`, or set `embedder` to a remote one")
        return await anyio.to_thread.run_sync(space_of, self.embedder, abandon_on_cancel=True)
