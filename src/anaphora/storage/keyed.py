"""Looking many rows up by their keys with one statement that never changes.

`(a, b) IN ((?, ?), ...)` does not use an index on SQLite, and is compiled anew for every number of keys. So the keys
travel as one JSON text, and each of them finds its row through the index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql


def by_keys(
    columns: Sequence[sa.ColumnElement[Any]],
    key: Sequence[sa.Column[Any]],
    *conditions: sa.ColumnElement[bool] | sa.TextClause,
    lock: bool = False,
) -> Mapping[str, sa.Select[Any]]:
    """For each dialect the statement that reads `columns` of the rows with the keys.

    Args:
        columns: what to read, all of the table of the key.
        key: the columns of the key, unique or led by an index.
        conditions: what must also hold of a row.
        lock: keep the rows from being changed by others until the end of the transaction.

    Run it with `key_parameters(keys)`.

    """
    return MappingProxyType(
        {
            "sqlite": _select(columns, key, _sqlite_parts(len(key)), conditions, lock=lock),
            "postgresql": _select(
                columns, key, _postgresql_parts(key), (*conditions, key[0] == sa.bindparam("keys_tenant")), lock=lock
            ),
        }
    )


def key_parameters(keys: Iterable[Sequence[str | int | UUID]]) -> dict[str, str]:
    """The parameters of a statement that `by_keys` made."""
    plain = [[_plain(part) for part in key] for key in keys]
    return {"keys": json.dumps(plain), "keys_tenant": str(plain[0][0]) if plain else ""}


def _plain(part: str | int | UUID) -> str | int:
    return part.hex if isinstance(part, UUID) else part


def _select(
    columns: Sequence[sa.ColumnElement[Any]],
    key: Sequence[sa.Column[Any]],
    parts: Sequence[sa.ColumnElement[Any]],
    conditions: Sequence[sa.ColumnElement[bool] | sa.TextClause],
    *,
    lock: bool,
) -> sa.Select[Any]:
    found = (column == part for column, part in zip(key, parts, strict=True))
    query = sa.select(*columns).where(*found, *conditions)
    return query.order_by(*key).with_for_update(of=key[0].table) if lock else query


def _sqlite_parts(count: int) -> Sequence[sa.ColumnElement[Any]]:
    rows = sa.func.json_each(sa.bindparam("keys", type_=sa.Text)).table_valued("value", name="wanted")
    return [sa.func.json_extract(rows.c.value, sa.literal_column(f"'$[{at}]'")) for at in range(count)]


def _postgresql_parts(key: Sequence[sa.Column[Any]]) -> Sequence[sa.ColumnElement[Any]]:
    given = sa.cast(sa.bindparam("keys", type_=sa.Text), postgresql.JSONB)
    rows = sa.func.jsonb_array_elements(given).table_valued(sa.column("value", postgresql.JSONB), name="given")
    parts = (sa.cast(rows.c.value[at].astext, column.type).label(f"part{at}") for at, column in enumerate(key))
    # behind a row-level policy no index is used for what is compared with the outcome of a cast: it might say too much
    wanted = sa.select(*parts).cte("wanted").prefix_with("MATERIALIZED", dialect="postgresql")
    return list(wanted.c)
