"""A process that has imported everything and forks the others of a run: one that is killed is replaced in no time.

Run as `python -m tests.chaos.zygote`. It reads one JSON command a line, `{"run": PROGRAM, "out": PATH, "told": {...}}`
or `{"reap": PID, "timeout": SECONDS}`, and answers each by a line: the number of the process, or its exit code,
negative for a signal, null if it has not ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import anyio
from tests.chaos.client import client
from tests.chaos.told import Told

from anaphora.cli import main

_LATE = (
    "anaphora.cli.operating",
    "anaphora.cli.working",
    "anaphora.models.chat",
    "anaphora.storage.migrations.run",
    "anaphora.storage.postgres.store",
    "anaphora.storage.postgres.upkeep",
    "anyio._backends._asyncio",
    "openai.resources.chat.completions",
    "sqlalchemy.dialects.postgresql",
)


def command(told: Told) -> int:
    """One command of ours."""
    os.environ.update(told.environment)
    return main(told.words)


def serve() -> None:
    """Answer until the input ends; then end everybody who is left."""
    for name in _LATE:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    alive: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "run" in asked:
            answer = _fork(asked["run"], asked["out"], Told(**asked["told"]))
            alive.add(answer)
            print(json.dumps(answer), flush=True)
        else:
            code = _reap(asked["reap"], asked["timeout"])
            alive -= set() if code is None else {asked["reap"]}
            print(json.dumps(code), flush=True)
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _fork(program: str, out: str, told: Told) -> int:
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("the zygote has threads: a fork of it would be half a process")
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        _redirect(out)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if program == "client":
            anyio.run(client, told)
            code = 0
        else:
            code = command(told)
    except BaseException:  # noqa: BLE001 - nothing may get back into the zygote's own loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(out: str) -> None:
    """Everything that is said goes into one file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    said: Any = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, nothing), (1, said), (2, said)):
        os.dup2(source, target)


def _reap(child: int, timeout: float) -> int | None:
    deadline = time.monotonic() + timeout
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.005)


if __name__ == "__main__":
    serve()
