"""Which schema a database has; `migrations.run` brings it to the newest.

The revisions are named here so that a database that is up to date can be opened without loading Alembic.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

#: every revision there is, oldest first
REVISIONS: Final = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0013",
)

_CURRENT = sa.text("SELECT version_num FROM alembic_version")


def head() -> str:
    """The newest revision."""
    return REVISIONS[-1]


def current(connection: sa.Connection) -> str | None:
    """The database's revision; None if it has no schema of ours."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(_CURRENT).scalar_one_or_none()
