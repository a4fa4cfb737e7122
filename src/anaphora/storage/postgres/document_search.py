"""Search in documents on PostgreSQL: their words through the view of the tenant's, what they mean by comparing all."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.domain.documents import Namespace
from anaphora.domain.vectors import Space
from anaphora.ports.documents import NearChunk, Shelf
from anaphora.storage.document_search import DocumentSearch, Place, document_token, namespace_token, shelf_tokens
from anaphora.storage.document_tables import document_vectors
from anaphora.storage.postgres.search import beside, escaped, index_metadata, plain
from anaphora.storage.postgres.vectors import distance_of
from anaphora.storage.word_search import COMMON
from anaphora.storage.words import has_unspaced_script

#: texts of scripts without spaces that are looked at for one question
_MOST_TEXTS = 2_000

document_words = sa.Table(
    "document_words",
    index_metadata,
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("document_id", sa.Uuid, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("words", postgresql.TSVECTOR, nullable=False),
    sa.Column("unspaced", sa.Text),
    sa.PrimaryKeyConstraint("tenant_id", "document_id", "number"),
    sa.ForeignKeyConstraint(
        ["tenant_id", "document_id", "number"],
        ["document_chunks.tenant_id", "document_chunks.document_id", "document_chunks.number"],
        ondelete="CASCADE",
    ),
)

#: see `postgres.search`
_found = sa.table("found_document_words", *(sa.column(column.name, column.type) for column in document_words.columns))
_ADD = sa.text(
    "INSERT INTO document_words (tenant_id, document_id, number, words, unspaced) VALUES (:tenant, :uid, :number,"
    " to_tsvector('anaphora', :text) || array_to_tsvector(ARRAY[:namespace, :document]), :unspaced)"
).bindparams(
    *(sa.bindparam(name, type_=sa.Text) for name in ("tenant", "text", "namespace", "document", "unspaced")),
    sa.bindparam("uid", type_=sa.Uuid),
    sa.bindparam("number", type_=sa.Integer),
)
_FORGET = sa.delete(document_words).where(
    document_words.c.tenant_id == sa.bindparam("b_tenant"), document_words.c.document_id == sa.bindparam("b_uid")
)
_HAS_TERM = sa.text("words @@ (CAST(:scope AS tsquery) && phraseto_tsquery('anaphora', :term))").bindparams(
    sa.bindparam("scope", type_=sa.Text), sa.bindparam("term", type_=sa.Text)
)
_HAS_PIECE = sa.text(
    "words @@ CAST(:scope AS tsquery) AND unspaced IS NOT NULL AND unspaced ILIKE ANY (CAST(:patterns AS text[]))"
).bindparams(sa.bindparam("scope", type_=sa.Text), sa.bindparam("patterns", type_=postgresql.ARRAY(sa.Text)))


class TsDocuments(DocumentSearch):
    """`storage.document_search.DocumentSearch` on a server."""

    def add(self, tenant: str, namespace: Namespace, document_id: UUID, texts: Sequence[str]) -> None:
        """Index the chunks of a document, which are numbered from 0."""
        rows = [
            {
                "tenant": tenant,
                "uid": document_id,
                "number": number,
                "text": plain(text),
                "namespace": beside(namespace_token(tenant, namespace)),
                "document": beside(document_token(tenant, document_id)),
                "unspaced": text if has_unspaced_script(text) else None,
            }
            for number, text in enumerate(texts)
        ]
        if rows:
            self._connection.execute(_ADD, rows)

    def forget(self, tenant: str, document_id: UUID) -> None:
        """Take a document out of the index."""
        self._connection.execute(_FORGET, {"b_tenant": tenant, "b_uid": document_id})

    def kept(self, vector: Sequence[float]) -> Sequence[float]:
        """A vector as it is handed to the database."""
        return vector

    def _with_term(self, shelf: Shelf, term: str) -> Sequence[Place]:
        words = plain(term)
        if not words:
            return ()
        query = self._places(shelf, _found.c.document_id, _found.c.number).where(_HAS_TERM).limit(COMMON)
        rows = self._connection.execute(query, {"scope": _scope(shelf), "term": words})
        return [(document_id, number) for document_id, number in rows]

    def _with_pieces(self, shelf: Shelf, pieces: Mapping[str, int]) -> Mapping[int, Sequence[Place]]:
        wanted = {unicodedata.normalize("NFC", piece): at for piece, at in pieces.items()}
        if not wanted:
            return {}
        query = self._places(shelf, _found.c.document_id, _found.c.number, _found.c.unspaced)
        asked = {"scope": _scope(shelf), "patterns": [f"%{escaped(piece)}%" for piece in wanted]}
        rows = self._connection.execute(query.where(_HAS_PIECE).limit(_MOST_TEXTS), asked)
        texts = [(document_id, number, text.casefold()) for document_id, number, text in rows]
        return {
            at: [(document_id, number) for document_id, number, text in texts if piece.casefold() in text]
            for piece, at in wanted.items()
        }

    def _places(self, shelf: Shelf, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """Entries of the shelf, the newest documents first."""
        return (
            sa.select(*columns)
            .where(_found.c.tenant_id == shelf.tenant, _found.c.document_id.in_(self._ids(shelf)))
            .order_by(_found.c.document_id.desc(), _found.c.number.desc())
        )

    def _closest(self, shelf: Shelf, space: Space, vector: Sequence[float], limit: int) -> Sequence[NearChunk]:
        own = (
            sa.select(document_vectors.c.document_id, document_vectors.c.number, document_vectors.c.embedding)
            .where(
                document_vectors.c.tenant_id == shelf.tenant,
                document_vectors.c.space == space.name,
                document_vectors.c.document_id.in_(self._ids(shelf)),
            )
            .cte("own")
            .prefix_with("MATERIALIZED", dialect="postgresql")
        )
        # a chunk is as close as the closest of its passages
        closest = sa.func.min(distance_of(own.c.embedding, space, vector), type_=sa.Float())
        query = sa.select(own.c.document_id, own.c.number, closest).group_by(own.c.document_id, own.c.number)
        rows = self._connection.execute(
            query.order_by(closest, own.c.document_id.desc(), own.c.number).limit(limit)
        ).all()
        return [NearChunk(document_id, number, 1 - away) for document_id, number, away in rows]


def _scope(shelf: Shelf) -> str:
    """The namespaces as a query."""
    return " | ".join(f"'{beside(token)}'" for token in shelf_tokens(shelf))
