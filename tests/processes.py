"""Whether processes run, and waiting for what they do."""

from __future__ import annotations

import time
from collections.abc import Callable

from anaphora.storage.postgres.embedded.processes import command_of


def lives(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    return command_of(pid) != ""


def until(condition: Callable[[], bool], *, seconds: float = 20.0) -> None:
    """Return when it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.01)
