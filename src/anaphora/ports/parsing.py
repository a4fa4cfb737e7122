"""What we need of whoever reads files."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The text of a file."""

    text: str
    #: what the file calls itself; None if it does not say
    title: str | None
    #: "text", "markdown", "html" or "pdf"
    kind: str


class Parser(Protocol):
    """Makes text of files. Both methods block: run them in a thread."""

    def read(self, path: str | PathLike[str]) -> Parsed:
        """The text of a file on this machine.

        Raises:
            InvalidInput: there is no such file, it is none, or `parse` would refuse it.
            MissingExtra: the packages for its kind are not installed.

        """
        ...

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text of a file whose name says what kind it is; without a name it is known by its first bytes.

        Raises:
            InvalidInput: it is too large, takes too long, is broken, encrypted, binary, or holds no text.
            MissingExtra: the packages for its kind are not installed.

        """
        ...
