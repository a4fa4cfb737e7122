"""The tests' side of the zygote: processes that are started, killed, replaced, and asked how they ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from tests.chaos.told import Told
from tests.forking import Zygote, open_zygote


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

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self._zygote = zygote
        self._folder = folder
        self._born = count(1)

    def start(self, program: str, told: Told) -> Child:
        """A new process."""
        out = self._folder / f"{next(self._born)}.{program}"
        pid = self._zygote.ask({"run": program, "out": str(out), "told": asdict(told)})
        return Child(pid=int(pid or 0), out=out)

    def kill(self, child: Child) -> int | None:
        """End it at once; its exit code: another than -9 if it had ended by itself before."""
        return self._zygote.kill(child.pid)

    def reap(self, child: Child, *, timeout: float) -> int | None:
        """Its exit code; None if it goes on."""
        return self._zygote.ask({"reap": child.pid, "timeout": timeout})


@contextmanager
def open_family(folder: Path) -> Iterator[Family]:
    """Start a zygote; whoever is left at the end is ended."""
    with open_zygote("tests.chaos.zygote") as zygote:
        yield Family(zygote, folder)
