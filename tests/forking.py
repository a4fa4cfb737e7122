"""A process that has imported everything and forks the others of a run: each costs milliseconds.

Both sides of the pipe between it and the tests: one JSON command a line, one JSON answer a line.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_THREADS = Path("/proc/self/task")
_LOOK = 0.002


# -- in the zygote -------------------------------------------------------------------------------------------------


def serve(late: Sequence[str], start: Callable[[Mapping[str, Any]], int]) -> None:
    """Answer until the input ends; then end everybody who is left.

    Args:
        late: modules that would otherwise be imported in every child.
        start: forks the child that the command `{"run": PROGRAM, ...}` asks for, and returns its number. The other
            command is `{"reap": PID, "timeout": SECONDS}`: the exit code, negative for a signal, null if it goes on.

    """
    for name in late:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    alive: set[int] = set()
    for line in sys.stdin:
        command = json.loads(line)
        if "run" in command:
            answer: int | None = start(command)
            alive.add(int(answer or 0))
        else:
            answer = reap(command["reap"], command["timeout"])
            alive -= set() if answer is None else {command["reap"]}
        print(json.dumps(answer), flush=True)
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def forked(body: Callable[[], int]) -> int:
    """The number of a new process that does this and ends with its result; forked while no other thread runs."""
    if threading.active_count() > 1 or (_THREADS.is_dir() and len(list(_THREADS.iterdir())) > 1):
        raise RuntimeError("the zygote has threads: a fork of it would be half a process")
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, perhaps, by whoever runs the tests
        code = body()
    except BaseException:  # noqa: BLE001 - nothing may get back into the zygote's own loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def redirect(out: str, errors: str) -> None:
    """Nothing to read; what is said, and what went wrong, into these files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    sources = (os.open(os.devnull, os.O_RDONLY), os.open(out, flags, 0o600), os.open(errors, flags, 0o600))
    for target, source in enumerate(sources):
        os.dup2(source, target)
        os.close(source)


def reap(child: int, timeout: float) -> int | None:
    """The exit code of a child, negative for a signal; None if it goes on."""
    deadline = time.monotonic() + timeout
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            return None
        time.sleep(_LOOK)


# -- in the tests --------------------------------------------------------------------------------------------------


class Zygote:
    """The one who is asked; several threads may."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lock = threading.Lock()

    def ask(self, command: Mapping[str, Any]) -> int | None:
        """Its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        assert answer, f"the zygote is gone: {self._process.poll()}"
        found: int | None = json.loads(answer)
        return found

    def kill(self, child: int) -> int | None:
        """End a child at once; its exit code: another than -9 if it had ended by itself before."""
        os.kill(child, signal.SIGKILL)
        return self.ask({"reap": child, "timeout": 10.0})


@contextmanager
def open_zygote(module: str) -> Iterator[Zygote]:
    """Run the module, which serves; whoever is left at the end is ended."""
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Zygote(process)
