"""Forks children that run programs.

Run as `python -m tests.faults.zygote`; `{"run": PROGRAM, "out": PATH, "hold": PATH, "told": {...}}` starts one. A child
that is held does nothing until a file appears at that path.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from tests.faults import archiving, change_programs, commands, crowds, hosts, persisting, programs, writers
from tests.faults.programs import Told
from tests.forking import forked, redirect, serve

PROGRAMS: Mapping[str, Callable[[Told], Any]] = {
    name: program
    for module in (archiving, change_programs, commands, crowds, hosts, persisting, programs, writers)
    for name, program in module.PROGRAMS.items()
}
#: what would otherwise be imported in every child
_LATE = (
    "anaphora.cli.importing",
    "anaphora.cli.managing",
    "anaphora.cli.reading",
    "anaphora.cli.working",
    "anaphora.models.chat",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "anyio._backends._asyncio",
    "anaphora.storage.postgres.store",
    "anaphora.storage.postgres.upkeep",
    "anaphora.storage.migrations.run",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite",
)


def start(command: Mapping[str, Any]) -> int:
    """A child that runs a program, at once or when a file appears."""

    def body() -> int:
        # standard output is the file of notes, standard error the file beside it
        redirect(command["out"], f"{command['out']}.err")
        while command["hold"] is not None and not Path(command["hold"]).exists():
            time.sleep(0.002)
        return _run(PROGRAMS[command["run"]], Told(**command["told"]))

    return forked(body)


def _run(program: Callable[[Told], Any], told: Told) -> int:
    """Run an async or an ordinary program; its exit code."""
    try:
        if inspect.iscoroutinefunction(program):
            anyio.run(program, told)
        else:
            program(told)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    serve(_LATE, start)
