"""Tests that run on every database: which one it is now, and where it is for a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.databases.postgres import database_of
from tests.databases.sqlite import fresh

SQLITE, POSTGRES = "sqlite", "postgresql"


@dataclass(slots=True)
class _Chosen:
    name: str = SQLITE


_chosen = _Chosen()


def chosen() -> str:
    """The kind of the databases of folders now."""
    return _chosen.name


@contextmanager
def on(name: str) -> Iterator[None]:
    """Within the block the databases of folders are of this kind."""
    before, _chosen.name = _chosen.name, name
    try:
        yield
    finally:
        _chosen.name = before


async def database(folder: Path) -> Mapping[str, str]:
    """The settings that name the database of the folder. The server of the tests does not wait for its disk."""
    if _chosen.name == SQLITE:
        return {"db": str(fresh(folder / "memory.db"))}
    return {"db": await database_of(folder), "durability": "normal"}
