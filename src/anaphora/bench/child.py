"""The side of a process that a question starts: one JSON object a line, told on stdin, answered on stdout.

Little is loaded here, so that a process that measures how fast it starts is not slowed down by it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from anaphora.errors import AnaphoraError


def hear() -> Mapping[str, Any]:
    """What the parent says next; empty if it says no more."""
    line = sys.stdin.readline()
    heard: Mapping[str, Any] = json.loads(line) if line.strip() else {}
    return heard


def tell(document: Mapping[str, Any]) -> None:
    """Answer the parent, on the stdout that the process was started with."""
    stdout = sys.__stdout__ or sys.stdout
    stdout.write(json.dumps(document) + "\n")
    stdout.flush()


def serve(work: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> int:
    """Hear, work, tell; what went wrong is one line on stderr. The exit code."""
    try:
        tell(work(hear()))
    except (AnaphoraError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
