"""The tests' side of the zygote: children and their notes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forking import Zygote, open_zygote


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

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self._zygote = zygote
        self._folder = folder
        self._born = 0

    def start(self, program: str, *, hold: Path | None = None, **told: Any) -> Child:
        """A child that runs a program, at once or when a file appears at `hold`."""
        self._born += 1
        out = self._folder / f"{self._born}.{program}"
        pid = self._zygote.ask({"run": program, "out": str(out), "hold": str(hold) if hold else None, "told": told})
        return Child(pid=int(pid or 0), out=out)

    def reap(self, child: Child, *, timeout: float = 30.0) -> int | None:
        """Wait for its end: the exit code, negative for a signal; None if it had to be ended."""
        code = self._zygote.ask({"reap": child.pid, "timeout": timeout})
        if code is None:
            self._zygote.kill(child.pid)
        return code

    def run(self, program: str, **told: Any) -> Child:
        """A child that ends well."""
        child = self.start(program, **told)
        code = self.reap(child)
        assert code == 0, f"{program} ended with {code}: {child.errors()}"
        return child


@contextmanager
def open_nursery(folder: Path) -> Iterator[Nursery]:
    """Start a zygote; ended at the end."""
    with open_zygote("tests.faults.zygote") as zygote:
        yield Nursery(zygote, folder)
