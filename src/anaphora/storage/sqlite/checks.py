"""Checks of what only SQLite has: its file, its pragmas, its full-text index."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import sqlalchemy as sa

from anaphora.domain.messages import NewMessage
from anaphora.ports.store import Unit
from anaphora.rules.passages import passages, searchable
from anaphora.services.maintenance import Check, Findings, Judge
from anaphora.storage import checks
from anaphora.storage.columns import metadata
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.sqlite.engine import Durability, raw
from anaphora.storage.sqlite.errors import translated
from anaphora.storage.sqlite.search import message_docs
from anaphora.storage.tables import messages
from anaphora.storage.vectors import OUTLIVED

#: since then FTS5 can forget at once what was deleted; before, the index is rewritten to do so
_GOOD_SQLITE: Final = (3, 42, 0)
_SYNCHRONOUS: Final = {Durability.FULL: 2, Durability.NORMAL: 1}
#: messages that are looked up by their words
_SAMPLE: Final = 50
#: a word that SQLite's tokenizer and Python see alike: plain letters and digits, with nothing unusual beside them
_WORD = re.compile(r"(?<![^\x00-\x7f])(?<![A-Za-z0-9])[A-Za-z0-9]{3,}(?![A-Za-z0-9])(?![^\x00-\x7f])")

_PRAGMAS: Final = {
    "journal_mode": "PRAGMA journal_mode",
    "synchronous": "PRAGMA synchronous",
    "secure_delete": "PRAGMA secure_delete",
}
_INTEGRITY = sa.text("PRAGMA integrity_check(4)")
_FOREIGN_KEYS = sa.text('SELECT "table", rowid FROM pragma_foreign_key_check LIMIT 4')
#: what the index lacks, and what it has and should not: text that outlived its message
_INDEX: Final = (
    ("vectors of messages that were deleted", OUTLIVED),
    (
        "messages that are not in the index",
        sa.text(
            "SELECT m.session_uid || ':' || m.seq FROM messages AS m LEFT JOIN message_docs AS d"
            " ON d.tenant_id = m.tenant_id AND d.session_uid = m.session_uid AND d.seq = m.seq"
            " WHERE d.doc IS NULL AND NOT m.deleted LIMIT 4"
        ),
    ),
    (
        "entries of the index whose message is gone",
        sa.text(
            "SELECT d.doc FROM message_docs AS d LEFT JOIN messages AS m"
            " ON d.tenant_id = m.tenant_id AND d.session_uid = m.session_uid AND d.seq = m.seq"
            " WHERE m.seq IS NULL OR m.deleted LIMIT 4"
        ),
    ),
    (
        "entries without words",
        sa.text(
            "SELECT d.doc FROM message_docs AS d LEFT JOIN message_words_docsize AS w ON w.id = d.doc"
            " WHERE w.id IS NULL LIMIT 4"
        ),
    ),
    (
        "words whose message is gone",
        sa.text(
            "SELECT w.id FROM message_words_docsize AS w LEFT JOIN message_docs AS d ON w.id = d.doc"
            " WHERE d.doc IS NULL LIMIT 4"
        ),
    ),
    (
        "trigrams whose message is gone",
        sa.text(
            "SELECT t.id FROM message_trigrams_docsize AS t LEFT JOIN message_docs AS d ON t.id = d.doc"
            " WHERE d.doc IS NULL LIMIT 4"
        ),
    ),
)
#: the same of documents; sets are compared, because nothing looks their entries up by their names
_DOCUMENT_INDEX: Final = (
    (
        "chunks of documents that are not in the index",
        sa.text(
            "SELECT document_id || ':' || number FROM (SELECT document_id, number FROM document_chunks"
            " EXCEPT SELECT document_id, number FROM document_words) LIMIT 4"
        ),
    ),
    (
        "words whose document is gone",
        sa.text(
            "SELECT document_id || ':' || number FROM (SELECT document_id, number FROM document_words"
            " EXCEPT SELECT document_id, number FROM document_chunks) LIMIT 4"
        ),
    ),
    (
        "trigrams whose document is gone",
        sa.text(
            "SELECT t.id FROM document_trigrams_docsize AS t LEFT JOIN document_words_docsize AS w ON w.id = t.id"
            " WHERE w.id IS NULL LIMIT 4"
        ),
    ),
)
_DOCS = sa.select(sa.func.min(message_docs.c.doc), sa.func.max(message_docs.c.doc))
_SAMPLED = (
    sa.select(message_docs.c.doc, message_docs.c.part, message_docs.c.parts, *MESSAGE_COLUMNS)
    .join_from(
        message_docs,
        messages,
        (message_docs.c.tenant_id == messages.c.tenant_id)
        & (message_docs.c.session_uid == messages.c.session_uid)
        & (message_docs.c.seq == messages.c.seq),
    )
    .where(message_docs.c.doc.in_(sa.bindparam("docs", expanding=True)))
)
_BODY = sa.text("SELECT body FROM message_words WHERE rowid = :doc")
_MATCH = sa.text("SELECT count(*) FROM message_words WHERE message_words MATCH :query AND rowid = :doc")


def examine(
    connection: sa.Connection, unit: Unit, judge: Judge, *, now: datetime, stuck_seconds: float
) -> Iterator[Check]:
    """Everything that one snapshot of a database can tell, one check after the other."""
    own: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("integrity", partial(_integrity, connection)),
        ("foreign_keys", partial(_foreign_keys, connection)),
        ("I12", partial(checks.index, connection, (*_INDEX, *_DOCUMENT_INDEX))),
        ("search", partial(_lookups, connection)),
    )
    for name, step in (*own, *checks.steps(connection, unit, judge, now=now, stuck_seconds=stuck_seconds)):
        yield checks.attempt(name, step, translated())


def examine_writer(connection: sa.Connection, *, durability: str) -> Iterator[Check]:
    """What a connection that writes is set to."""
    value = {name: raw(connection).execute(query).fetchone()[0] for name, query in _PRAGMAS.items()}
    wanted = Durability(durability)
    yield Check(
        id="I7",
        name=f"an acknowledged write is on disk (durability {wanted})",
        ok=value["journal_mode"] == "wal" and value["synchronous"] == _SYNCHRONOUS[wanted],
        detail=f"journal_mode {value['journal_mode']}, synchronous {value['synchronous']}",
        checked=1,
    )
    yield Check(
        id="secure_delete",
        name="what is deleted is overwritten",
        ok=value["secure_delete"] == 1,
        detail=f"secure_delete {value['secure_delete']}",
        checked=1,
    )


def examine_library() -> Check:
    """The SQLite that this Python brings."""
    good = sqlite3.sqlite_version_info >= _GOOD_SQLITE
    return Check(
        id="sqlite",
        name="SQLite is new enough to forget quickly",
        ok=good,
        detail=sqlite3.sqlite_version + ("" if good else ": erasing rewrites the search index, which takes longer"),
        checked=1,
        warning=True,
    )


def _integrity(connection: sa.Connection) -> Check:
    found = [str(row[0]) for row in connection.execute(_INTEGRITY)]
    pages = connection.execute(sa.text("PRAGMA page_count")).scalar_one()
    ok = found == ["ok"]
    return Check(id="integrity", name="the file is whole", ok=ok, detail="" if ok else "; ".join(found), checked=pages)


def _foreign_keys(connection: sa.Connection) -> Check:
    found = [f"{table} row {row}" for table, row in connection.execute(_FOREIGN_KEYS)]
    return Check(
        id="foreign_keys",
        name="nothing refers to what is gone",
        ok=not found,
        detail="; ".join(found),
        checked=len(metadata.tables),
    )


def _lookups(connection: sa.Connection) -> Check:
    """A sample of messages, evenly spread, is found by a word of each."""
    found, count = Findings(), 0
    rows = connection.execute(_SAMPLED, {"docs": _sample(*connection.execute(_DOCS).one())}).all()
    for doc, part, parts, *columns in rows:
        count += 1
        message = message_from(columns)
        said = NewMessage(role=message.role, content=message.content, name=message.name, parts=message.parts)
        body = connection.execute(_BODY, {"doc": doc}).scalar_one_or_none()
        texts = passages(said)
        # what was indexed by an earlier version is one passage, and its text another
        known = {texts[part]} if parts == len(texts) else {searchable(said)} if parts == 1 else set()
        if parts == 1:
            known.add(searchable(said))
        if body not in known:
            found.add(f"message {message.id} is indexed with another text")
            continue
        word = next(iter(sorted(_WORD.findall(body), key=len, reverse=True)), None)
        if word is not None and not connection.execute(_MATCH, {"query": f'body:"{word}"', "doc": doc}).scalar_one():
            found.add(f"message {message.id} is not found")
    return Check(
        id="search",
        name="a sample of messages is found by their words",
        ok=not found.count,
        detail=str(found),
        checked=count,
    )


def _sample(first: int | None, last: int | None) -> Sequence[int]:
    if first is None or last is None:
        return []
    step = max(1, (last - first) // _SAMPLE)
    return [*range(first, last, step), last]
