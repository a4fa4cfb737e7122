"""Rows that travel to PostgreSQL as one parameter.

A statement that is executed once for each row costs the server and the driver more than its rows do. So the rows go as
JSON: new ones as a list of objects, of which the server makes records; changed ones as an object by id, in which each
row of the table finds its values. Neither needs a second table in an update, which databases that are distributed by
tenant do not take.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.errors import InvalidInput
from anaphora.storage.types import plain_json

#: characters of one parameter, but for a row that is longer by itself
MOST: Final = 4 << 20


def packed(table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rows as lists of objects, in order, each list as long as a parameter should be."""
    own_json = _json_columns(table)
    return lists(_sent(row, own_json) for row in rows)


def lists(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Objects as texts of lists of them, each list as long as a parameter should be."""
    waiting: list[str] = []
    size = 0
    for record in records:
        text = _ENCODER.encode(record)
        if waiting and size + len(text) > MOST:
            yield f"[{','.join(waiting)}]"
            waiting, size = [], 0
        waiting.append(text)
        size += len(text)
    if waiting:
        yield f"[{','.join(waiting)}]"


def packed_by_id(table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows as one object by id."""
    own_json = _json_columns(table)
    return _ENCODER.encode({str(row["id"]): _sent(row, own_json) for row in rows})


def _sent(row: Mapping[str, Any], own_json: frozenset[str]) -> dict[str, Any]:
    """The row without its tenant; what is JSON by itself as a text, which the server keeps as it is."""
    return {
        name: plain_json(value) if name in own_json and value is not None else value
        for name, value in row.items()
        if name != "tenant_id"
    }


@lru_cache(maxsize=64)
def _json_columns(table: sa.Table) -> frozenset[str]:
    return frozenset(column.name for column in table.columns if isinstance(column.type, sa.JSON))


@lru_cache(maxsize=64)
def insertion(statement: sa.Insert, table: sa.Table, names: tuple[str, ...], dialect: sa.Dialect) -> str:
    """The insert of rows with these columns: $1 is the tenant, $2 one of the texts that `packed` gives."""
    columns = [table.c[name] for name in names if name != "tenant_id"]
    given = sa.text(
        "json_to_recordset(CAST($2 AS JSON)) AS given("
        + ", ".join(f"{_quoted(c, dialect)} {_travelling(c, dialect)}" for c in columns)
        + ")"
    )
    values: list[sa.ColumnElement[Any]] = [
        sa.literal_column(_cast(f"given.{_quoted(c, dialect)}", c, dialect)) for c in columns
    ]
    rows = sa.select(sa.literal_column("CAST($1 AS TEXT)"), *values).select_from(given)
    return str(statement.from_select(["tenant_id", *columns], rows).compile(dialect=dialect))


@lru_cache(maxsize=64)
def renewal(table: sa.Table, names: tuple[str, ...], dialect: sa.Dialect) -> str:
    """The update of rows with these columns: $1 is the tenant, $2 the ids, $3 what `packed_by_id` gives."""
    columns = [table.c[name] for name in names if name not in {"tenant_id", "id"}]
    new: dict[str, sa.ColumnElement[Any]] = {
        c.name: sa.literal_column(
            f"CAST(CAST($3 AS JSONB) -> CAST({table.name}.id AS TEXT) ->> '{c.name}'"
            f" AS {c.type.compile(dialect=dialect)})"
        )
        for c in columns
    }
    this = table.c.tenant_id == sa.literal_column("$1"), table.c.id == sa.literal_column("ANY(CAST($2 AS UUID[]))")
    update = sa.update(table).where(*this).values(new)
    return str(update.compile(dialect=dialect))


def _quoted(column: sa.Column[Any], dialect: sa.Dialect) -> str:
    return dialect.identifier_preparer.quote(column.name)


def _travelling(column: sa.Column[Any], dialect: sa.Dialect) -> str:
    """As what the server reads a value out of JSON."""
    return "TEXT" if isinstance(column.type, sa.JSON) else column.type.compile(dialect=dialect)


def _cast(name: str, column: sa.Column[Any], dialect: sa.Dialect) -> str:
    return f"CAST({name} AS {column.type.compile(dialect=dialect)})" if isinstance(column.type, sa.JSON) else name


def _plain(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInput("a time without a time zone cannot be stored: give it one, such as UTC")
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
