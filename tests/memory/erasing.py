"""A memory full of canaries, and where they are looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio.to_thread
from tests.databases.chosen import database
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.bootstrap.maintenance import diagnose
from anaphora.bootstrap.residue import verify_erasure
from anaphora.settings import Settings

#: turns of a session: enough for a summary and a chunk
TURNS = 12
OPTIONS: Mapping[str, Any] = {
    "extraction": "batch",
    "batch_extraction": {"threshold": 4, "batch": 6},
    "notepad": {"enabled": "all"},
}


def canary(user: str, session: str, turn: int) -> str:
    return f"zz{user}{session}canary{turn:02}"


async def fill(memory: Memory, user: str, *sessions: str, turns: int = TURNS, strategy: str | None = None) -> None:
    """Sessions of which everything is made that can be."""
    for name in sessions:
        chat = memory.session(user=user, session=name, strategy=strategy)
        for turn in range(turns):
            word = canary(user, name, turn)
            await chat.add("user", f"I am allergic to {word} since {1990 + turn}.", key=f"{turn}")
            await chat.add("assistant", f"Noted: {word}.")
        await chat.end()
    await memory.work()


async def settings_of(folder: Path) -> Settings:
    where: Mapping[str, Any] = await database(folder)
    return Settings(**where)


async def found(folder: Path, texts: Sequence[str]) -> list[str]:
    """Where any of the texts is, in rows, in indexes and, of a file, in bytes."""
    settings = await settings_of(folder)
    verified = await anyio.to_thread.run_sync(verify_erasure, settings, texts)
    return [f"{one.place} ({one.form}, {one.count})" for one in verified.residues]


async def broken(folder: Path) -> list[str]:
    """Promises that the database does not keep."""
    settings = await settings_of(folder)
    diagnosis = await anyio.to_thread.run_sync(lambda: diagnose(settings, stuck_seconds=3600.0))
    return [f"{check.id}: {check.detail}" for check in diagnosis.checks if not (check.ok or check.warning)]


async def exported(memory: Memory, user: str | None = None) -> list[str]:
    return [line async for line in memory.export(user=user)]


def of_export(lines: Sequence[str]) -> Sequence[str]:
    """All but the footer: what it counts is in the other lines."""
    return lines[:-1]


__all__ = ["OPTIONS", "TURNS", "broken", "canary", "exported", "fill", "found", "of_export", "opened"]
