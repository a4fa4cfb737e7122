"""Search in documents on SQLite: their words by FTS5, what they mean by comparing every vector of the shelf."""

from __future__ import annotations

import importlib
import struct
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.documents import Namespace
from anaphora.domain.vectors import Space
from anaphora.errors import MissingExtra
from anaphora.ports.documents import NearChunk, Shelf
from anaphora.storage.document_search import DocumentSearch, Place, document_token, namespace_token, shelf_tokens
from anaphora.storage.document_tables import document_vectors
from anaphora.storage.sqlite.search import TRIGRAM, quoted
from anaphora.storage.word_search import COMMON
from anaphora.storage.words import has_unspaced_script

#: texts of scripts without spaces that are looked at for one question
_MOST_TEXTS = 2_000

_words = sa.table(
    "document_words",
    sa.column("rowid", sa.Integer),
    sa.column("document_id", sa.Uuid),
    sa.column("number", sa.Integer),
)
_trigrams = sa.table("document_trigrams", sa.column("rowid", sa.Integer), sa.column("body", sa.Text))
_MATCHES_WORDS = sa.text("document_words MATCH :words")
_MATCHES_TRIGRAMS = sa.text("document_trigrams MATCH :trigrams")
_NEXT = "SELECT coalesce(max(rowid), 0) + 1 FROM document_words"
_ADD = "INSERT INTO document_words (rowid, scope, body, document_id, number) VALUES (?, ?, ?, ?, ?)"
_ADD_TRIGRAMS = "INSERT INTO document_trigrams (rowid, body) VALUES (?, ?)"
_OF_DOCUMENT = "SELECT rowid FROM document_words WHERE document_words MATCH ? AND document_id = ?"
_FORGET = ("DELETE FROM document_words WHERE rowid = ?", "DELETE FROM document_trigrams WHERE rowid = ?")


class FtsDocuments(DocumentSearch):
    """`storage.document_search.DocumentSearch` on one file."""

    def add(self, tenant: str, namespace: Namespace, document_id: UUID, texts: Sequence[str]) -> None:
        """Index the chunks of a document, which are numbered from 0."""
        if not texts:
            return
        scope = f"{namespace_token(tenant, namespace)} {document_token(tenant, document_id)}"
        first = self._connection.exec_driver_sql(_NEXT).scalar_one()
        rows = [(first + number, scope, text, document_id.hex, number) for number, text in enumerate(texts)]
        self._connection.exec_driver_sql(_ADD, rows)
        unspaced = [(row[0], row[2]) for row in rows if has_unspaced_script(row[2])]
        if unspaced:
            self._connection.exec_driver_sql(_ADD_TRIGRAMS, unspaced)

    def forget(self, tenant: str, document_id: UUID) -> None:
        """Take a document out of the index."""
        scope = f"scope:{document_token(tenant, document_id)}"
        rows = self._connection.exec_driver_sql(_OF_DOCUMENT, (scope, document_id.hex)).all()
        if rows:
            for statement in _FORGET:
                self._connection.exec_driver_sql(statement, [tuple(row) for row in rows])

    def kept(self, vector: Sequence[float]) -> bytes:
        """A vector as it is handed to the database."""
        return struct.pack(f"<{len(vector)}f", *vector)

    def _with_term(self, shelf: Shelf, term: str) -> Sequence[Place]:
        query = (
            sa.select(_words.c.document_id, _words.c.number)
            .where(_MATCHES_WORDS, _words.c.document_id.in_(self._ids(shelf)))
            .order_by(_words.c.rowid.desc())
            .limit(COMMON)
        )
        asked = {"words": f"{_scope(shelf)} AND body:{quoted(term)}"}
        return [(document_id, number) for document_id, number in self._connection.execute(query, asked)]

    def _with_pieces(self, shelf: Shelf, pieces: Mapping[str, int]) -> Mapping[int, Sequence[Place]]:
        wanted = {unicodedata.normalize("NFC", piece): at for piece, at in pieces.items()}
        if not wanted:
            return {}
        query = (
            sa.select(_words.c.document_id, _words.c.number, _trigrams.c.body)
            .join_from(_trigrams, _words, _words.c.rowid == _trigrams.c.rowid)
            .where(_MATCHES_WORDS, _words.c.document_id.in_(self._ids(shelf)))
            .order_by(_trigrams.c.rowid.desc())
            .limit(_MOST_TEXTS)
        )
        asked = {"words": _scope(shelf)}
        if all(len(piece) >= TRIGRAM for piece in wanted):
            query = query.where(_MATCHES_TRIGRAMS)
            asked["trigrams"] = " OR ".join(map(quoted, wanted))
        texts = [
            (document_id, number, body.casefold())
            for document_id, number, body in self._connection.execute(query, asked)
        ]
        return {
            at: [(document_id, number) for document_id, number, body in texts if piece.casefold() in body]
            for piece, at in wanted.items()
        }

    def _closest(self, shelf: Shelf, space: Space, vector: Sequence[float], limit: int) -> Sequence[NearChunk]:
        try:
            cosines = importlib.import_module("anaphora.storage.sqlite.cosines")
        except ModuleNotFoundError:
            raise MissingExtra("search by meaning", "local") from None
        rows = self._connection.execute(
            sa.select(document_vectors.c.document_id, document_vectors.c.number, document_vectors.c.embedding).where(
                document_vectors.c.tenant_id == shelf.tenant,
                document_vectors.c.space == space.name,
                document_vectors.c.document_id.in_(self._ids(shelf)),
            )
        ).all()
        parts = Counter((row.document_id, row.number) for row in rows)
        # so many are of `limit` chunks at least, and of each of those the closest passage is among them
        near = cosines.nearest([row.embedding for row in rows], vector, limit * max(parts.values(), default=1))
        best: dict[Place, float] = {}
        for at, close in near:
            place = (rows[at].document_id, rows[at].number)
            best[place] = max(close, best.get(place, close))
        return [NearChunk(*place, close) for place, close in best.items()]


def _scope(shelf: Shelf) -> str:
    """The namespaces as a query."""
    return f"scope:({' OR '.join(shelf_tokens(shelf))})"
