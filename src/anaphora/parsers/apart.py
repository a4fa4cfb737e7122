"""Reading in a process of its own, which is ended when it takes too long or too much memory.

Nothing else ends what hangs over a file that was made to hang its reader: a thread goes on for ever, and holds the
interpreter of everybody else meanwhile. `parsers.reading` is what runs there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final, Literal

from anaphora.errors import InvalidInput, MissingExtra
from anaphora.ports.parsing import Parsed

Kind = Literal["pdf", "html"]

#: bytes of memory that reading may take
_MOST_MEMORY: Final = 2 << 30


def read(kind: Kind, data: bytes, name: str, *, max_pages: int, until: float) -> Parsed:
    """The text of a PDF or of a page of HTML.

    Args:
        kind: which of the two.
        data: the file.
        name: what to call it in errors.
        max_pages: a PDF with more pages is refused.
        until: by the monotonic clock, in seconds.

    Raises:
        InvalidInput: it is broken, encrypted, too long, or takes too long or too much memory.
        MissingExtra: the packages that read it are not installed.

    """
    if any(find_spec(package) is None for package in ("pypdf", "selectolax")):
        raise MissingExtra(f"reading {kind.upper()}", "documents")
    seconds = until - time.monotonic()
    asked = {"kind": kind, "name": name, "max_pages": max_pages, "seconds": seconds, "memory": _MOST_MEMORY}
    try:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "anaphora.parsers.reading"],
            input=json.dumps(asked).encode() + b"\n" + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            timeout=max(0.0, seconds),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"{name} takes too long to read (the setting knowledge.max_seconds)") from None
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read now: no process can be started ({error.strerror})") from None
    return _answer(ran.stdout, kind, name)


def environment() -> dict[str, str]:
    """Where the same packages are found, and nothing else: whoever reads a stranger's file is given no keys."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _answer(out: bytes, kind: Kind, name: str) -> Parsed:
    """What the process said; one that was ended said nothing, or stopped in the middle of it."""
    try:
        told: Mapping[str, Any] = json.loads(out)
    except ValueError:
        raise InvalidInput(f"{name} cannot be read: open it elsewhere and save it again") from None
    if "refused" in told:
        raise InvalidInput(told["refused"])
    return Parsed(text=told["text"], title=told["title"], kind=kind)
