"""The process that reads one file: a line that says how, then the file, come in; what was read goes out as JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from typing import Any

from anaphora.errors import InvalidInput
from anaphora.parsers import html, pdf

if sys.platform != "win32":
    import resource


def bounded(memory: int, seconds: float) -> None:
    """Take no more than that, also where nobody is left to end this; Windows has no such bounds.

    Args:
        memory: bytes.
        seconds: of processor time, about.

    """
    if sys.platform != "win32":
        ceiling = max(1, math.ceil(seconds) + 1)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (ceiling, ceiling))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Read, and say what was read or why it is refused."""
    asked = json.loads(sys.stdin.buffer.readline())
    until = time.monotonic() + asked["seconds"]
    bounded(asked["memory"], asked["seconds"])
    data, name = sys.stdin.buffer.read(), asked["name"]
    try:
        if asked["kind"] == "html":
            found = html.read(data, name)
        else:
            found = pdf.read(data, name, max_pages=asked["max_pages"], until=until)
    except InvalidInput as error:
        told: Mapping[str, Any] = {"refused": str(error)}
    else:
        told = {"text": found.text, "title": found.title}
    sys.stdout.buffer.write(json.dumps(told).encode())


if __name__ == "__main__":
    main()
