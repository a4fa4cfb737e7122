"""A child under `strace`, which kills it, or lets a call fail, at the N-th system call of a kind.

Calls are counted from the moment of attaching, each kind on its own, in each thread on its own.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.nursery import Child

#: what SQLite does to files; a kind that a system does not have begins with `?`
WRITE = "pwrite64"
READ = "pread64"
SYNC = "fsync,fdatasync"
CUT = "ftruncate"
REMOVE = "?unlink,unlinkat"

_ATTACHES = 10.0


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What was done to a child."""

    log: Path
    strace: subprocess.Popen[bytes]

    def lines(self) -> list[tuple[str, str]]:
        """Thread and call, in order."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        found = [line.partition(" ") for line in text.splitlines()]
        return [(thread, call.strip()) for thread, _, call in found]

    def killed_at(self, calls: str) -> int:
        """At its how-manieth call of those kinds the thread was that made the last one; 0 if nothing was killed."""
        lines = self.lines()
        if not any(what == "+++ killed by SIGKILL +++" for _, what in lines):
            return 0
        kinds = calls.replace("?", "").split(",")
        made = [thread for thread, what in lines if what.partition("(")[0] in kinds]
        return Counter(made)[made[-1]] if made else 0

    def failed(self, error: str) -> int:
        """How many calls were made to fail with that error."""
        return sum(what.endswith("(INJECTED)") and f" {error} " in what for _, what in self.lines())

    def stop(self) -> None:
        """Leave the child alone from now on."""
        self.strace.terminate()
        self.strace.wait()


@contextmanager
def traced(
    child: Child, log: Path, *, calls: Sequence[str], inject: Sequence[str], file: Path | None = None, thread: int = 0
) -> Iterator[Trace]:
    """Attach to a child that waits; it stays attached until `stop`, the child's end, or the end of the block.

    Args:
        child: a process that makes no call of those kinds yet.
        log: where the calls are written.
        calls: the kinds that are looked at.
        inject: what is done, as `strace --inject` takes it: `KINDS:signal=NAME:when=N`, `KINDS:error=NAME:when=N+`.
        file: only calls on this file; None: all.
        thread: only this one of the child's threads; 0: all.

    """
    program = shutil.which("strace")
    assert program is not None, "these tests need strace: `apt-get install strace`"
    said = Path(f"{log}.err")
    command = [program, "-a", "1", "-s", "0", "-o", str(log), "-e", f"trace={','.join(calls)}"]
    options = [word for what in inject for word in ("-e", f"inject={what}")]
    whom = ["-p", str(thread)] if thread else ["-f", "-p", str(child.pid)]
    options += [] if file is None else ["-P", str(file)]
    with (
        said.open("wb") as errors,
        subprocess.Popen([*command, *options, *whom], stderr=errors) as strace,
    ):
        trace = Trace(log=log, strace=strace)
        try:
            deadline = time.monotonic() + _ATTACHES
            while "attached" not in said.read_text():
                running = strace.poll() is None and time.monotonic() < deadline
                assert running, f"strace could not attach: {said.read_text()}"
                time.sleep(0.002)
            yield trace
        finally:
            trace.stop()
