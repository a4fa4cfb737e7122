"""Rows that travel to PostgreSQL as one parameter.

A statement that is executed once for each row costs the server and the driver more than its rows do. So the rows go as
JSON: new ones as a list of objects, of which the server makes records; changed ones as an object by id, in which each
row of the table finds its values. Neither needs a second table in an update, which databases that are distributed by
tenant do not take.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.errors import InvalidInput
from anaphora.storage.types import plain_json

#: characters of one parameter, but for a row that is longer by itself
MOST: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement as it is sent, which of its parameters comes where, and those that are always the same."""

    text: str
    order: tuple[str, ...]
    fixed: Mapping[str, object]

    @classmethod
    def of(cls, statement: sa.Insert | sa.Update, dialect: sa.Dialect) -> Sent:
        """The statement, compiled."""
        compiled = statement.compile(dialect=dialect)
        fixed = {name: value for name, value in compiled.params.items() if value is not None}
        return cls(str(compiled), tuple(getattr(compiled, "positiontup", None) or ()), fixed)

    def run(self, connection: sa.Connection, **parameters: object) -> None:
        """Execute it. The parameters are what the driver takes."""
        values = {**self.fixed, **parameters}
        connection.exec_driver_sql(self.text, tuple([values[name] for name in self.order]))


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
def insertion(statement: sa.Insert, table: sa.Table, names: tuple[str, ...], dialect: sa.Dialect) -> Sent:
    """The insert of rows with these columns: of a `tenant`, the `rows` one of the texts that `packed` gives."""
    columns = [table.c[name] for name in names if name != "tenant_id"]
    own_json = _json_columns(table)
    travelling = [sa.column(c.name, sa.Text() if c.name in own_json else c.type) for c in columns]
    given = (
        sa.func.json_to_recordset(sa.bindparam("rows", type_=postgresql.JSON()))
        .table_valued(*travelling)
        .render_derived(name="given", with_types=True)
    )
    values = [sa.cast(given.c[c.name], c.type) if c.name in own_json else given.c[c.name] for c in columns]
    rows = sa.select(sa.bindparam("tenant", type_=sa.Text()), *values)
    return Sent.of(statement.from_select(["tenant_id", *columns], rows), dialect)


@lru_cache(maxsize=64)
def renewal(table: sa.Table, names: tuple[str, ...], dialect: sa.Dialect) -> Sent:
    """The update of rows with these columns: of a `tenant`, those with the `ids`, `rows` what `packed_by_id` gives."""
    # of the binary kind from the start: it is parsed once, not for each value
    rows = sa.bindparam("rows", type_=postgresql.JSONB())

    def new(name: str) -> sa.ColumnElement[Any]:
        own = sa.func.jsonb_extract_path_text(rows, sa.cast(table.c.id, sa.Text()), name)
        return sa.cast(own, table.c[name].type)

    those = table.c.id == sa.any_(sa.bindparam("ids", type_=postgresql.ARRAY(sa.Uuid())))
    update = sa.update(table).where(table.c.tenant_id == sa.bindparam("tenant", type_=sa.Text()), those)
    return Sent.of(update.values({name: new(name) for name in names if name not in {"tenant_id", "id"}}), dialect)


def _plain(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInput("a time without a time zone cannot be stored: give it one, such as UTC")
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
