"""Checks of what only PostgreSQL has: its settings, its policies, its full-text index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Final

import sqlalchemy as sa

from anaphora.ports.store import Unit
from anaphora.services.maintenance import Check, Findings, Judge
from anaphora.storage import checks
from anaphora.storage.columns import metadata
from anaphora.storage.document_tables import document_chunks
from anaphora.storage.postgres.document_search import document_words
from anaphora.storage.postgres.errors import translated
from anaphora.storage.postgres.search import message_words
from anaphora.storage.tables import messages, store_meta
from anaphora.storage.vectors import OUTLIVED

_SETTINGS: Final = ("fsync", "full_page_writes", "synchronous_commit")
_SETTING = sa.text("SELECT name, setting FROM pg_settings WHERE name = ANY (CAST(:names AS text[]))").bindparams(
    sa.bindparam("names", type_=sa.ARRAY(sa.Text))
)
_POLICIES = sa.text(
    "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,"
    " EXISTS (SELECT 1 FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'tenant')"
    " FROM pg_class AS c WHERE c.relname = ANY (CAST(:names AS text[])) AND pg_table_is_visible(c.oid)"
).bindparams(sa.bindparam("names", type_=sa.ARRAY(sa.Text)))
_BROKEN_INDEXES = sa.text(
    "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
    " WHERE NOT i.indisvalid AND pg_table_is_visible(c.oid) LIMIT 4"
)
_SAME_MESSAGE = (
    (messages.c.tenant_id == message_words.c.tenant_id)
    & (messages.c.session_uid == message_words.c.session_uid)
    & (messages.c.seq == message_words.c.seq)
)
_NOT_INDEXED = (
    sa.select(messages.c.id)
    .outerjoin(message_words, _SAME_MESSAGE)
    .where(message_words.c.seq.is_(None), ~messages.c.deleted)
    .limit(checks.FEW)
)
_OUTLIVED = (
    sa.select(message_words.c.session_uid)
    .outerjoin(messages, _SAME_MESSAGE)
    .where(sa.or_(messages.c.seq.is_(None), messages.c.deleted))
    .limit(checks.FEW)
)
_NOT_INDEXED_CHUNKS = (
    sa.select(document_chunks.c.document_id)
    .outerjoin(
        document_words,
        (document_chunks.c.tenant_id == document_words.c.tenant_id)
        & (document_chunks.c.document_id == document_words.c.document_id)
        & (document_chunks.c.number == document_words.c.number),
    )
    .where(document_words.c.number.is_(None))
    .limit(checks.FEW)
)
_INDEX: Final = (
    ("chunks of documents that are not in the index", _NOT_INDEXED_CHUNKS),
    ("messages that are not in the index", _NOT_INDEXED),
    ("entries of the index whose message is gone", _OUTLIVED),
    ("vectors of messages that were deleted", OUTLIVED),
)


def examine(
    connection: sa.Connection, unit: Unit, judge: Judge, *, now: datetime, stuck_seconds: float
) -> Iterator[Check]:
    """Everything that one snapshot of a database can tell, one check after the other."""
    own: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("indexes", partial(_indexes, connection)),
        ("I11", partial(_isolation, connection)),
        ("I12", partial(checks.index, connection, _INDEX)),
    )
    for name, step in (*own, *checks.steps(connection, unit, judge, now=now, stuck_seconds=stuck_seconds)):
        yield checks.attempt(name, step, _apart(connection))


@contextmanager
def _apart(connection: sa.Connection) -> Iterator[None]:
    """A statement that fails within the block fails nothing behind it."""
    with translated(), connection.begin_nested():
        yield


def examine_server(connection: sa.Connection, *, durability: str) -> Check:
    """What the server does when it acknowledges a write.

    With durability `normal` an acknowledged write must survive the end of any process, but not of the machine.
    """
    rows = connection.execute(_SETTING, {"names": list(_SETTINGS)})
    found: dict[str, str] = {row.name: row.setting for row in rows}
    safe = found["fsync"] == found["full_page_writes"] == "on" and found["synchronous_commit"] != "off"
    return Check(
        id="I7",
        name=f"an acknowledged write is on disk (durability {durability})",
        ok=safe or durability == "normal",
        detail=", ".join(f"{name} {found[name]}" for name in _SETTINGS),
        checked=1,
    )


def _isolation(connection: sa.Connection) -> Check:
    """Row-level policies stand behind the tenant in every statement."""
    names = [
        table.name for table in (*metadata.sorted_tables, message_words, document_words) if table is not store_meta
    ]
    found = Findings()
    there = {name: (forced, policy) for name, forced, policy in connection.execute(_POLICIES, {"names": names})}
    for name in names:
        if there.get(name) != (True, True):
            found.add(f"{name} shows every tenant's rows")
    return Check(
        id="I11",
        name="every table has its row-level policy, and it is forced",
        ok=not found.count,
        detail=str(found),
        checked=len(names),
    )


def _indexes(connection: sa.Connection) -> Check:
    found = [str(name) for name in connection.execute(_BROKEN_INDEXES).scalars()]
    return Check(id="indexes", name="every index is whole", ok=not found, detail=", ".join(found), checked=1)
