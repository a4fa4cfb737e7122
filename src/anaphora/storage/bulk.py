"""Many rows through one statement, without SQLAlchemy's work for each parameter of each row.

On the append path that work costs more than SQLite's own. The statement is compiled once a dialect, each value goes
through its column's own processor, and the driver gets plain tuples. Where parameters are not positional question
marks, the statement is executed as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from anaphora.errors import AnaphoraError, InvalidInput

#: the value of a row and how it reaches the driver
_Slot = tuple[str, Callable[[Any], Any] | None]


def run_bulk(
    connection: sa.Connection, statement: sa.Insert | sa.Update, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Execute the statement for every row.

    Args:
        connection: in a transaction.
        statement: its parameters are named like the columns whose values they are, or `b_` for a key of the row.
        table: whose columns those are; `b_tenant` is its tenant, `b_uid` its id.
        rows: values by parameter; the same names in each.

    Raises:
        InvalidInput: a value that its column cannot hold.

    """
    if connection.dialect.paramstyle != "qmark":
        connection.execute(statement, rows)
        return
    text, slots = _prepared(statement, table, tuple(rows[0]), connection.dialect)
    try:
        values = [
            tuple([row[name] if process is None else process(row[name]) for name, process in slots]) for row in rows
        ]
    except (TypeError, ValueError) as error:
        if isinstance(error, AnaphoraError):
            raise
        raise InvalidInput(f"a value that the database cannot hold ({type(error).__name__})") from error
    connection.exec_driver_sql(text, values)


@lru_cache(maxsize=32)
def _prepared(
    statement: sa.Insert | sa.Update, table: sa.Table, names: tuple[str, ...], dialect: sa.Dialect
) -> tuple[str, tuple[_Slot, ...]]:
    compiled = statement.compile(dialect=dialect, column_keys=names)
    order = getattr(compiled, "positiontup", None) or ()
    keys = {"b_tenant": "tenant_id", "b_uid": "id"}
    slots = tuple((name, _processor(table.c[keys.get(name, name)], dialect)) for name in order)
    return str(compiled), slots


def _processor(column: sa.Column[Any], dialect: sa.Dialect) -> Callable[[Any], Any] | None:
    process: Callable[[Any], Any] | None = column.type.dialect_impl(dialect).bind_processor(dialect)
    return process
