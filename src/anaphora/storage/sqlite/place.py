"""Where a database lies: whoever takes its file away should not be acknowledged into what nobody finds again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anaphora.errors import StoreError


@dataclass(frozen=True, slots=True)
class Place:
    """The file that was opened: under which path, and which one it was."""

    #: None: in memory
    path: Path | None
    file: tuple[int, int] | None = None

    @classmethod
    def of(cls, path: Path | None) -> Place:
        """Where the file lies that is open now."""
        # named once: the process may go to another folder
        return cls(None) if path is None else cls(path.absolute(), _file(path.absolute()))

    def check(self) -> None:
        """Look whether it lies there still. Takes microseconds.

        Raises:
            StoreError: it does not, or another one does.

        """
        if self.path is None:
            return
        found = _file(self.path)
        if found is None or found != self.file:
            raise StoreError(
                "the file of the database was moved, replaced or deleted: put it back, or open the database again"
            )


def _file(path: Path) -> tuple[int, int] | None:
    """Which one lies there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
