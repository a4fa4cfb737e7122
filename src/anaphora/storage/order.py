"""The order of names: by code points, as SQLite and Python have it, whatever a server's locale says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

#: databases that must be told
_COLLATIONS: Mapping[str, str] = MappingProxyType({"postgresql": "C"})


def by_code_points(column: sa.ColumnElement[Any], dialect: str) -> sa.ColumnElement[Any]:
    """The column, compared and ordered by code points."""
    collation = _COLLATIONS.get(dialect)
    return column if collation is None else sa.collate(column, collation)
