"""A process that has imported everything and forks children that run programs: a child costs milliseconds.

Children are forked while no other thread runs. Run as `python -m tests.faults.zygote`: it reads one JSON command a
line, `{"run": PROGRAM, "out": PATH, "hold": PATH, "told": {...}}` or `{"reap": PID, "timeout": SECONDS}`, and answers
each by a line. A child that is held does nothing until a file appears at that path.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from tests.faults import change_programs, commands, crowds, hosts, persisting, programs, writers
from tests.faults.programs import Told

PROGRAMS: Mapping[str, Callable[[Told], Any]] = {
    name: program
    for module in (change_programs, commands, crowds, hosts, persisting, programs, writers)
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


def serve() -> None:
    """Answer commands until the input ends."""
    for name in _LATE:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    alive: set[int] = set()
    for line in sys.stdin:
        command = json.loads(line)
        if "run" in command:
            child = _fork(command["run"], command["out"], command["hold"], command["told"])
            alive.add(child)
            answer: int | None = child
        else:
            answer = _reap(command["reap"], command["timeout"])
            alive.discard(command["reap"])
        print(json.dumps(answer), flush=True)
    for child in alive:
        _reap(child, 0.0)  # left by a test that failed


def _fork(program: str, out: str, hold: str | None, told: dict[str, Any]) -> int:
    threads = Path("/proc/self/task")
    alone = threading.active_count() == 1 and (not threads.is_dir() or len(list(threads.iterdir())) == 1)
    if not alone:
        raise RuntimeError("the zygote has threads: a fork of it would be half a process")
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        _redirect(out)
        while hold is not None and not Path(hold).exists():
            time.sleep(0.002)
        code = _run(PROGRAMS[program], Told(**told))
    except BaseException:  # noqa: BLE001 - nothing may get back into the zygote's own loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _run(program: Callable[[Told], Any], told: Told) -> int:
    """Run an async or an ordinary program; its exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, perhaps, by whoever runs the tests
    try:
        if inspect.iscoroutinefunction(program):
            anyio.run(program, told)
        else:
            program(told)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _redirect(out: str) -> None:
    """Standard output becomes the file of notes, standard error the file beside it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    notes, errors = os.open(out, flags, 0o600), os.open(f"{out}.err", flags, 0o600)
    for target, source in ((0, nothing), (1, notes), (2, errors)):
        os.dup2(source, target)
        os.close(source)


def _reap(child: int, timeout: float) -> int | None:
    """The exit code, negative for a signal; None if it had to be ended after the time-out."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    serve()
