"""Everything that is remembered, as lines that another memory can read.

A session is read in one snapshot, whole, and written aside before any of it is handed out: so it is one moment of its
past (I1), however slowly the lines are taken, and no reader keeps the database waiting meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO
from uuid import UUID

import anyio.to_thread

from anaphora.domain.keys import SessionKey
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
from anaphora.ports.exchange import Kept, Scope
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit

#: bytes after which a batch of sessions ends, and of which no more are kept in memory
_BATCH_BYTES = 4 << 20
#: sessions of one batch at most
_BATCH_SESSIONS = 1000
_PAGE = 100
_RECEIPTS = 1000
#: bytes that are taken back into memory at once
_READ_BYTES = 1 << 18


@dataclass(slots=True)
class Tally:
    """What an export holds so far."""

    users: int = 0
    sessions: int = 0
    messages: int = 0
    versions: int = 0
    summaries: int = 0
    moves: int = 0
    receipts: int = 0


@dataclass(slots=True)
class _Progress:
    """How far an export has come."""

    tally: Tally
    #: the last session that was written
    after: SessionKey | None = None
    more: bool = True
    #: epoch and length of each session as it was written
    logs: dict[UUID, tuple[int, int]] = field(default_factory=dict)

    def go_on(self, batch: _Progress) -> None:
        """Add what a batch that began here has come to."""
        for each in fields(Tally):
            setattr(self.tally, each.name, getattr(batch.tally, each.name))
        self.after, self.more = batch.after, batch.more
        self.logs.update(batch.logs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Writes exports."""

    store: Store

    async def finds(self, scope: Scope) -> bool:
        """True if there is anything to export."""
        return bool(await self.store.read(scope.tenant, lambda unit: unit.exchange.keys(scope, after=None, limit=1)))

    async def lines(self, scope: Scope, *, tally: Tally | None = None) -> AsyncGenerator[str]:
        """The lines of an export, each with its line feed: header, sessions in order, receipts, footer.

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
        while progress.more:
            with SpooledTemporaryFile(max_size=_BATCH_BYTES) as aside:
                batch = await self.store.read(
                    scope.tenant, partial(_write_sessions, scope=scope, before=progress, aside=aside)
                )
                progress.go_on(batch)
                aside.seek(0)
                while lines := await anyio.to_thread.run_sync(aside.readlines, _READ_BYTES):
                    for line in lines:
                        yield line.decode()
        last: UUID | None = None
        while kept := await self.store.read(scope.tenant, partial(_receipts, scope=scope, after=last)):
            for each in kept:
                receipt = _as_of(each, progress.logs)
                if receipt is not None:
                    progress.tally.receipts += 1
                    yield line_of(receipt)
            last = kept[-1].receipt.id


def _write_sessions(unit: Unit, *, scope: Scope, before: _Progress, aside: IO[bytes]) -> _Progress:
    """The next batch of sessions, each of them whole. Run a second time, it begins anew."""
    aside.seek(0)
    aside.truncate()
    progress = _Progress(replace(before.tally), after=before.after)
    left = _BATCH_SESSIONS
    while left > 0:
        keys = unit.exchange.keys(scope, after=progress.after, limit=_PAGE)
        for key in keys:
            row = unit.sessions.find(key)
            if row is not None:
                _write_session(unit, row, progress, aside)
            progress.after = key
            left -= 1
            if aside.tell() >= _BATCH_BYTES:
                return progress
        if len(keys) < _PAGE:
            progress.more = False
            return progress
    return progress


def _write_session(unit: Unit, row: SessionRow, progress: _Progress, aside: IO[bytes]) -> None:
    tally = progress.tally
    tally.sessions += 1
    tally.users += progress.after is None or progress.after.user != row.key.user
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
            case MoveRecord():
                tally.moves += 1
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


def _as_of(kept: Kept, logs: Mapping[UUID, tuple[int, int]]) -> ReceiptRecord | None:
    """The receipt as it was when its session was written; None if it was not there yet."""
    if kept.session_id not in logs:
        return None
    epoch, head = logs[kept.session_id]
    if kept.epoch > epoch or (kept.epoch == epoch and kept.receipt.range.stop > head):
        return None
    return kept.receipt.model_copy(update={"erased": kept.epoch < epoch})
