"""Where a command that measures keeps what it makes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch(db: str | None) -> Iterator[str]:
    """The database that is named, or a file that is gone at the end."""
    if db is not None:
        yield db
        return
    with tempfile.TemporaryDirectory(prefix="anaphora-eval-") as folder:
        yield str(Path(folder) / "eval.db")
