"""Full-text search on PostgreSQL.

The words of a message are cut and folded here, as FTS5 cuts and folds them, and stemmed by the server with the same
rules (Porter's), so that both databases find the same messages. Beside the words stand the tokens of their scopes.
Texts of scripts without spaces are kept whole as well, under a trigram index.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.storage.columns import metadata
from anaphora.storage.records import lists
from anaphora.storage.scope import Scope, tokens_of
from anaphora.storage.types import UtcTime
from anaphora.storage.word_search import COMMON, Found, WordSearch
from anaphora.storage.words import Indexed, has_unspaced_script, usable

#: longer words are cut, in texts and in questions alike
_LONGEST_WORD = 400
#: texts of scripts without spaces that are looked at for one question
_MOST_TEXTS = 2_000

index_metadata = sa.MetaData(naming_convention=metadata.naming_convention)
message_words = sa.Table(
    "message_words",
    index_metadata,
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("session_uid", sa.Uuid, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("parts", sa.Integer, nullable=False, server_default="1"),
    #: in which order messages came: by the server's clock, for nothing else
    sa.Column("added", UtcTime(), nullable=False),
    sa.Column("words", postgresql.TSVECTOR, nullable=False),
    sa.Column("unspaced", sa.Text),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "part"),
    sa.ForeignKeyConstraint(["tenant_id", "session_uid"], ["sessions.tenant_id", "sessions.id"], ondelete="CASCADE"),
)

#: the same rows, those of the transaction's tenant, as who owns them sees them: there is no policy on it, behind which
#: the index of words could not be used. All that is found is found in it
_found = sa.table("found_words", *(sa.column(column.name, column.type) for column in message_words.columns))
#: $1 is the tenant, $2 a list of what `_rows` gives
_ADD = (
    "INSERT INTO message_words (tenant_id, session_uid, seq, part, parts, added, words, unspaced)"
    " SELECT CAST($1 AS TEXT), uid, seq, part, parts, coalesce(added, clock_timestamp()),"
    " to_tsvector('anaphora', said) || array_to_tsvector(ARRAY[owner, agent, session]), unspaced"
    " FROM json_to_recordset(CAST($2 AS JSON)) AS given(uid UUID, seq INTEGER, part INTEGER, parts INTEGER,"
    " added TIMESTAMPTZ, said TEXT, owner TEXT, agent TEXT, session TEXT, unspaced TEXT)"
)
_OF_SESSION = (
    message_words.c.tenant_id == sa.bindparam("b_tenant"),
    message_words.c.session_uid == sa.bindparam("b_uid"),
)
_FORGET = sa.delete(message_words).where(*_OF_SESSION)
_FORGET_ONE = _FORGET.where(message_words.c.seq == sa.bindparam("b_seq")).returning(message_words.c.added)
#: each passage that has some of the texts, those whose texts are rarest together first; and at the end of each row
#: how many passages have each text. A text that very many have is no reason to look at a passage, unless all are so
_MATCHES = (
    sa.text(
        "WITH hits AS MATERIALIZED ("
        " SELECT t.place, m.session_uid, m.seq, m.part, m.parts, m.added"
        " FROM unnest(CAST(:texts AS text[]), CAST(:places AS integer[])) AS t (text, place) CROSS JOIN LATERAL"
        " (SELECT w.session_uid, w.seq, w.part, w.parts, w.added FROM found_words AS w WHERE w.tenant_id = :tenant"
        " AND w.words @@ (CAST(:scope AS tsquery) && phraseto_tsquery('anaphora', t.text)) LIMIT :most) AS m),"
        " counted AS (SELECT place, count(*) AS many FROM hits GROUP BY place),"
        " rare AS MATERIALIZED ("
        "SELECT place, ln(1 + (greatest(:messages, many) - many + 0.5) / (many + 0.5)) AS worth FROM counted"
        " WHERE many < :most OR many = (SELECT min(many) FROM counted)),"
        " best AS (SELECT h.session_uid, h.seq, h.part, h.parts, array_agg(h.place) AS places,"
        " sum(r.worth) AS promise, max(h.added) AS added FROM hits AS h JOIN rare AS r ON r.place = h.place"
        " GROUP BY h.session_uid, h.seq, h.part, h.parts"
        " ORDER BY promise DESC, added DESC, session_uid DESC, seq DESC, part LIMIT :keep)"
        " SELECT session_uid, seq, part, parts, places,"
        " (SELECT array_agg(ARRAY[place, many]) FROM counted) FROM best"
        " ORDER BY promise DESC, added DESC, session_uid DESC, seq DESC, part"
    )
    .bindparams(
        sa.bindparam("texts", type_=postgresql.ARRAY(sa.Text)),
        sa.bindparam("places", type_=postgresql.ARRAY(sa.Integer)),
        sa.bindparam("tenant", type_=sa.Text),
        sa.bindparam("scope", type_=sa.Text),
        sa.bindparam("messages", type_=sa.Double),
        sa.bindparam("most", type_=sa.Integer),
        sa.bindparam("keep", type_=sa.Integer),
    )
    .columns(session_uid=sa.Uuid, seq=sa.Integer, part=sa.Integer, parts=sa.Integer)
)
_UNSPACED = (
    sa.select(
        _found.c.session_uid,
        _found.c.seq,
        _found.c.part,
        _found.c.parts,
        _found.c.unspaced,
    )
    .where(
        _found.c.tenant_id == sa.bindparam("tenant"),
        sa.text("words @@ CAST(:scope AS tsquery)").bindparams(sa.bindparam("scope", type_=sa.Text)),
        _found.c.unspaced.is_not(None),
        sa.text("unspaced ILIKE ANY (CAST(:patterns AS text[]))").bindparams(
            sa.bindparam("patterns", type_=postgresql.ARRAY(sa.Text))
        ),
    )
    .order_by(
        _found.c.added.desc(),
        _found.c.session_uid.desc(),
        _found.c.seq.desc(),
        _found.c.part,
    )
    .limit(sa.bindparam("most", type_=sa.Integer))
)


class TsWords(WordSearch):
    """`storage.words.Words` over one transaction."""

    def add(self, entries: Sequence[Indexed]) -> None:
        """Index messages that were appended in this transaction."""
        if entries:
            self._add(entries[0].key.tenant, (row for entry in entries for row in _rows(entry)))

    def replace(self, old: Indexed, passages: tuple[str, ...]) -> None:
        """Other passages in the place of those of a message; none take it out of the index."""
        where = {"b_tenant": old.key.tenant, "b_uid": old.session_id, "b_seq": old.seq}
        first = self._connection.execute(_FORGET_ONE, where).scalars().first()
        if passages:
            self._add(old.key.tenant, _rows(replace(old, passages=passages), added=first))

    def _add(self, tenant: str, rows: Iterable[Mapping[str, Any]]) -> None:
        for text in lists(rows):
            self._connection.exec_driver_sql(_ADD, (tenant, text))

    def forget(self, tenant: str, session_id: UUID) -> None:
        """Take every message of a session out of the index."""
        self._connection.execute(_FORGET, {"b_tenant": tenant, "b_uid": session_id})

    def _by_words(
        self, scope: Scope, terms: Sequence[str], messages: int, limit: int
    ) -> tuple[Sequence[Found], Sequence[int]]:
        having = [0] * len(terms)
        wanted: dict[str, int] = {}
        for term, at in usable(terms).items():
            wanted.setdefault(plain(term), at)
        texts = [text for text in wanted if text]
        if not texts:
            return (), having
        rows = self._connection.execute(
            _MATCHES,
            {
                "texts": texts,
                "places": [wanted[text] for text in texts],
                "tenant": scope.tenant,
                "scope": _asked(scope),
                "messages": float(messages),
                "most": COMMON,
                "keep": limit,
            },
        )
        found: list[Found] = []
        for uid, seq, part, parts, which, many in rows:
            if not found:
                for place, count in many:
                    having[place] = count
            found.append((uid, seq, part, parts, tuple(which)))
        return found, having

    def _by_pieces(self, scope: Scope, pieces: Sequence[str], limit: int) -> tuple[Sequence[Found], Sequence[int]]:
        having = [0] * len(pieces)
        wanted = {unicodedata.normalize("NFC", text): at for text, at in usable(pieces).items()}
        if not wanted:
            return (), having
        where = {"tenant": scope.tenant, "scope": _asked(scope), "most": _MOST_TEXTS}
        rows = self._connection.execute(_UNSPACED, {**where, "patterns": [f"%{escaped(text)}%" for text in wanted]})
        found: list[Found] = []
        for uid, seq, part, parts, text in rows:
            folded = text.casefold()
            has = tuple(at for piece, at in wanted.items() if piece.casefold() in folded)
            for at in has:
                having[at] += 1
            if has and len(found) < limit:
                found.append((uid, seq, part, parts, has))
        return found, having


def _rows(entry: Indexed, *, added: datetime | None = None) -> Iterator[dict[str, Any]]:
    """A row for each passage."""
    owner, agent, session = map(beside, tokens_of(entry.key, entry.session_id))
    for part, text in enumerate(entry.passages):
        yield {
            "uid": entry.session_id,
            "seq": entry.seq,
            "part": part,
            "parts": len(entry.passages),
            "added": added,
            "said": plain(text),
            "owner": owner,
            "agent": agent,
            "session": session,
            "unspaced": text if has_unspaced_script(text) else None,
        }


def beside(token: str) -> str:
    """The token of a scope as it stands among the words: no word has a slash."""
    return f"/{token}"


def _asked(scope: Scope) -> str:
    """The scope as a query."""
    return f"'{beside(scope.token)}'"


def plain(text: str) -> str:
    """The words of a text as FTS5 sees them: letters and digits, without marks, in lower case."""
    if text.isascii():
        words = re.split(r"[\W_]+", text.lower())
    else:
        marked = unicodedata.normalize("NFD", text)
        bare = unicodedata.normalize("NFC", _MARKS.sub("", marked))
        words = re.split(r"[\W_]+", bare.lower())
    return " ".join(word[:_LONGEST_WORD] for word in words if word)


_MARKS = re.compile("[\u0300-\u036f]+")


def escaped(text: str) -> str:
    """The text as a part of a pattern of LIKE: nothing in it is syntax."""
    return re.sub(r"([\\%_])", r"\\\1", text)
