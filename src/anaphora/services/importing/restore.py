"""Put an export back: the same sessions, messages, versions and summaries, with the same ids and times.

Nothing is written before the whole export was read and found sound. Then it goes in block by block. Every block is
compared with what the log holds already, in the transaction that writes it: so an import that was interrupted goes on
where it stopped, again brings nothing, and two at once are as good as one.

The log is restored first. What was derived from it comes with the last block of its session, in one transaction (I8),
and only where the log is exactly the exported one; anywhere else it is made anew.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from functools import partial

import anyio.to_thread

from anaphora.domain.keys import SeqRange, SessionKey, checked_id, union, uuid7
from anaphora.domain.plans import TAIL_TURNS
from anaphora.domain.records import ReceiptRecord, SessionRecord
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import InvalidInput
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.exchange import Entry, Kept
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.services.importing.exported import BLOCK, Piece, Receipts, Source, pieces, verified
from anaphora.services.importing.run import ImportReport, Progress
from anaphora.services.importing.values import BadFile
from anaphora.services.planning import Planning, first_without_model
from anaphora.services.settings import live_reader, rebuild_reader

_Group = Sequence[Piece | Receipts]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What came of one piece, or would come of it."""

    key: SessionKey | None = None
    #: nothing of the session may be written
    complaint: BadFile | None = None
    #: so far the log is exactly the exported one
    exact: bool = True
    new: int = 0
    held: int = 0
    #: there is something to write
    needed: bool = False


@dataclass(slots=True)
class _Run:
    """One import."""

    source: Source
    tenant: str
    #: whose the sessions are to be; None = as exported
    user: str | None
    progress: Progress | None
    #: what came of the sessions that are refused, or not over yet
    fates: dict[SessionKey, _Outcome] = field(default_factory=dict)
    complaint: BadFile | None = None
    report: ImportReport = field(default_factory=ImportReport)

    def key(self, named: SessionRecord | ReceiptRecord) -> SessionKey:
        """The session here."""
        return SessionKey(tenant=self.tenant, user=self.user or named.user, agent=named.agent, session=named.session)

    def apply(self, group: _Group, outcomes: Sequence[_Outcome]) -> None:
        """Count what was done, and remember what the next pieces depend on."""
        for item, outcome in zip(group, outcomes, strict=True):
            self.complaint = self.complaint or outcome.complaint
            over = isinstance(item, Piece) and item.last
            if outcome.key is not None:
                self.fates[outcome.key] = outcome
                if over and outcome.complaint is None:
                    del self.fates[outcome.key]
            self.report = replace(
                self.report,
                conversations=self.report.conversations + over,
                sessions=self.report.sessions + over,
                messages=self.report.messages + outcome.new,
                held=self.report.held + outcome.held,
            )
        if self.progress is not None:
            self.progress(self.report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Reads exports."""

    store: Store
    planning: Planning
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    max_message_bytes: int = 1 << 20

    async def restore(
        self, source: Source, *, tenant: str, user: str | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Bring in what is not there yet; the same export again brings nothing.

        A session that holds something else is left as it is, and keeps no other out: the first complaint is raised
        when all others are in. A failing store stops everything; run again to go on.

        Args:
            source: the export.
            tenant: whose store.
            user: another name for the only user of the export.
            progress: told the totals after every block.

        Raises:
            BadFile: the export is cut off, altered, of a later version, or none at all (then nothing was written), or
                a session here holds something else.
            InvalidInput: another name for several users.
            StoreError: the store failed; what was written stays.

        """
        footer = await anyio.to_thread.run_sync(verified, source, abandon_on_cancel=True)
        if user is not None and footer.users > 1:
            raise InvalidInput(f"the export holds {footer.users} users: another name is for one")
        async with aclosing(self._groups(source)) as everything:
            async for _ in everything:
                pass  # read once to the end before anything is written
        run = _Run(source, tenant, None if user is None else checked_id(user, "user"), progress)
        async with aclosing(self._groups(source)) as groups:
            async for group in groups:
                await self._take(run, group)
        if run.complaint is not None:
            raise run.complaint
        return run.report

    async def _groups(self, source: Source) -> AsyncGenerator[_Group]:
        found = pieces(source, strategies=self.planning.strategies.by_name, max_message_bytes=self.max_message_bytes)
        with closing(_grouped(found)) as groups:
            while (group := await anyio.to_thread.run_sync(next, groups, None)) is not None:
                yield group

    async def _take(self, run: _Run, group: _Group) -> None:
        outcomes = await self.store.read(run.tenant, partial(self._settle, run=run, group=group, write=False))
        if any(outcome.needed for outcome in outcomes):
            outcomes = await self.store.write(run.tenant, partial(self._settle, run=run, group=group, write=True))
            self.failpoint("restore.after_block")
        run.apply(group, outcomes)

    def _settle(self, unit: Unit, *, run: _Run, group: _Group, write: bool) -> Sequence[_Outcome]:
        """Compare, and write what is missing; or only see whether something is. It may run twice."""
        fates = dict(run.fates)
        outcomes: list[_Outcome] = []
        for item in group:
            if isinstance(item, Receipts):
                outcomes.append(_settle_receipts(unit, run, fates, item, write=write))
                continue
            key = run.key(item.about)
            outcome = self._settle_piece(unit, run, item, fates.get(key, _Outcome(key=key)), write=write)
            fates[key] = outcome
            outcomes.append(outcome)
        return outcomes

    def _settle_piece(self, unit: Unit, run: _Run, piece: Piece, before: _Outcome, *, write: bool) -> _Outcome:
        key = run.key(piece.about)
        before = replace(before, new=0, held=0, needed=False)
        if before.complaint is not None:
            return before
        row = unit.sessions.lock(key) if write else unit.sessions.find(key)
        head = row.head if row is not None else 0
        if head < piece.start:
            if not write:
                return replace(before, needed=True)
            return replace(before, complaint=_changed(run, piece))
        shared, missing = piece.entries[: head - piece.start], piece.entries[head - piece.start :]
        outcome = _compared(unit, run, piece, before, row, shared)
        if outcome.complaint is not None or (row is not None and not missing):
            return outcome
        holder = unit.exchange.holder(key.tenant, [entry.message.id for entry in missing]) if missing else None
        if holder is not None:
            return replace(outcome, complaint=_held_by(run, piece, holder))
        if write:
            after = self._add(unit, key, piece, row, missing)
            if piece.last:
                self._finish(unit, after, piece, exact=outcome.exact)
        return replace(outcome, new=len(missing), needed=True)

    def _add(
        self, unit: Unit, key: SessionKey, piece: Piece, row: SessionRow | None, missing: Sequence[Entry]
    ) -> SessionRow:
        """Write the missing messages, and the session as it is with them."""
        about = piece.about
        if row is None:
            session_id = uuid7(self.clock.now(), self.randomness(10))
            row = unit.sessions.create(
                key, session_id=session_id, strategy=about.strategy, subject=about.subject, now=about.created_at
            )
        elif row.head == 0:
            row = replace(row, strategy=about.strategy, subject=about.subject, created_at=about.created_at)
        after = replace(
            _grown(row, missing),
            turn_finished=about.turn_finished if piece.last else True,
            updated_at=about.updated_at,
            ended_at=about.ended_at if piece.last else None,
        )
        unit.exchange.add(after, missing)
        unit.exchange.save(after)
        return after

    def _finish(self, unit: Unit, row: SessionRow, piece: Piece, *, exact: bool) -> None:
        """What was derived, if the log is exactly the exported one; and the work that is due."""
        now = self.clock.now()
        if exact and unit.exchange.is_bare(row):
            unit.exchange.derive(row, piece.chain, piece.moves)
            self._plan_remaking(unit, row, piece)
        self.planning.plan_summarise(unit, row, now=now)
        self.planning.plan_embed(unit, row, now=now)

    def _plan_remaking(self, unit: Unit, row: SessionRow, piece: Piece) -> None:
        """Jobs are not exported: a rebuild under way goes on, what is stale or made without a model is made anew."""
        now = self.clock.now()
        strategy = self.planning.strategies.get(row.strategy).name
        live = unit.summaries.head(row.key.tenant, row.id, live_reader(strategy))
        served = unit.summaries.get(row.key.tenant, live.summary_id) if live.summary_id is not None else None
        stale = served is not None and served.status is SummaryStatus.STALE
        began = next((move for move in piece.moves if move.reader == rebuild_reader(strategy)), None)
        if began is not None:
            made = {summary.id for summary in piece.chain if summary.status is SummaryStatus.BUILDING}
            from_seq = 0 if began.summary_id in made else began.position
            waits = not stale and served is not None and first_without_model(served) is not None
            self.planning.plan_rebuild(unit, row, from_seq=from_seq, now=now, needs_model=waits)
        elif served is not None and stale:
            from_seq = unit.exchange.first_changed(row, served.range) or 0
            self.planning.plan_rebuild(unit, row, from_seq=from_seq, now=now)
        elif served is not None:
            self.planning.plan_redo(unit, row, served, now=now)


def _grouped(items: Iterator[Piece | Receipts]) -> Generator[_Group, None, None]:
    """What goes into one transaction: a block's worth, or one large piece."""
    group: list[Piece | Receipts] = []
    total = 0
    for item in items:
        weight = len(item.receipts) if isinstance(item, Receipts) else 1 + len(item.entries) + len(item.chain)
        if group and total + weight > BLOCK:
            yield group
            group, total = [], 0
        group.append(item)
        total += weight
    if group:
        yield group


def _compared(
    unit: Unit, run: _Run, piece: Piece, before: _Outcome, row: SessionRow | None, shared: Sequence[Entry]
) -> _Outcome:
    """Whether the messages that are there are those of the piece."""
    if row is None or not shared:
        return before
    exact = before.exact
    stamps = unit.exchange.stamps(row, SeqRange(piece.start, piece.start + len(shared)))
    for entry, stamp in zip(shared, stamps, strict=True):
        message = entry.message
        if stamp.id != message.id:
            return replace(before, complaint=_another(run, piece, f"its message {message.seq} is another one"))
        if (stamp.version, stamp.changed_at) == (message.version, message.changed_at):
            continue
        if stamp.version <= message.version:
            return replace(before, complaint=_another(run, piece, f"its message {message.seq} was changed since"))
        exact = False
    return replace(before, exact=exact, held=len(shared))


def _settle_receipts(
    unit: Unit, run: _Run, fates: dict[SessionKey, _Outcome], item: Receipts, *, write: bool
) -> _Outcome:
    known = unit.exchange.known_receipts(run.tenant, [receipt.id for receipt in item.receipts])
    rows: dict[SessionKey, SessionRow | None] = {}
    missing: list[Kept] = []
    for receipt in item.receipts:
        key = run.key(receipt)
        if key in fates and fates[key].complaint is not None:
            continue
        if key not in rows:
            rows[key] = unit.sessions.find(key)
        row = rows[key]
        if row is None or (receipt.range.stop > row.head and not receipt.erased):
            continue  # its messages are about to be written with it, or somebody reset the session just now
        epoch = row.epoch - 1 if receipt.erased else row.epoch
        stored = known.get(receipt.id)
        gone = stored is not None and stored.session_id == row.id and stored.epoch < epoch
        if stored is None or gone:
            missing.append(Kept(session_id=row.id, epoch=epoch, receipt=receipt))
    if write:
        unit.exchange.add_receipts(run.tenant, missing)
    return _Outcome(needed=bool(missing))


def _grown(row: SessionRow, entries: Sequence[Entry]) -> SessionRow:
    """The session with these messages at its end."""
    messages = [entry.message for entry in entries]
    starts = [message.seq for message in messages if message.turn == message.seq]
    gone = (SeqRange(message.seq, message.seq + 1) for message in messages if message.deleted)
    return replace(
        row,
        head=row.head + len(messages),
        turns=row.turns + len(starts),
        turn_starts=(*row.turn_starts, *starts)[-TAIL_TURNS:],
        tokens=row.tokens + sum(message.tokens for message in messages),
        deleted=union((*row.deleted, *gone)),
    )


def _another(run: _Run, piece: Piece, why: str) -> BadFile:
    name, user = piece.about.session, run.key(piece.about).user
    return run.source.bad(
        f"session {name!r} of user {user!r} holds something else here ({why}): reset it, or import into another "
        "database or tenant",
        line=piece.line,
    )


def _held_by(run: _Run, piece: Piece, holder: SessionKey) -> BadFile:
    name = piece.about.session
    return run.source.bad(
        f"messages of session {name!r} are here already, in session {holder.session!r} of user {holder.user!r} with "
        f"agent {holder.agent!r}: import a copy into another database or tenant",
        line=piece.line,
    )


def _changed(run: _Run, piece: Piece) -> BadFile:
    return run.source.bad(
        f"session {piece.about.session!r} was reset while it was imported: run the import again", line=piece.line
    )
