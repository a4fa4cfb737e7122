"""Everything of one database into another: each tenant's export, restored.

A copy that was interrupted is begun again and goes on where it stopped. What is copied is compared in the end: both
databases must export the same lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from anaphora.errors import StoreError
from anaphora.ports.exchange import Scope
from anaphora.ports.store import Store
from anaphora.services.export import Export
from anaphora.services.importing.restore import Restore
from anaphora.services.importing.sources import source_of

_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What came of one tenant."""

    tenant: str
    sessions: int
    #: those that the other database did not have yet
    messages: int
    #: both databases export the same: False if the other one holds more
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """Copies between two databases."""

    #: where from
    store: Store
    export: Export
    #: where to
    other_export: Export
    restore: Restore

    async def copy(self, *, progress: Callable[[Copied], None] | None = None) -> AsyncGenerator[Copied]:
        """Copy tenant by tenant.

        Args:
            progress: told the totals of the tenant that is being copied.

        Raises:
            BadFile: the other database holds something else in one of the sessions; all others were copied.
            StoreError: a database failed, or the copy is not equal; what was written stays.

        """
        last = ""
        while tenants := await self.store.tenants(after=last, limit=_PAGE):
            for tenant in tenants:
                yield await self._copy(tenant, progress)
            last = tenants[-1]

    async def _copy(self, tenant: str, progress: Callable[[Copied], None] | None) -> Copied:
        scope = Scope(tenant=tenant)
        before = await self.other_export.finds(scope)
        digest = hashlib.sha256()

        async def noted() -> AsyncGenerator[str]:
            async with aclosing(self.export.lines(scope)) as lines:
                async for line in lines:
                    digest.update(line.encode())
                    yield line

        async with source_of(noted()) as source:
            report = await self.restore.restore(
                source,
                tenant=tenant,
                progress=progress
                and (
                    lambda so_far: progress(
                        Copied(tenant=tenant, sessions=so_far.sessions, messages=so_far.messages, equal=False)
                    )
                ),
            )
        equal = await self._digest(scope) == digest.digest()
        if not equal and not before:
            raise StoreError(f"the copy of tenant {tenant!r} is not equal: run `anaphora doctor` on both databases")
        return Copied(tenant=tenant, sessions=report.sessions, messages=report.messages, equal=equal)

    async def _digest(self, scope: Scope) -> bytes:
        digest = hashlib.sha256()
        async with aclosing(self.other_export.lines(scope)) as lines:
            async for line in lines:
                digest.update(line.encode())
        return digest.digest()
