"""Documents: their contents, their chunks, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.documents import ChunkVector, Document, DocumentChunk, Namespace, Outcome
from anaphora.domain.keys import SeqRange
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput
from anaphora.ports.documents import ChunkMatches, DocumentLease, KeptDocument, NearChunk, Shelf
from anaphora.ports.rows import SessionRow
from anaphora.rules.documents import searchable
from anaphora.storage.document_filters import in_namespace, in_sight, namespace_hash, on_shelf, tells_of
from anaphora.storage.document_jobs import DocumentQueue
from anaphora.storage.document_rows import (
    CHUNK_COLUMNS,
    HEAD_COLUMNS,
    chunk_from,
    chunk_values,
    document_from,
    document_values,
    identity_of,
)
from anaphora.storage.document_search import DocumentSearch
from anaphora.storage.document_tables import document_chunks, document_vectors, documents
from anaphora.storage.effects import Effects
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.upsert import insert_if_absent

_INSERT = insert_if_absent(documents)
_THIS = (documents.c.tenant_id == sa.bindparam("b_tenant"), documents.c.id == sa.bindparam("b_id"))
_WHOLE = sa.select(*HEAD_COLUMNS, documents.c.content)
_SAME = sa.select(documents.c.id, documents.c.namespace).where(
    documents.c.tenant_id == sa.bindparam("b_tenant"),
    documents.c.namespace_hash == sa.bindparam("b_hash"),
    documents.c.identity == sa.bindparam("b_identity"),
)
_DELETE = sa.delete(documents).where(*_THIS)
_OF_DOCUMENT = (
    document_chunks.c.tenant_id == sa.bindparam("b_tenant"),
    document_chunks.c.document_id == sa.bindparam("b_id"),
)
_DROP_CHUNKS = sa.delete(document_chunks).where(*_OF_DOCUMENT)
_CHUNKS = by_keys(CHUNK_COLUMNS, (document_chunks.c.tenant_id, document_chunks.c.document_id, document_chunks.c.number))
_OF_SESSION = (documents.c.tenant_id == sa.bindparam("b_tenant"), documents.c.session_uid == sa.bindparam("b_uid"))
_HAS_VECTOR = (
    sa.select(sa.literal(1))
    .where(
        document_vectors.c.tenant_id == document_chunks.c.tenant_id,
        document_vectors.c.document_id == document_chunks.c.document_id,
        document_vectors.c.number == document_chunks.c.number,
        document_vectors.c.space == sa.bindparam("b_space"),
    )
    .exists()
)
_BARE = (
    sa.select(*CHUNK_COLUMNS)
    .where(*_OF_DOCUMENT, ~_HAS_VECTOR)
    .order_by(document_chunks.c.number)
    .limit(sa.bindparam("most"))
)
_CHUNK_OF = (document_chunks.c.tenant_id == documents.c.tenant_id) & (document_chunks.c.document_id == documents.c.id)
_IS_BARE = sa.select(sa.literal(1)).where(_CHUNK_OF, ~_HAS_VECTOR).exists()
_FORGET_VECTOR = sa.delete(document_vectors).where(
    document_vectors.c.tenant_id == sa.bindparam("b_tenant"),
    document_vectors.c.document_id == sa.bindparam("b_id"),
    document_vectors.c.number == sa.bindparam("b_number"),
    document_vectors.c.space == sa.bindparam("b_space"),
)
#: what another version of a document may change
_CHANGEABLE: Final = tuple(
    column.name
    for column in documents.c
    if column.name not in {"tenant_id", "id", "namespace", "namespace_hash", "created_at"}
)
#: behind every id
_ALL: Final = UUID(int=2**128 - 1)
_NONE: Final = UUID(int=0)


class SqlDocuments:
    """`ports.documents.Documents` over one transaction."""

    def __init__(
        self, connection: sa.Connection, search: DocumentSearch, effects: Effects, *, embeds: bool, writing: bool
    ) -> None:
        self._connection = connection
        self._run = connection.execute
        self._search = search
        self._effects = effects
        self._embeds = embeds
        self._writing = writing
        self.queue = DocumentQueue(connection, effects, writing=writing)

    # -- kept ------------------------------------------------------------------------------------------------------

    def put(self, tenant: str, document: Document, chunks: Sequence[DocumentChunk]) -> KeptDocument:
        """Keep a document with its chunks, and plan their vectors."""
        values = document_values(tenant, document)
        if self._run(_INSERT[self._connection.dialect.name], values).rowcount:
            self._add_chunks(tenant, document, chunks)
            return KeptDocument(document, Outcome.NEW)
        old = self._same(tenant, document)
        if old is None:
            raise InvalidInput(f"document id {document.id} is taken by another document: use a new one")
        new = replace(document, id=old.id, version=old.version, created_at=old.created_at, updated_at=old.updated_at)
        if new == old:
            return KeptDocument(old, Outcome.SAME)
        new = replace(new, version=old.version + 1, updated_at=document.updated_at)
        self._change(tenant, old, new, chunks)
        return KeptDocument(new, Outcome.REPLACED)

    def is_missing(self, tenant: str, document: Document) -> bool:
        """Whether there is neither a document of this id, nor in its namespace one that is known by the same."""
        known = sa.and_(
            documents.c.namespace_hash == namespace_hash(document.namespace),
            documents.c.identity == identity_of(document),
        )
        query = sa.select(documents.c.id).where(
            documents.c.tenant_id == tenant, sa.or_(documents.c.id == document.id, known)
        )
        return self._run(query.limit(1)).first() is None

    def replace(self, tenant: str, old: Document, new: Document, chunks: Sequence[DocumentChunk]) -> Document | None:
        """Put another version in the place of a document; None, and nothing changed, if it is not there as it was."""
        there = self._seen(tenant, old.namespace, documents.c.id == old.id)
        if there is None or there.version != old.version:
            return None
        new = replace(new, id=old.id, namespace=old.namespace, version=old.version + 1, created_at=there.created_at)
        other = self._same(tenant, new)
        if other is not None and other.id != old.id:
            what = "this content" if new.key is None else "this key"
            raise InvalidInput(f"the namespace has another document with {what}: {other.id}")
        self._change(tenant, there, new, chunks)
        return new

    def _same(self, tenant: str, document: Document) -> Document | None:
        """The document that is known by the same, locked if it may be changed."""
        where = {
            "b_tenant": tenant,
            "b_hash": namespace_hash(document.namespace),
            "b_identity": identity_of(document),
        }
        row = self._run(_SAME, where).one_or_none()
        if row is None:
            return None
        return self._get(tenant, (*in_namespace(tenant, document.namespace), documents.c.id == row.id))

    def _seen(self, tenant: str, namespace: Namespace, which: sa.ColumnElement[bool]) -> Document | None:
        """The document of the namespace, unless its session is out of sight."""
        return self._get(tenant, (*in_namespace(tenant, namespace), in_sight(tenant), which))

    def _get(self, tenant: str, conditions: Iterable[sa.ColumnElement[bool]]) -> Document | None:
        query = _WHOLE.where(documents.c.tenant_id == tenant, *conditions)
        row = self._run(query.with_for_update() if self._writing else query).one_or_none()
        return document_from(row, row.content) if row is not None else None

    def _change(self, tenant: str, old: Document, new: Document, chunks: Sequence[DocumentChunk]) -> None:
        """Another document in the place of one; its chunks stay if they say the same."""
        same = (old.content_hash, old.title) == (new.content_hash, new.title) and old.chunks == new.chunks
        values = document_values(tenant, new)
        changed = {name: values[name] for name in _CHANGEABLE}
        self._run(
            sa.update(documents).where(documents.c.tenant_id == tenant, documents.c.id == old.id).values(**changed)
        )
        if same:
            return
        this = {"b_tenant": tenant, "b_id": old.id}
        self._search.forget(tenant, old.id)
        self._run(_DROP_CHUNKS, this)
        self._effects.erased = True
        self._add_chunks(tenant, new, chunks)

    def _add_chunks(self, tenant: str, document: Document, chunks: Sequence[DocumentChunk]) -> None:
        own = [replace(chunk, document_id=document.id) for chunk in chunks]
        if not own:
            return
        self._run(sa.insert(document_chunks), chunk_values(tenant, own))
        texts = [searchable(document.title, chunk.text) for chunk in own]
        self._search.add(tenant, document.namespace, document.id, texts)
        if self._embeds:
            self.plan(tenant, document.id, now=document.updated_at)

    def delete(self, tenant: str, namespace: Namespace, document_id: UUID) -> bool:
        """Leave nothing of the document; False if it is not there."""
        query = sa.select(documents.c.id).where(*in_namespace(tenant, namespace), documents.c.id == document_id)
        if self._run(query).first() is None:
            return False
        self._drop(tenant, [document_id])
        return True

    def of_session(self, tenant: str, session_id: UUID, span: SeqRange | None = None) -> Sequence[Document]:
        """Documents that were made of messages of the session (of the span), without contents, the earliest first."""
        query = sa.select(*HEAD_COLUMNS).where(*_OF_SESSION)
        if span is not None:
            query = query.where(documents.c.start < span.stop, documents.c.stop > span.start)
        query = query.order_by(documents.c.start, documents.c.stop, documents.c.id)
        return [document_from(row) for row in self._run(query, {"b_tenant": tenant, "b_uid": session_id})]

    def forget(self, row: SessionRow, seq: int | None) -> int:
        """Leave nothing of what may speak of this message (None: of any of the session); how many documents went."""
        return self._forget(row.key.tenant, row.id, () if seq is None else (tells_of(seq),))

    def forget_session(self, tenant: str, session_id: UUID) -> int:
        """Leave nothing of what was made of messages of the session; how many documents went."""
        return self._forget(tenant, session_id, ())

    def _forget(self, tenant: str, session_id: UUID, which: Iterable[sa.ColumnElement[bool]]) -> int:
        query = sa.select(documents.c.id).where(*_OF_SESSION, *which)
        gone = self._run(query, {"b_tenant": tenant, "b_uid": session_id}).scalars().all()
        self._drop(tenant, gone)
        return len(gone)

    def _drop(self, tenant: str, wanted: Sequence[UUID]) -> None:
        for document_id in wanted:
            self._search.forget(tenant, document_id)
            self._run(_DELETE, {"b_tenant": tenant, "b_id": document_id})
            self._effects.erased = True

    # -- read ------------------------------------------------------------------------------------------------------

    def get(self, tenant: str, namespace: Namespace, document_id: UUID) -> Document | None:
        """The document with its content, or None."""
        return self._seen(tenant, namespace, documents.c.id == document_id)

    def find(self, tenant: str, namespace: Namespace, key: str) -> Document | None:
        """The document with this key, with its content, or None."""
        return self._seen(tenant, namespace, documents.c.identity == f"key:{key}")

    def list(self, shelf: Shelf, *, limit: int, before: UUID | None = None) -> Sequence[Document]:
        """Without their contents, the last that came first; with `before`, those that came before that one."""
        query = (
            sa.select(*HEAD_COLUMNS)
            .where(*self._on(shelf), documents.c.id < (before or _ALL))
            .order_by(documents.c.id.desc())
            .limit(limit)
        )
        return [document_from(row) for row in self._run(query)]

    def described(self, shelf: Shelf, wanted: Sequence[UUID]) -> Mapping[UUID, Document]:
        """Those of them that are on the shelf, without their contents."""
        if not wanted:
            return {}
        query = sa.select(*HEAD_COLUMNS).where(*self._on(shelf), documents.c.id.in_(wanted))
        return {row.id: document_from(row) for row in self._run(query)}

    def chunks(self, tenant: str, places: Sequence[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], DocumentChunk]:
        """Chunks by document and number; what is not there is left out."""
        keys = key_parameters([(tenant, document_id, number) for document_id, number in dict.fromkeys(places)])
        found = map(chunk_from, self._run(_CHUNKS[self._connection.dialect.name], keys))
        return {(chunk.document_id, chunk.number): chunk for chunk in found}

    def by_words(self, shelf: Shelf, *, terms: Sequence[str], pieces: Sequence[str], limit: int) -> ChunkMatches:
        """Chunks that have any of the terms or of the pieces, those whose words are rarest together first."""
        return self._search.by_words(shelf, terms=terms, pieces=pieces, limit=limit)

    def nearest(self, shelf: Shelf, *, space: Space, vector: Sequence[float], limit: int) -> Sequence[NearChunk]:
        """The chunks that are closest to the vector, best first."""
        return self._search.nearest(shelf, space=space, vector=vector, limit=limit)

    # -- vectors ---------------------------------------------------------------------------------------------------

    def put_vectors(self, tenant: str, space: Space, document: Document, vectors: Sequence[ChunkVector]) -> int:
        """Keep what chunks mean, instead of what is there; how many: none if the document is another by now."""
        kept = [(one.number, one.part, self._search.kept(space.unit(one.vector))) for one in vectors]
        same = (documents.c.id == document.id, documents.c.content_hash == document.content_hash)
        there = self._get(tenant, (*same, documents.c.title == document.title))
        if there is None:
            return 0
        rows = [
            {
                "tenant_id": tenant,
                "document_id": document.id,
                "number": number,
                "part": part,
                "space": space.name,
                "embedding": embedding,
            }
            for number, part, embedding in kept
            if 0 <= number < there.chunks
        ]
        if rows:
            this = {"b_tenant": tenant, "b_id": document.id, "b_space": space.name}
            numbers = sorted({number for number, _, _ in kept})
            self._run(_FORGET_VECTOR, [{**this, "b_number": number} for number in numbers])
            self._run(sa.insert(document_vectors), rows)
        return len(rows)

    def without_vectors(self, tenant: str, document_id: UUID, space: Space, *, limit: int) -> Sequence[DocumentChunk]:
        """Chunks that have no vector in the space yet, in order."""
        where = {"b_tenant": tenant, "b_id": document_id, "b_space": space.name, "most": limit}
        return [chunk_from(row) for row in self._run(_BARE, where)]

    def is_behind(self, shelf: Shelf, space: Space) -> bool:
        """Whether chunks of the shelf have no vector in the space yet."""
        query = sa.select(sa.literal(1)).select_from(documents).where(*self._on(shelf), _IS_BARE).limit(1)
        return self._run(query, {"b_space": space.name}).first() is not None

    def behind(self, tenant: str, space: Space, *, after: UUID | None, limit: int) -> Sequence[UUID]:
        """Documents with chunks that have no vector in the space yet, by their ids, those behind `after`."""
        query = (
            sa.select(documents.c.id)
            .where(documents.c.tenant_id == tenant, documents.c.id > (after or _NONE), _IS_BARE)
            .order_by(documents.c.id)
            .limit(limit)
        )
        return self._run(query, {"b_space": space.name}).scalars().all()

    def forget_others(self, tenant: str, space: Space, *, limit: int) -> int:
        """Drop vectors of all spaces but this one, of up to `limit` chunks; how many went."""
        some = (
            sa.select(document_vectors.c.document_id, document_vectors.c.number, document_vectors.c.space)
            .where(document_vectors.c.tenant_id == tenant, document_vectors.c.space != space.name)
            .distinct()
            .limit(limit)
        )
        rows = self._run(some).all()
        gone = [{"b_tenant": tenant, "b_id": uid, "b_number": number, "b_space": name} for uid, number, name in rows]
        if gone:
            self._run(_FORGET_VECTOR, gone)
        return len(gone)

    def _on(self, shelf: Shelf) -> Iterable[sa.ColumnElement[Any]]:
        return on_shelf(shelf, self._connection.dialect.name)

    # -- waiting for them ------------------------------------------------------------------------------------------

    def plan(self, tenant: str, document_id: UUID, *, now: datetime) -> bool:
        """The document waits for vectors: whoever makes them may start. False if it waits already."""
        return self.queue.plan(tenant, document_id, now=now)

    def claim(
        self, tenant: str, document_id: UUID, *, owner: str, now: datetime, lease_seconds: float
    ) -> DocumentLease | None:
        """Take it on, if it waits and nobody else has."""
        return self.queue.claim(tenant, document_id, owner=owner, now=now, lease_seconds=lease_seconds)

    def taken(self, tenant: str, lease: DocumentLease) -> Document | None:
        """The document that was taken on, without its content; None if it is not ours any more."""
        if not self.queue.holds(tenant, lease):
            return None
        query = sa.select(*HEAD_COLUMNS).where(documents.c.tenant_id == tenant, documents.c.id == lease.document_id)
        row = self._run(query).one_or_none()
        return document_from(row) if row is not None else None

    def holds(self, tenant: str, lease: DocumentLease) -> bool:
        """Whether it is still ours (I5)."""
        return self.queue.holds(tenant, lease)

    def done(self, tenant: str, lease: DocumentLease) -> bool:
        """It waits no more; False if it is not ours."""
        return self.queue.done(tenant, lease)

    def later(self, tenant: str, lease: DocumentLease, *, run_at: datetime, reason: str) -> bool:
        """Give it back for later; False if it is not ours."""
        return self.queue.later(tenant, lease, run_at=run_at, reason=reason)
