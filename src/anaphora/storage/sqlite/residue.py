"""Looking for a text in a file of SQLite: in its bytes, its rows, and what its full-text index keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from anaphora.storage.residue import Residue, holds, in_file
from anaphora.storage.sqlite.engine import raw

#: a statement with names in it, which are no parameters
_named: Callable[..., sa.Executable] = sa.DDL
#: beside the database: what is not merged yet, and what a transaction may still take back
_BESIDE: Final = ("", "-wal", "-journal")
_TABLES: Final = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
_SHOWN: Final = 3
#: what is looked up needs tables of its own, which are not of the file
_VOCABULARY: Final = "CREATE VIRTUAL TABLE temp.kept_words USING fts5vocab('main', %(table)s, 'row')"
_PROBE: Final = "CREATE VIRTUAL TABLE temp.probe USING fts5(body, %(tokenizer)s)"
_PROBED: Final = sa.text("CREATE VIRTUAL TABLE temp.probed USING fts5vocab('temp', 'probe', 'row')")
_ADD: Final = sa.text("INSERT INTO temp.probe (body) VALUES (:text)")
_WORDS: Final = sa.text("SELECT term FROM temp.probed")
_KEPT: Final = sa.text("SELECT 1 FROM temp.kept_words WHERE term = :word")
_DROP: Final = (sa.text("DROP TABLE IF EXISTS temp.probed"), sa.text("DROP TABLE IF EXISTS temp.probe"))
_DROP_VOCABULARY: Final = sa.text("DROP TABLE IF EXISTS temp.kept_words")


def in_bytes(path: Path, canaries: Sequence[str]) -> list[Residue]:
    """Where the texts stand in the files, whatever they belong to: rows, indexes, pages that nobody uses."""
    files = (Path(f"{path}{end}") for end in _BESIDE)
    return [found for file in files if file.is_file() for found in in_file(file, canaries)]


def in_rows(connection: sa.Connection, canaries: Sequence[str]) -> list[Residue]:
    """Where the texts stand in tables, those below the full-text index too, and in its words.

    The connection is to a file that is open for reading only.
    """
    raw(connection).execute("PRAGMA query_only = OFF")
    found: list[Residue] = []
    for name, sql in connection.execute(_TABLES).all():
        if (sql or "").upper().startswith("CREATE VIRTUAL"):
            found += _in_words(connection, name, sql, canaries)
        else:
            found += _in_table(connection, name, canaries)
    return found


def _in_table(connection: sa.Connection, table: str, canaries: Sequence[str]) -> Iterator[Residue]:
    places: dict[tuple[int, str, str], list[int]] = {}
    rows = connection.execute(sa.select(sa.text("*")).select_from(sa.table(table)))
    columns = list(rows.keys())
    for at, row in enumerate(rows, start=1):
        for column, value in zip(columns, row, strict=True):
            for number, canary in enumerate(canaries, start=1):
                form = holds(value, canary)
                if form is not None:
                    places.setdefault((number, column, form), []).append(at)
    for (number, column, form), at_rows in places.items():
        place = f"{table}.{column}"
        yield Residue(canary=number, place=place, form=form, count=len(at_rows), at=tuple(at_rows[:_SHOWN]))


def _in_words(connection: sa.Connection, table: str, sql: str, canaries: Sequence[str]) -> Iterator[Residue]:
    """Entries of a full-text index that have the text; and words of it that stand there and in no entry any more."""
    tokenize = sql[sql.index("tokenize") :].removesuffix(")") if "tokenize" in sql else ""
    with _vocabulary(connection, table):
        for number, canary in enumerate(canaries, start=1):
            rows = _entries(connection, table, canary)
            if rows:
                yield Residue(canary=number, place=table, form="words", count=len(rows), at=tuple(rows[:_SHOWN]))
                continue
            words = _words_of(connection, tokenize or "tokenize='unicode61'", canary)
            left = [word for word in words if _is_left(connection, table, word)]
            if left:
                yield Residue(canary=number, place=f"{table} (segments)", form="words", count=len(left))


@contextmanager
def _vocabulary(connection: sa.Connection, table: str) -> Iterator[None]:
    """The words that an index keeps, as a table."""
    escaped = table.replace("'", "''")
    connection.execute(_named(_VOCABULARY, context={"table": f"'{escaped}'"}))
    try:
        yield
    finally:
        connection.execute(_DROP_VOCABULARY)


def _words_of(connection: sa.Connection, tokenizer: str, canary: str) -> Sequence[str]:
    """The words of a text as the index cuts them."""
    connection.execute(_named(_PROBE, context={"tokenizer": tokenizer}))
    try:
        connection.execute(_PROBED)
        connection.execute(_ADD, {"text": canary})
        return connection.execute(_WORDS).scalars().all()
    finally:
        for statement in _DROP:
            connection.execute(statement)


def _is_left(connection: sa.Connection, table: str, word: str) -> bool:
    """Whether the index keeps a word that no entry has."""
    kept = connection.execute(_KEPT, {"word": word}).first()
    return kept is not None and not _entries(connection, table, word)


def _entries(connection: sa.Connection, table: str, text: str) -> Sequence[int]:
    """The entries of an index that have the text as it is."""
    index = sa.table(table, sa.column("rowid", sa.Integer), sa.column(table, sa.Text))
    escaped = text.replace("\x00", " ").replace('"', '""')
    matches = index.c[table].op("MATCH")(f'"{escaped}"')
    return connection.execute(sa.select(index.c.rowid).where(matches)).scalars().all()
