"""What stretches of sessions were about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.chunks import Chunk
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Method
from anaphora.ports.rows import SessionRow
from anaphora.storage.fact_rows import CHUNK_COLUMNS, chunk_from, chunk_values
from anaphora.storage.fact_tables import chunks

_OF_SESSION = (chunks.c.tenant_id == sa.bindparam("b_tenant"), chunks.c.session_uid == sa.bindparam("b_uid"))
_HOLDS = (*_OF_SESSION, chunks.c.start <= sa.bindparam("b_seq"), chunks.c.stop > sa.bindparam("b_seq"))
#: the last that starts at or before a message: the only one that can hold it
_AT = (
    sa.select(*CHUNK_COLUMNS)
    .where(*_OF_SESSION, chunks.c.start <= sa.bindparam("b_seq"))
    .order_by(chunks.c.start.desc())
    .limit(1)
)
_SPAN = sa.select(chunks.c.start, chunks.c.stop).where(*_HOLDS)
_STALE = sa.update(chunks).where(*_HOLDS).values(stale=True)
_NEWEST = (
    sa.select(*CHUNK_COLUMNS)
    .where(*_OF_SESSION, chunks.c.start < sa.bindparam("before"))
    .order_by(chunks.c.start.desc())
    .limit(sa.bindparam("most"))
)
_FIRST = sa.select(*CHUNK_COLUMNS).where(*_OF_SESSION).order_by(chunks.c.start).limit(1)
#: beyond every number of a message
_ALL = 2**31 - 1


class SqlChunks:
    """`ports.facts.Chunks` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._run = connection.execute

    def insert(self, row: SessionRow, chunk: Chunk) -> None:
        """Keep a chunk."""
        self._run(sa.insert(chunks), chunk_values(row.key.tenant, chunk))

    def list(self, tenant: str, session_id: UUID, *, limit: int, before: int | None = None) -> Sequence[Chunk]:
        """Chunks of a session, newest first; with `before`, those that start before that message."""
        where = {"b_tenant": tenant, "b_uid": session_id, "before": _ALL if before is None else before, "most": limit}
        return [chunk_from(found) for found in self._run(_NEWEST, where)]

    def at(self, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Chunk]:
        """The chunks that hold any of the messages, in order, each once."""
        found: dict[int, Chunk] = {}
        for seq in sorted(set(seqs)):
            if any(seq in chunk.range for chunk in found.values()):
                continue
            row = self._run(_AT, {"b_tenant": tenant, "b_uid": session_id, "b_seq": seq}).one_or_none()
            if row is not None and row.stop > seq:
                chunk = chunk_from(row)
                found[chunk.range.start] = chunk
        return [found[start] for start in sorted(found)]

    def mark_stale(self, row: SessionRow, seq: int) -> SeqRange | None:
        """The chunk that holds the message is to be made again; its range, or None if there is none."""
        where = {"b_tenant": row.key.tenant, "b_uid": row.id, "b_seq": seq}
        found = self._run(_SPAN, where).one_or_none()
        if found is None:
            return None
        self._run(_STALE, where)
        return SeqRange(found.start, found.stop)

    def to_redo(self, tenant: str, session_id: UUID, *, without_model: bool) -> Chunk | None:
        """The oldest chunk to be made again: stale, or (with `without_model`) made while there was no model."""
        again: list[sa.ColumnElement[bool]] = [chunks.c.stale]
        if without_model:
            again.append(chunks.c.method == Method.EXTRACTIVE.value)
        query = _FIRST.where(sa.or_(*again))
        row = self._run(query, {"b_tenant": tenant, "b_uid": session_id}).one_or_none()
        return chunk_from(row) if row is not None else None

    def replace(self, row: SessionRow, old: Chunk, new: Chunk | None) -> bool:
        """Another chunk of the same range, or none, in the place of one; False if that is not there as it was."""
        gone = sa.delete(chunks).where(*_OF_SESSION, chunks.c.id == old.id, chunks.c.stale == old.stale)
        if not self._run(gone, {"b_tenant": row.key.tenant, "b_uid": row.id}).rowcount:
            return False
        if new is not None:
            self.insert(row, new)
        return True
