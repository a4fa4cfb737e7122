"""How safe a database's commits are, in its own words."""

from __future__ import annotations

from typing import Any

_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def durability(connection: Any) -> str:  # noqa: ANN401 - of sqlite3, or of a package that is like it
    """What a connection says of its commits."""
    synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
    journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return f"synchronous {_SYNCHRONOUS.get(synchronous, synchronous)}, journal {journal}"
