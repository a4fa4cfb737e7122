"""The tests' side of the zygote: children and their notes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Child:
    """A forked process, not reaped yet: its number is its own until then."""

    pid: int
    out: Path

    def notes(self, word: str | None = None) -> list[list[str]]:
        """What it wrote, line by line, in words; only lines that begin with `word`, without it."""
        if not self.out.exists():
            return []
        lines = [line.split(" ") for line in self.out.read_text(encoding="utf-8").splitlines()]
        return lines if word is None else [line[1:] for line in lines if line[0] == word]

    def wait_for(self, word: str, *, count: int = 1, timeout: float = 20.0) -> None:
        """Until it has written so many lines that begin with `word`."""
        deadline = time.monotonic() + timeout
        while len(self.notes(word)) < count:
            assert time.monotonic() < deadline, f"never wrote {word!r}: {self.notes()[-3:]} {self.errors()}"
            time.sleep(0.002)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def errors(self) -> str:
        """What it wrote to standard error."""
        path = Path(f"{self.out}.err")
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def acked(self) -> dict[int, int]:
        """Acknowledged messages with their seqs."""
        return {int(number): int(seq) for number, seq in self.notes("ack")}

    @property
    def unanswered(self) -> list[int]:
        """Messages whose append had begun and not returned."""
        return sorted({int(number) for (number,) in self.notes("send")} - set(self.acked))


class Nursery:
    """Forks children from one zygote."""

    def __init__(self, zygote: subprocess.Popen[str], folder: Path) -> None:
        self._zygote = zygote
        self._folder = folder
        self._born = 0

    def start(self, program: str, *, hold: Path | None = None, **told: Any) -> Child:
        """A child that runs a program, at once or when a file appears at `hold`."""
        self._born += 1
        out = self._folder / f"{self._born}.{program}"
        pid = self._ask({"run": program, "out": str(out), "hold": str(hold) if hold else None, "told": told})
        return Child(pid=pid, out=out)

    def reap(self, child: Child, *, timeout: float = 30.0) -> int | None:
        """Wait for its end: the exit code, negative for a signal; None if it had to be ended."""
        code: int | None = self._ask({"reap": child.pid, "timeout": timeout})
        return code

    def run(self, program: str, **told: Any) -> Child:
        """A child that ends well."""
        child = self.start(program, **told)
        code = self.reap(child)
        assert code == 0, f"{program} ended with {code}: {child.errors()}"
        return child

    def _ask(self, command: dict[str, Any]) -> Any:
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.write(json.dumps(command) + "\n")
        self._zygote.stdin.flush()
        answer = self._zygote.stdout.readline()
        assert answer, f"the zygote is gone: {self._zygote.poll()}"
        return json.loads(answer)


@contextmanager
def open_nursery(folder: Path) -> Iterator[Nursery]:
    """Start a zygote; ended at the end."""
    command = [sys.executable, "-m", "tests.faults.zygote"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as zygote:
        yield Nursery(zygote, folder)
