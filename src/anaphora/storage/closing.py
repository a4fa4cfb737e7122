"""Stores that are closed when their block ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anaphora.ports.store import Store


@asynccontextmanager
async def closing_store(store: Store) -> AsyncIterator[None]:
    """Close the store at the end, whatever happens in the block."""
    try:
        yield
    finally:
        await store.close()
