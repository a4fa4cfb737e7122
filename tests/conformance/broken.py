"""Stores that are broken on purpose: the real one behind a thin wrapper that does one thing wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from anaphora.domain.figures import Figures
from anaphora.domain.messages import Receipt
from anaphora.ports.rows import Append
from anaphora.ports.store import Store, Unit
from anaphora.storage.sqlite.store import open_sqlite
from anaphora.testing.conformance.store import StoreConformance

T = TypeVar("T")
Kind = TypeVar("Kind", bound="type[Broken]")


class Broken:
    """Fulfils `ports.store.Store` by doing what the real one does.

    A subclass breaks it: its methods stand in for those of the store, and a method `jobs_claim` stands in for
    `unit.jobs.claim`; it gets the real unit first.
    """

    #: the laws that must catch it
    laws: ClassVar[tuple[str, ...]] = ()

    def __init__(self, real: Store, folder: Path) -> None:
        self.real = real
        self.folder = folder

    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        """With which arguments the real store is opened."""
        return how

    @classmethod
    def where(cls, folder: Path) -> Path:
        """The file of a folder."""
        return folder / "memory.db"

    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        return await self.real.read(tenant, lambda unit: work(self.view(unit)))

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        return await self.real.write(tenant, lambda unit: work(self.view(unit)))

    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return await self.real.due_jobs(**how)

    async def due_documents(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return await self.real.due_documents(**how)

    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        return await self.real.tenants(after=after, limit=limit)

    async def unfinished(self, *, limit: int) -> Sequence[str]:
        return await self.real.unfinished(limit=limit)

    async def figures(self, *, stuck_before: datetime, with_model: bool, with_embedder: bool = True) -> Figures:
        return await self.real.figures(stuck_before=stuck_before, with_model=with_model, with_embedder=with_embedder)

    async def has_keys(self) -> bool:
        return await self.real.has_keys()

    async def due_count(self, **how: Any) -> int:
        return await self.real.due_count(**how)

    async def append(self, append: Append) -> Receipt:
        return await self.real.append(append)

    async def wait_for_work(self, timeout: float) -> None:
        await self.real.wait_for_work(timeout)

    async def secret(self) -> bytes:
        return await self.real.secret()

    async def close(self) -> None:
        await self.real.close()

    def view(self, unit: Unit) -> Unit:
        """The unit as this store shows it."""
        return cast("Unit", _View(unit, self))


class _View:
    def __init__(self, unit: Unit, store: Broken) -> None:
        self._unit = unit
        self._store = store

    def __getattr__(self, name: str) -> _Part:
        return _Part(self._unit, name, self._store)


class _Part:
    def __init__(self, unit: Unit, name: str, store: Broken) -> None:
        self._unit = unit
        self._name = name
        self._store = store

    def __getattr__(self, method: str) -> Callable[..., Any]:
        broken = getattr(self._store, f"{self._name}_{method}", None)
        if broken is not None:
            return partial(broken, self._unit)
        real: Callable[..., Any] = getattr(getattr(self._unit, self._name), method)
        return real


def caught_by(*laws: str) -> Callable[[Kind], Kind]:
    """Say which laws must catch a broken store."""

    def mark(broken: Kind) -> Kind:
        broken.laws = laws
        return broken

    return mark


class Suite(StoreConformance):
    """The laws, for a broken store."""

    def __init__(self, broken: type[Broken]) -> None:
        self._broken = broken

    @asynccontextmanager
    async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
        async with open_sqlite(self._broken.where(folder), **self._broken.how(how)) as real:
            yield self._broken(real, folder)
