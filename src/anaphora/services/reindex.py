"""After a change of the embedder: give everything that was said vectors of the new one, and forget those of the old."""

from __future__ import annotations

from collections.abc import Sequence
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
        """Queue work for every session and every document of the tenant that lacks vectors; how many.

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
                return planned + await self._plan_documents(tenant, space)
            after = last

    async def _plan_documents(self, tenant: str, space: Space) -> int:
        """Every document with chunks that have no vectors waits for them; how many."""
        planned = 0
        after: UUID | None = None
        while True:
            found = await self.store.write(
                tenant, partial(self._some_documents, tenant=tenant, space=space, after=after)
            )
            self.failpoint("reindex.documents_planned")
            planned += len(found)
            if len(found) < _AT_A_TIME:
                return planned
            after = found[-1]

    def _some_documents(self, unit: Unit, *, tenant: str, space: Space, after: UUID | None) -> Sequence[UUID]:
        found = unit.documents.behind(tenant, space, after=after, limit=_AT_A_TIME)
        now = self.clock.now()
        for document_id in found:
            unit.documents.plan(tenant, document_id, now=now)
        return found

    async def forget(self, tenant: str) -> int:
        """Drop the vectors of every other embedder; of how many messages.

        Raises:
            ConfigError: there is no embedder.
            ModelError: a remote one does not say how long its vectors are.

        """
        space, gone = await self._space(), 0
        while True:
            count = await self.store.write(tenant, partial(_forget_some, tenant=tenant, space=space))
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


def _forget_some(unit: Unit, *, tenant: str, space: Space) -> int:
    """Vectors of messages, then of documents; fewer than were asked for when there are no more."""
    gone = unit.embedding.forget_others(tenant, space, limit=_AT_A_TIME)
    return gone if gone == _AT_A_TIME else gone + unit.documents.forget_others(tenant, space, limit=_AT_A_TIME - gone)
