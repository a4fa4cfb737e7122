"""`INSERT ... ON CONFLICT DO NOTHING`, which each database's dialect spells with its own construct."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_if_absent(table: sa.Table) -> Mapping[str, sa.Insert]:
    """The statement for each dialect, by its name; a row that breaks any unique key is left out silently."""
    return MappingProxyType(
        {
            "sqlite": sqlite.insert(table).on_conflict_do_nothing(),
            "postgresql": postgresql.insert(table).on_conflict_do_nothing(),
        }
    )
