"""What the tables of the schema are made of."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa

from anaphora.storage.types import UtcTime

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def tenant_column() -> sa.Column[str]:
    """Whose row it is: the first column of every key."""
    return sa.Column("tenant_id", sa.Text, nullable=False)


def uuid_column(name: str, *, nullable: bool = False) -> sa.Column[UUID]:
    """An id that the client made."""
    return sa.Column(name, sa.Uuid, nullable=nullable)


def time_column(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    """An aware time."""
    return sa.Column(name, UtcTime(), nullable=nullable)


def text_column(name: str, *, nullable: bool = False) -> sa.Column[str]:
    """A text of any length."""
    return sa.Column(name, sa.Text, nullable=nullable)


def one_of(column: str, values: Iterable[StrEnum]) -> sa.CheckConstraint:
    """The column holds one of the values."""
    quoted = ", ".join(f"'{value.value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({quoted})", name=column)


def of_session_key() -> sa.ForeignKeyConstraint:
    """The row goes with its session."""
    return sa.ForeignKeyConstraint(
        ["tenant_id", "session_uid"], ["sessions.tenant_id", "sessions.id"], ondelete="CASCADE"
    )
