"""What the system says about a process: its command and its children. No process is touched here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

if sys.platform == "linux":

    def command_of(pid: int) -> str:
        """The words of a running process, joined by spaces; empty when there is none, or it only waits to be reaped."""
        return os.fsdecode(_read(Path("/proc", str(pid), "cmdline")).rstrip(b"\0").replace(b"\0", b" "))

    def children_of(pid: int) -> list[int]:
        """The processes that `pid` started and that have not been reaped yet."""
        # the second field is a name in brackets, which may hold anything; the parent is the second one after it
        stats = {
            path.parent.name: _read(path).rpartition(b")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")
        }
        return [int(name) for name, fields in stats.items() if len(fields) > 1 and int(fields[1]) == pid]

    def _read(path: Path) -> bytes:
        """What a file of the system says; empty when its process is gone."""
        try:
            return path.read_bytes()
        except OSError:
            return b""

else:

    def command_of(pid: int) -> str:
        """The words of a running process, joined by spaces; empty when there is none."""
        return _ps("-ww", "-o", "args=", "-p", str(pid)).strip()

    def children_of(pid: int) -> list[int]:
        """The processes that `pid` started and that have not been reaped yet."""
        pairs = (line.split() for line in _ps("-A", "-o", "pid=,ppid=").splitlines())
        return [int(child) for child, parent in pairs if int(parent) == pid]

    def _ps(*words: str) -> str:
        run = subprocess.run(  # noqa: S603 -- every word of the command is ours, and no shell reads it
            ("/bin/ps", *words), capture_output=True, text=True, errors="replace", check=False
        )
        return run.stdout
