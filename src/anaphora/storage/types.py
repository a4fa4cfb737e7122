"""Column types that mean the same on every database."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.errors import InvalidInput

#: a row of any columns
AnyRow: TypeAlias = "sa.Row[*tuple[Any, ...]]"


class UtcTime(sa.types.TypeDecorator[datetime]):
    """An aware time, kept in UTC.

    On SQLite it is the text `YYYY-MM-DDTHH:MM:SS.ffffffZ`, which sorts by time and which people can read; on
    PostgreSQL it is `timestamptz`. A naive time raises `InvalidInput`.
    """

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """The type on this database."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))
        return dialect.type_descriptor(sa.Text())

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | str | None:
        """The time as the database keeps it."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise InvalidInput("a time without a time zone cannot be stored: give it one, such as UTC")
        if dialect.name == "postgresql":
            return value
        in_utc = value if value.tzinfo is UTC else value.astimezone(UTC)
        return in_utc.isoformat(timespec="microseconds")[:-6] + "Z"

    def process_result_value(self, value: object, dialect: sa.Dialect) -> datetime | None:
        """The time, aware, in UTC."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return value.astimezone(UTC) if isinstance(value, datetime) else None
        return datetime.fromisoformat(str(value))


class Halfvec(sa.types.UserDefinedType[Sequence[float]]):
    """pgvector's half-precision vector; without a number of dimensions a column takes any."""

    cache_ok = True

    def __init__(self, dimensions: int | str | None = None) -> None:
        self.dimensions = None if dimensions is None else int(dimensions)

    def get_col_spec(self, **_: object) -> str:
        """The name of the type on the server."""
        return "halfvec" if self.dimensions is None else f"halfvec({self.dimensions:d})"

    def bind_expression(self, bindvalue: sa.BindParameter[Any]) -> sa.ColumnElement[Any]:
        """Values travel as an array of numbers."""
        return sa.cast(sa.type_coerce(bindvalue, postgresql.ARRAY(sa.REAL)), self)


class Vector(sa.types.UserDefinedType[Sequence[float]]):
    """pgvector's vector of single precision: what an average is read as."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """The name of the type on the server."""
        return "vector"


def vector_type() -> sa.types.TypeEngine[Any]:
    """A vector: little-endian float32 on SQLite, `halfvec` on PostgreSQL."""
    return sa.LargeBinary().with_variant(Halfvec(), "postgresql")


def json_type() -> sa.types.TypeEngine[Any]:
    """JSON as it was written: a binary kind would forget the order of the names, and cannot hold every text."""
    return sa.JSON(none_as_null=True)


def plain_json(value: object) -> str:
    """The value as compact JSON text."""
    return _ENCODER.encode(value)


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
