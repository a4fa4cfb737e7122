"""The tests' side of the zygote: processes that are started, killed, replaced, and asked how they ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.chaos.told import Told

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Child:
    """A process that was not reaped yet: its number is its own until then."""

    pid: int
    out: Path

    def said(self) -> str:
        """Everything that it wrote."""
        return self.out.read_text(encoding="utf-8") if self.out.exists() else ""


class Family:
    """Starts and ends processes; several threads may ask."""

    def __init__(self, zygote: subprocess.Popen[str], folder: Path) -> None:
        self._zygote = zygote
        self._folder = folder
        self._lock = threading.Lock()
        self._born = 0

    def start(self, program: str, told: Told) -> Child:
        """A new process."""
        with self._lock:
            self._born += 1
            out = self._folder / f"{self._born}.{program}"
            pid = self._ask({"run": program, "out": str(out), "told": asdict(told)})
        return Child(pid=int(pid or 0), out=out)

    def kill(self, child: Child) -> int | None:
        """End it at once; its exit code: another than -9 if it had ended by itself before."""
        os.kill(child.pid, signal.SIGKILL)
        return self.reap(child, timeout=10)

    def reap(self, child: Child, *, timeout: float) -> int | None:
        """Its exit code; None if it goes on."""
        with self._lock:
            return self._ask({"reap": child.pid, "timeout": timeout})

    def _ask(self, command: dict[str, Any]) -> int | None:
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.write(json.dumps(command) + "\n")
        self._zygote.stdin.flush()
        answer = self._zygote.stdout.readline()
        assert answer, f"the zygote is gone: {self._zygote.poll()}"
        found: int | None = json.loads(answer)
        return found


@contextmanager
def open_family(folder: Path) -> Iterator[Family]:
    """Start a zygote; whoever is left at the end is ended."""
    command = [sys.executable, "-m", "tests.chaos.zygote"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as zygote:
        yield Family(zygote, folder)
