"""Everything that is remembered, as lines that another memory can read.

A session is read in one snapshot, whole, and written aside before any of it is handed out: so it is one moment of its
past (I1), however slowly the lines are taken, and no reader keeps the database waiting meanwhile. So is a fact with its
past and its sources; what it was learned from after its session was written is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO, TypeAlias
from uuid import UUID

import anyio.to_thread

from anaphora.domain.fact_records import (
    ChunkRecord,
    FactRecord,
    FactSourceRecord,
    FactVersionRecord,
    SubjectRecord,
)
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.notepad_records import PageRecord
from anaphora.domain.records import (
    FooterRecord,
    MessageRecord,
    MoveRecord,
    ReceiptRecord,
    SessionRecord,
    SummaryRecord,
    VersionRecord,
    header,
    line_of,
)
from anaphora.domain.topic_records import TopicRecord
from anaphora.ports.exchange import Kept, KeptPage, KeptSource, Scope
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.notepad import made_of
from anaphora.services.exporting_documents import document_records, user_of
from anaphora.services.settings import NOTEPAD_READER
from anaphora.services.tally import Tally

#: bytes after which a batch of sessions ends, and of which no more are kept in memory
_BATCH_BYTES = 4 << 20
#: sessions of one batch at most, and facts
_BATCH_SESSIONS = 1000
_BATCH_FACTS = 1000
_PAGE = 100
_RECEIPTS = 1000
#: bytes that are taken back into memory at once
_READ_BYTES = 1 << 18


#: session, position and time of a move of the reader that reflects
_Noted: TypeAlias = tuple[UUID, int, datetime]


@dataclass(slots=True)
class _Progress:
    """How far an export has come."""

    tally: Tally
    #: the last session that was written, and the last fact
    after: SessionKey | None = None
    fact: UUID | None = None
    more: bool = True
    #: epoch and length of each session as it was written
    logs: dict[UUID, tuple[int, int]] = field(default_factory=dict)
    #: up to where each session was reflected upon when it was written, and when that was
    noted: set[_Noted] = field(default_factory=set)
    #: whose sessions and facts were written
    users: set[str] = field(default_factory=set)

    def go_on(self, batch: _Progress) -> None:
        """Add what a batch that began here has come to."""
        for each in fields(Tally):
            setattr(self.tally, each.name, getattr(batch.tally, each.name))
        self.after, self.fact, self.more = batch.after, batch.fact, batch.more
        self.logs.update(batch.logs)
        self.noted |= batch.noted
        self.users |= batch.users
        self.tally.users = len(self.users)

    def next(self) -> _Progress:
        """What the next batch begins with."""
        return _Progress(replace(self.tally), after=self.after, fact=self.fact)


#: writes the next batch of what is in the scope aside; run a second time, it begins anew
_Writing: TypeAlias = Callable[[Unit, Scope, _Progress, IO[bytes]], _Progress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Writes exports."""

    store: Store

    async def finds(self, scope: Scope) -> bool:
        """True if there is anything to export."""

        def find(unit: Unit) -> bool:
            return (
                bool(unit.exchange.keys(scope, after=None, limit=1))
                or any(True for _ in unit.exchange.facts(scope, after=None, limit=1))
                or bool(unit.exchange.subjects(scope, after=None, limit=1))
                or bool(unit.exchange.notepads(scope, after=None, limit=1))
                or bool(unit.exchange.document_ids(scope, after=None, limit=1))
            )

        return await self.store.read(scope.tenant, find)

    async def lines(self, scope: Scope, *, tally: Tally | None = None) -> AsyncGenerator[str]:
        """The lines of an export, each with its line feed.

        A header, sessions, receipts, subjects, facts, pages, documents, and a footer.
        The same data gives the same lines. What is appended meanwhile, or made, may be in it or not.

        Args:
            scope: what to export.
            tally: filled with the counts on the way.

        Raises:
            StoreError: the database failed; what came so far is no export.

        """
        progress = _Progress(tally or Tally())
        digest = hashlib.sha256()
        async with aclosing(self._body(scope, progress)) as body:
            async for line in body:
                digest.update(line.encode())
                yield line
        yield line_of(FooterRecord(record="end", **asdict(progress.tally), sha256=digest.hexdigest()))

    async def _body(self, scope: Scope, progress: _Progress) -> AsyncGenerator[str]:
        yield line_of(header())
        async with aclosing(self._batches(scope, progress, _write_sessions)) as lines:
            async for line in lines:
                yield line
        last: UUID | None = None
        while kept := await self.store.read(scope.tenant, partial(_receipts, scope=scope, after=last)):
            for each in kept:
                receipt = _as_of(each, progress.logs)
                if receipt is not None:
                    progress.tally.receipts += 1
                    yield line_of(receipt)
            last = kept[-1].receipt.id
        name: str | None = None
        while subjects := await self.store.read(scope.tenant, partial(_subjects, scope=scope, after=name)):
            for subject in subjects:
                progress.tally.subjects += 1
                yield line_of(subject)
            name = subjects[-1].id
        async with aclosing(self._batches(scope, progress, partial(_write_facts, logs=progress.logs))) as lines:
            async for line in lines:
                yield line
        async with aclosing(self._notepads(scope, progress)) as lines:
            async for line in lines:
                yield line
        async with aclosing(document_records(self.store, scope, progress.logs)) as documents:
            async for document in documents:
                progress.tally.documents += 1
                progress.users |= {user for user in (user_of(document),) if user is not None}
                yield line_of(document)
        progress.tally.users = len(progress.users)

    async def _notepads(self, scope: Scope, progress: _Progress) -> AsyncGenerator[str]:
        """The pages of all notepads; each notepad is read in one snapshot, whole."""
        last: tuple[str, str] | None = None
        while named := await self.store.read(scope.tenant, partial(_named, scope=scope, after=last)):
            for user, agent in named:
                pages = await self.store.read(scope.tenant, partial(_pages, user=user, agent=agent, scope=scope))
                for page in _sound(pages, progress.noted):
                    progress.users.add(user)
                    progress.tally.pages += 1
                    yield line_of(page)
            last = named[-1]

    async def _batches(self, scope: Scope, progress: _Progress, write: _Writing) -> AsyncGenerator[str]:
        """The lines of all batches; no transaction is open while they are taken."""
        progress.more = True
        while progress.more:
            with SpooledTemporaryFile(max_size=_BATCH_BYTES) as aside:
                progress.go_on(await self.store.read(scope.tenant, partial(_anew, write, scope, progress, aside)))
                aside.seek(0)
                while lines := await anyio.to_thread.run_sync(aside.readlines, _READ_BYTES):
                    for line in lines:
                        yield line.decode()


def _anew(write: _Writing, scope: Scope, before: _Progress, aside: IO[bytes], unit: Unit) -> _Progress:
    aside.seek(0)
    aside.truncate()
    return write(unit, scope, before.next(), aside)


def _write_sessions(unit: Unit, scope: Scope, progress: _Progress, aside: IO[bytes]) -> _Progress:
    """The next batch of sessions, each of them whole."""
    left = _BATCH_SESSIONS
    while left > 0:
        keys = unit.exchange.keys(scope, after=progress.after, limit=_PAGE)
        for key in keys:
            row = unit.sessions.find(key)
            if row is not None:
                _write_session(unit, row, scope, progress, aside)
            progress.after = key
            left -= 1
            if aside.tell() >= _BATCH_BYTES:
                return progress
        if len(keys) < _PAGE:
            progress.more = False
            return progress
    return progress


def _write_session(unit: Unit, row: SessionRow, scope: Scope, progress: _Progress, aside: IO[bytes]) -> None:
    tally = progress.tally
    tally.sessions += 1
    progress.users.add(row.key.user)
    progress.logs[row.id] = (row.epoch, row.head)
    aside.write(line_of(_session(row)).encode())
    for record in chain(unit.exchange.log(row), unit.exchange.derived(row)):
        match record:
            case MessageRecord():
                tally.messages += 1
            case VersionRecord():
                tally.versions += 1
            case SummaryRecord():
                tally.summaries += 1
            case ChunkRecord():
                tally.chunks += 1
            case MoveRecord(reader=reader) if reader == NOTEPAD_READER and scope.session is not None:
                continue  # what was noted of it stays here: elsewhere it is to be reflected upon anew
            case TopicRecord():
                tally.topics += 1
            case MoveRecord():
                tally.moves += 1
                if record.reader == NOTEPAD_READER:
                    progress.noted.add((row.id, record.position, record.at))
        aside.write(line_of(record).encode())


def _session(row: SessionRow) -> SessionRecord:
    return SessionRecord.model_construct(
        record="session",
        user=row.key.user,
        agent=row.key.agent,
        session=row.key.session,
        strategy=row.strategy,
        subject=row.subject,
        messages=row.head,
        turn_finished=row.turn_finished,
        created_at=row.created_at,
        updated_at=row.updated_at,
        ended_at=row.ended_at,
    )


def _receipts(unit: Unit, *, scope: Scope, after: UUID | None) -> Sequence[Kept]:
    return unit.exchange.receipts(scope, after=after, limit=_RECEIPTS)


def _subjects(unit: Unit, *, scope: Scope, after: str | None) -> Sequence[SubjectRecord]:
    return unit.exchange.subjects(scope, after=after, limit=_PAGE)


def _named(unit: Unit, *, scope: Scope, after: tuple[str, str] | None) -> Sequence[tuple[str, str]]:
    return unit.exchange.notepads(scope, after=after, limit=_PAGE)


def _pages(unit: Unit, *, scope: Scope, user: str, agent: str) -> Sequence[KeptPage]:
    return unit.exchange.pages(scope.tenant, user, agent)


def _sound(pages: Sequence[KeptPage], noted: Collection[_Noted]) -> Iterator[PageRecord]:
    """Pages of the user, and those that were there when their sessions were written; not what was made of others."""
    young = {
        kept.page.version
        for kept in pages
        if kept.session_id is not None
        and kept.page.range is not None
        and (kept.session_id, kept.page.range.stop, kept.page.created_at) not in noted
    }
    lost = made_of([kept.page for kept in pages], young)
    return (kept.page for kept in pages if kept.page.version not in lost)


def _as_of(kept: Kept, logs: Mapping[UUID, tuple[int, int]]) -> ReceiptRecord | None:
    """The receipt as it was when its session was written; None if it was not there yet."""
    if kept.session_id not in logs:
        return None
    epoch, head = logs[kept.session_id]
    if kept.epoch > epoch or (kept.epoch == epoch and kept.receipt.range.stop > head):
        return None
    return kept.receipt.model_copy(update={"erased": kept.epoch < epoch})


def _write_facts(
    unit: Unit, scope: Scope, progress: _Progress, aside: IO[bytes], *, logs: Mapping[UUID, tuple[int, int]]
) -> _Progress:
    """The next batch of facts, each of them whole."""
    left = _BATCH_FACTS
    while left > 0:
        page = _FactPage(scope, progress, aside, logs)
        page.write(unit.exchange.facts(scope, after=progress.fact, limit=_PAGE))
        left -= _PAGE
        if page.count < _PAGE:
            progress.more = False
            return progress
        if aside.tell() >= _BATCH_BYTES:
            return progress
    return progress


class _FactPage:
    """Writes facts; one whose sources are all younger than their sessions in the export is not written."""

    def __init__(
        self, scope: Scope, progress: _Progress, aside: IO[bytes], logs: Mapping[UUID, tuple[int, int]]
    ) -> None:
        self._scope = scope
        self._progress = progress
        self._aside = aside
        self._logs = logs
        #: facts that were read
        self.count = 0
        #: the fact and its versions, until it is clear that it is to be written
        self._waiting: list[FactRecord | FactVersionRecord] = []
        self._needs_source = False

    def write(self, records: Iterable[FactRecord | FactVersionRecord | KeptSource]) -> None:
        """Write all of them."""
        for record in records:
            match record:
                case FactRecord():
                    self._close()
                    self.count += 1
                    self._progress.fact = record.id
                    self._waiting = [record]
                    self._needs_source = self._scope.names_sessions
                case FactVersionRecord():
                    self._waiting.append(record)
                case KeptSource():
                    self._add(record)
        self._close()

    def _add(self, kept: KeptSource) -> None:
        epoch, head = self._logs.get(kept.session_id, (-1, 0))
        if kept.epoch == epoch and kept.source.seq < head and kept.source.range.stop <= head:
            self._flush()
            self._put(kept.source)
            self._progress.tally.fact_sources += 1
        elif self._waiting:
            fact = self._waiting[0]
            self._needs_source |= self._scope.names_sessions or fact.trust is not Trust.OWNER_CONFIRMED

    def _close(self) -> None:
        if not self._needs_source:
            self._flush()
        self._waiting = []

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for record in waiting:
            if isinstance(record, FactRecord):
                self._progress.users.add(record.owner)
                self._progress.tally.facts += 1
            else:
                self._progress.tally.fact_versions += 1
            self._put(record)

    def _put(self, record: FactRecord | FactVersionRecord | FactSourceRecord) -> None:
        self._aside.write(line_of(record).encode())
