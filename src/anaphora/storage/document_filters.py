"""Which documents are on a shelf, in SQL: filters are built of expressions, never of text that somebody wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.domain.documents import ARCHIVE, Namespace, namespace_text
from anaphora.domain.filters import And, Contains, Equals, Exists, Field, Filter, Not, Or, Scalar
from anaphora.ports.documents import Shelf
from anaphora.storage.document_tables import documents
from anaphora.storage.tables import sessions

_Condition = sa.ColumnElement[bool]

_METADATA = documents.c["metadata"]


def namespace_hash(namespace: Namespace) -> str:
    """By which a namespace of any length is looked up; the names themselves are compared too."""
    return hashlib.sha256(namespace_text(namespace).encode()).hexdigest()


def in_namespace(tenant: str, namespace: Namespace) -> tuple[_Condition, ...]:
    """The documents of one namespace, exactly."""
    return (
        documents.c.tenant_id == tenant,
        documents.c.namespace_hash == namespace_hash(namespace),
        documents.c.namespace == namespace_text(namespace),
    )


def tells_of(seq: int) -> _Condition:
    """What holds of documents of its session that may speak of the message: the model was shown what came before."""
    return sa.and_(documents.c.stop > seq, sa.or_(documents.c.start <= seq, documents.c.source == ARCHIVE))


def in_sight(tenant: str) -> _Condition:
    """What holds of documents of the tenant, unless they were made of a session that is out of sight."""
    hidden = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.expired_at.is_not(None))
    return sa.or_(documents.c.session_uid.is_(None), documents.c.session_uid.not_in(hidden))


def on_shelf(shelf: Shelf, dialect: str) -> Iterator[_Condition]:
    """What holds of the documents that are meant."""
    yield documents.c.tenant_id == shelf.tenant
    yield in_sight(shelf.tenant)
    yield documents.c.namespace_hash.in_([namespace_hash(one) for one in shelf.namespaces])
    yield documents.c.namespace.in_([namespace_text(one) for one in shelf.namespaces])
    if shelf.doc_types is not None:
        yield documents.c.doc_type.in_(shelf.doc_types)
    if shelf.where is not None:
        yield _holds(shelf.where, _LEAVES[dialect])


_Leaf = Callable[[Equals | Contains | Exists], _Condition]


def _holds(asked: Filter, leaf: _Leaf) -> _Condition:
    match asked:
        case Not(part):
            return sa.not_(_holds(part, leaf))
        case And(parts):
            return sa.and_(sa.true(), *map(partial(_holds, leaf=leaf), parts))
        case Or(parts):
            return sa.or_(sa.false(), *map(partial(_holds, leaf=leaf), parts))
        case _:
            # of what is not there nothing is known: in SQL that is neither true nor false
            return sa.func.coalesce(leaf(asked), sa.false())


def _on_sqlite(asked: Equals | Contains | Exists) -> _Condition:
    path = _path(asked.field)
    kind = sa.func.json_type(_METADATA, path)
    match asked:
        case Exists():
            return kind.is_not(None)
        case Equals(value=value):
            return _is(kind, sa.func.json_extract(_METADATA, path), value)
        case Contains(value=value):
            entry = sa.func.json_each(_METADATA, path).table_valued("value", "type", name="entry")
            there = sa.exists().select_from(entry).where(_is(entry.c.type, entry.c.value, value))
            return sa.and_(kind == "array", there)


def _is(kind: sa.ColumnElement[Any], value: sa.ColumnElement[Any], wanted: Scalar) -> _Condition:
    """Whether a value of SQLite's JSON functions is the wanted one, which tell `true` from `1` by the kind alone."""
    if wanted is None:
        return kind == "null"
    if isinstance(wanted, bool):
        return kind == ("true" if wanted else "false")
    kinds = ["text"] if isinstance(wanted, str) else ["integer", "real"]
    return sa.and_(kind.in_(kinds), value == wanted)


def _path(field: Field) -> str:
    """Names of metadata have no quotation marks in them."""
    return "$" + "".join(f'."{name}"' for name in field.names)


def _on_postgresql(asked: Equals | Contains | Exists) -> _Condition:
    value: sa.ColumnElement[Any] = sa.cast(_METADATA, postgresql.JSONB)
    for name in asked.field.names:
        value = value.op("->", return_type=postgresql.JSONB())(sa.cast(sa.literal(name, sa.Text), sa.Text))
    match asked:
        case Exists():
            return value.is_not(None)
        case Equals(value=wanted):
            return value == _jsonb(wanted)
        case Contains(value=wanted):
            has = value.op("@>", return_type=sa.Boolean())(_jsonb([wanted]))
            return sa.and_(sa.func.jsonb_typeof(value) == "array", has)


def _jsonb(value: Scalar | list[Scalar]) -> sa.ColumnElement[Any]:
    return sa.cast(sa.literal(json.dumps(value), sa.Text), postgresql.JSONB)


_LEAVES: Mapping[str, _Leaf] = MappingProxyType({"sqlite": _on_sqlite, "postgresql": _on_postgresql})
