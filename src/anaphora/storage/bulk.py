"""Many rows through one statement, without SQLAlchemy's work for each parameter of each row.

On the append path that work costs more than the database's own. Where parameters are positional question marks, the
statement is compiled once, each value goes through its column's own processor, and the driver gets plain tuples. On
PostgreSQL the rows travel together as JSON (`storage.records`): the server plans and runs one statement, not one a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from anaphora.errors import AnaphoraError, InvalidInput
from anaphora.storage.records import insertion, packed, packed_by_id, renewal

#: the value of a row and how it reaches the driver
_Slot = tuple[str, Callable[[Any], Any] | None]
_Rows = Sequence[Mapping[str, Any]]


def insert_bulk(connection: sa.Connection, statement: sa.Insert, table: sa.Table, rows: _Rows) -> None:
    """Insert every row.

    Args:
        connection: in a transaction; on PostgreSQL, of the tenant whose rows they are.
        statement: inserts into the table.
        table: has no vectors.
        rows: values by column, the tenant among them; the same columns in each.

    Raises:
        InvalidInput: a value that its column cannot hold.

    """
    dialect = connection.dialect
    if dialect.paramstyle == "qmark":
        _run_tuples(connection, *_prepared(statement, table, tuple(rows[0]), dialect), rows)
        return
    with _refused():
        texts = list(packed(table, rows))
    for text in texts:
        insertion(statement, table, tuple(rows[0]), dialect).run(connection, tenant=rows[0]["tenant_id"], rows=text)


def update_bulk(connection: sa.Connection, table: sa.Table, rows: _Rows) -> None:
    """Put the values of every row into the row of the table that has its id.

    Args:
        connection: in a transaction; on PostgreSQL, of the tenant whose rows they are.
        table: its key is `tenant_id` and `id`.
        rows: values by column, the key among them; the same columns in each, no id twice. No texts of people: a
            binary kind of JSON, as which they travel to PostgreSQL, cannot hold every text.

    Raises:
        InvalidInput: a value that its column cannot hold.

    """
    dialect, names = connection.dialect, tuple(rows[0])
    if dialect.paramstyle == "qmark":
        _run_tuples(connection, *_prepared(_update(table, names), table, None, dialect), rows)
        return
    with _refused():
        by_id = packed_by_id(table, rows)
    ids = [row["id"] for row in rows]
    renewal(table, names, dialect).run(connection, tenant=rows[0]["tenant_id"], ids=ids, rows=by_id)


@contextmanager
def _refused() -> Iterator[None]:
    """What cannot be written as its column's kind is the caller's mistake."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, AnaphoraError):
            raise
        raise InvalidInput(f"a value that the database cannot hold ({type(error).__name__})") from error


def _run_tuples(connection: sa.Connection, text: str, slots: Sequence[_Slot], rows: _Rows) -> None:
    with _refused():
        values = [
            tuple([row[name] if process is None else process(row[name]) for name, process in slots]) for row in rows
        ]
    connection.exec_driver_sql(text, values)


@lru_cache(maxsize=32)
def _update(table: sa.Table, names: tuple[str, ...]) -> sa.Update:
    key = [table.c[name] == sa.bindparam(f"b_{name}") for name in ("tenant_id", "id")]
    new: dict[str, sa.BindParameter[Any]] = {
        name: sa.bindparam(f"b_{name}") for name in names if name not in {"tenant_id", "id"}
    }
    return sa.update(table).where(*key).values(new)


@lru_cache(maxsize=32)
def _prepared(
    statement: sa.Insert | sa.Update, table: sa.Table, names: tuple[str, ...] | None, dialect: sa.Dialect
) -> tuple[str, tuple[_Slot, ...]]:
    compiled = statement.compile(dialect=dialect, column_keys=names)
    order = [name.removeprefix("b_") for name in getattr(compiled, "positiontup", None) or ()]
    return str(compiled), tuple((name, _processor(table.c[name], dialect)) for name in order)


def _processor(column: sa.Column[Any], dialect: sa.Dialect) -> Callable[[Any], Any] | None:
    process: Callable[[Any], Any] | None = column.type.dialect_impl(dialect).bind_processor(dialect)
    return process
