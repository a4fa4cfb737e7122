"""Single messages out of everything that was made of them.

A version of a summary may speak of every message before its end, and of what the version before it said. So every
version that ends behind an erased message goes, and the head goes back to the newest that ends before it: what stood
between is summarised anew. A chunk speaks of its own messages, unless the call that made it made a summary as well, and
the description of a topic does so always: these keep their places, say nothing, and are made anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import IMPORT_MARK
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.ports.erasures import Purged
from anaphora.ports.rows import Head, SessionRow
from anaphora.storage.effects import Effects
from anaphora.storage.fact_tables import chunks
from anaphora.storage.moves import Moves
from anaphora.storage.tables import (
    head_moves,
    heads,
    jobs,
    message_versions,
    messages,
    receipts,
    summaries,
)
from anaphora.storage.topic_tables import topic_vectors, topics

#: what a chunk says until it is made anew
_NOTHING: Final = "…"
#: the prompt of a call that made a summary as well, and so was shown what was said before
_WITH_MORE: Final = "+"
_REBUILD: Final = "rebuild:"
_LIVE: Final = [JobState.QUEUED.value, JobState.RUNNING.value]


class SqlPurgeMessages:
    """The part of `ports.erasures.Purging` that takes out single messages, over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._connection = connection
        self._run = connection.execute
        self._effects = effects
        self._moves = Moves(connection)

    def purge(self, row: SessionRow, seqs: Sequence[int], keyed: Mapping[str, str]) -> Purged:
        """Leave nothing of messages that were deleted: no version, nothing that was made of them."""
        self._effects.erased = True
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.ERASED, row.id)
        counts = {"messages": self._blank(row, seqs), "versions": self._forget_versions(row, seqs)}
        if keyed:
            self._key_digests(row, min(seqs), keyed)
        counts["summaries"] = self._drop_summaries(row, min(seqs))
        stale = [self._silence_chunks(row, seq) for seq in seqs]
        silent = [self._silence_topics(row, seq) for seq in seqs]
        counts |= {"chunks": sum(stale), "topics": sum(silent)}
        self._forget_reasons(row, seqs)
        return Purged(counts=counts, chunks=any(stale), topics=any(silent))

    def _blank(self, row: SessionRow, seqs: Sequence[int]) -> int:
        this = (*_in_session(messages, row), messages.c.seq.in_(list(seqs)))
        return self._run(sa.update(messages).where(*this, messages.c.deleted).values(erased=True)).rowcount

    def _forget_versions(self, row: SessionRow, seqs: Sequence[int]) -> int:
        these = (*_in_session(message_versions, row), message_versions.c.seq.in_(list(seqs)))
        return self._run(sa.delete(message_versions).where(*these)).rowcount

    def _key_digests(self, row: SessionRow, seq: int, keyed: Mapping[str, str]) -> None:
        """From a digest, and what was said before and after, a short message could be guessed."""
        for table in (messages, message_versions):
            key = [column.name for column in table.primary_key]
            columns = [table.c[name] for name in key]
            query = sa.select(*columns, table.c["metadata"].label("extra")).where(
                *_in_session(table, row), table.c.seq >= seq
            )
            for line in self._run(query).mappings().all():
                mark = line["extra"].get(IMPORT_MARK)
                digest = mark.get("digest") if isinstance(mark, Mapping) else None
                if not isinstance(mark, Mapping) or digest not in keyed:
                    continue
                new = {**line["extra"], IMPORT_MARK: {"position": mark["position"], "keyed": keyed[str(digest)]}}
                this = [table.c[name] == line[name] for name in key]
                self._run(sa.update(table).where(*this).values({table.c["metadata"]: new}))

    def _drop_summaries(self, row: SessionRow, seq: int) -> int:
        tainted = (*_in_session(summaries, row), summaries.c.stop > seq)
        gone = self._run(sa.select(summaries.c.id).where(*tainted)).scalars().all()
        if not gone:
            return 0
        # heads and moves name what they stand on: they go back first
        standing = self._run(
            sa.select(heads.c.reader, summaries.c.strategy)
            .join(summaries, (summaries.c.tenant_id == heads.c.tenant_id) & (summaries.c.id == heads.c.summary_id))
            .where(*_in_session(heads, row), *tainted)
        ).all()
        moves = (*_in_session(head_moves, row), head_moves.c.summary_id.in_(sa.select(summaries.c.id).where(*tainted)))
        self._run(sa.delete(head_moves).where(*moves))
        for reader, strategy in standing:
            self._go_back(row, reader, strategy, seq)
        self._run(sa.delete(summaries).where(*tainted))
        return len(gone)

    def _go_back(self, row: SessionRow, reader: str, strategy: str, seq: int) -> None:
        """Let a head stand on the newest version that cannot speak of the message; at the start if there is none."""
        base = self._base(row, strategy, seq)
        this = (*_in_session(heads, row), heads.c.reader == reader)
        if base == Head() or reader.startswith(_REBUILD):
            self._moves.forget(row.key.tenant, row.id, reader)
            self._run(sa.delete(heads).where(*this))
        else:
            # what stands before it is counted when it moves again
            back = {"position": base.position, "summary_id": base.summary_id, "aim": 0, "tokens": 0, "seen": 0}
            self._run(sa.update(heads).where(*this).values(back))
            self._moves.moved(row, reader, base, now=row.updated_at)
        if not reader.startswith(_REBUILD):
            # above the new head there is nothing to be made again
            of_kind = (jobs.c.kind == JobKind.REBUILD.value, jobs.c.state.in_(_LIVE))
            self._run(sa.delete(jobs).where(*_in_session(jobs, row), *of_kind))

    def _base(self, row: SessionRow, strategy: str, seq: int) -> Head:
        query = (
            sa.select(summaries.c.stop, summaries.c.id)
            .where(
                *_in_session(summaries, row),
                summaries.c.strategy == strategy,
                summaries.c.status == SummaryStatus.COMPLETED.value,
                summaries.c.stop <= seq,
            )
            .order_by(summaries.c.version.desc())
            .limit(1)
        )
        found = self._run(query).one_or_none()
        return Head() if found is None else Head(position=found.stop, summary_id=found.id)

    def _silence_chunks(self, row: SessionRow, seq: int) -> int:
        silent = {
            "text": _NOTHING,
            "tokens": 1,
            "method": Method.EXTRACTIVE.value,
            "model": None,
            "prompt_version": None,
        }
        these = (*_in_session(chunks, row), told_in(seq))
        return self._run(sa.update(chunks).where(*these).values(**silent, stale=True)).rowcount

    def _silence_topics(self, row: SessionRow, seq: int) -> int:
        these = _holds(topics, row, seq)
        ids: Sequence[UUID] = self._run(sa.select(topics.c.id).where(*these)).scalars().all()
        if not ids:
            return 0
        names = ("name", "summary", "method", "model", "prompt_version", "described_at", "described_head")
        silent: dict[str, Any] = dict.fromkeys(names)
        self._run(sa.update(topics).where(*these).values(**silent, words=[], tokens=0, stale=False))
        self._run(
            sa.delete(topic_vectors).where(
                topic_vectors.c.tenant_id == row.key.tenant, topic_vectors.c.topic_id.in_(ids)
            )
        )
        return len(ids)

    def _forget_reasons(self, row: SessionRow, seqs: Sequence[int]) -> None:
        """What a job says went wrong may quote; and a body's hash tells whether somebody has guessed it."""
        self._run(sa.update(jobs).where(*_in_session(jobs, row), jobs.c.reason.is_not(None)).values(reason=None))
        for seq in seqs:
            of_seq = (*_in_session(receipts, row), receipts.c.start <= seq, receipts.c.stop > seq)
            self._run(sa.update(receipts).where(*of_seq, receipts.c.body_hash != "").values(body_hash=""))


def told_in(seq: int) -> sa.ColumnElement[bool]:
    """What holds of chunks of its session that may speak of the message."""
    held = sa.and_(chunks.c.start <= seq, chunks.c.stop > seq)
    told = sa.and_(chunks.c.start > seq, chunks.c.prompt_version.contains(_WITH_MORE))
    return sa.or_(held, told)


def _in_session(table: sa.Table, row: SessionRow) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.tenant_id == row.key.tenant, table.c.session_uid == row.id


def _holds(table: sa.Table, row: SessionRow, seq: int) -> tuple[sa.ColumnElement[bool], ...]:
    return *_in_session(table, row), table.c.start <= seq, table.c.stop > seq
