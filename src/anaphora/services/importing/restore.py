"""Put an export back: the same sessions, messages, versions, summaries and facts, with the same ids and times.

Nothing is written before the whole export was read and found sound. Then it goes in block by block. Every block is
compared with what the log holds already, in the transaction that writes it: so an import that was interrupted goes on
where it stopped, again brings nothing, and two at once are as good as one.

The log is restored first. What was derived from it comes with the last block of its session, in one transaction (I8),
and only where the log is exactly the exported one; anywhere else it is made anew. Facts come behind it, notepads
last.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias
from uuid import UUID

import anyio.to_thread

from anaphora.domain.documents import DocumentChunk
from anaphora.domain.keys import SeqRange, SessionKey, checked_id, union, uuid7
from anaphora.domain.plans import TAIL_TURNS
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.errors import InvalidInput
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.exchange import Entry, Kept
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.documents import Chunking
from anaphora.rules.erasure import mark_of_receipt
from anaphora.services.importing.erased import Gone
from anaphora.services.importing.exported import Source, pieces, verified
from anaphora.services.importing.pieces import BLOCK, Documents, Item, KnownFacts, Notepad, Piece, Receipts, Subjects
from anaphora.services.importing.restore_documents import chunks_of, settle_documents
from anaphora.services.importing.restore_facts import settle_facts, settle_subjects, settle_successors
from anaphora.services.importing.restore_pages import settle_notepad
from anaphora.services.importing.restoring import Group, Outcome, Run
from anaphora.services.importing.run import ImportReport, Progress
from anaphora.services.importing.values import BadFile
from anaphora.services.planning import Planning, first_without_model
from anaphora.services.settings import live_reader, rebuild_reader

_Chunks: TypeAlias = Mapping[UUID, Sequence[DocumentChunk]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Reads exports."""

    store: Store
    planning: Planning
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    counter: TokenCounter
    chunking: Chunking
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
            user: another name for the only user of the export. Nothing is written then but what is this user's.
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
        wanted = None if user is None else checked_id(user, "user")
        run = Run(source, tenant, wanted, await self.store.secret(), progress)
        async with aclosing(self._groups(source)) as everything:
            async for group in everything:
                run.note(group)  # read once to the end before anything is written
        run.noted()
        async with aclosing(self._groups(source)) as groups:
            async for group in groups:
                await self._take(run, group)
        if run.succeeded:
            await self._put_right(run)
        if run.complaint is not None:
            raise run.complaint
        return run.report

    async def _groups(self, source: Source) -> AsyncGenerator[Group]:
        found = pieces(source, strategies=self.planning.strategies.by_name, max_message_bytes=self.max_message_bytes)
        with closing(_grouped(found)) as groups:
            while (group := await anyio.to_thread.run_sync(next, groups, None)) is not None:
                yield group

    async def _take(self, run: Run, group: Group) -> None:
        outcomes = await self.store.read(run.tenant, partial(self._settle, run=run, group=group, chunks=None))
        if any(outcome.needed for outcome in outcomes):
            chunks = await self._cut(group)
            outcomes = await self.store.write(run.tenant, partial(self._settle, run=run, group=group, chunks=chunks))
            self.failpoint("restore.after_block")
        run.apply(group, outcomes)

    async def _cut(self, group: Group) -> _Chunks:
        """The chunks of the documents."""
        made: dict[UUID, Sequence[DocumentChunk]] = {}
        for item in group:
            if isinstance(item, Documents):
                made |= await anyio.to_thread.run_sync(chunks_of, item, self.chunking, self.counter.count)
        return made

    async def _put_right(self, run: Run) -> None:
        if await self.store.read(run.tenant, partial(settle_successors, run=run, write=False)):
            await self.store.write(run.tenant, partial(settle_successors, run=run, write=True))
            self.failpoint("restore.after_block")

    def _settle(self, unit: Unit, *, run: Run, group: Group, chunks: _Chunks | None) -> Sequence[Outcome]:
        """Compare, and write what is missing; without chunks only see whether something is. It may run twice."""
        write = chunks is not None
        fates = dict(run.fates)
        outcomes: list[Outcome] = []
        gone = Gone.of(unit, run)
        for item in group:
            match item:
                case Piece():
                    key = run.key(item.about)
                    outcome = self._settle_piece(unit, gone, item, fates.get(key, Outcome(key=key)), write=write)
                    fates[key] = outcome
                case Receipts():
                    outcome = _settle_receipts(unit, gone, fates, item, write=write)
                case Subjects():
                    outcome = settle_subjects(unit, gone, item, write=write)
                case KnownFacts():
                    outcome = settle_facts(unit, gone, item, write=write)
                case Notepad():
                    outcome = settle_notepad(unit, gone, fates, item, write=write)
                case Documents():
                    outcome = settle_documents(unit, gone, fates, item, chunks=chunks)
            outcomes.append(outcome)
        return outcomes

    def _settle_piece(self, unit: Unit, gone: Gone, piece: Piece, before: Outcome, *, write: bool) -> Outcome:
        run = gone.run
        key = run.key(piece.about)
        before = replace(before, new=0, held=0, erased=0, needed=False)
        if before.complaint is not None or gone.session(piece.about):
            return replace(before, erased=0 if before.complaint else len(piece.entries))
        row = unit.sessions.lock(key) if write else unit.sessions.find(key, hidden=True)
        head = row.head if row is not None else 0
        if head < piece.start:
            return replace(before, complaint=_changed(run, piece)) if write else replace(before, needed=True)
        shared, missing = piece.entries[: head - piece.start], piece.entries[head - piece.start :]
        outcome = _compared(unit, run, piece, before, row, shared)
        if outcome.complaint is not None or (row is not None and not missing):
            return outcome
        holder = unit.exchange.holder(key.tenant, [entry.message.id for entry in missing]) if missing else None
        if holder == key and row is None and unit.sessions.lock(key) is not None:
            # another one who brings the same was faster, and made the session meanwhile
            return self._settle_piece(unit, gone, piece, before, write=write)
        if holder is not None:
            return replace(outcome, complaint=_held_by(run, piece, holder))
        sound = gone.blanked(key, missing, self.clock.now())
        pairs = zip((entry.message for entry in sound), (entry.message for entry in missing), strict=True)
        erased = [new.seq for new, old in pairs if new.erased and not old.erased]
        outcome = replace(outcome, changed=_with(outcome.changed, erased), erased=outcome.erased + len(erased))
        if write:
            after = self._add(unit, key, piece, row, sound)
            if piece.last:
                self._finish(unit, after, piece, exact=not outcome.changed)
        return replace(outcome, new=len(missing) - len(erased), needed=True)

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
        if row.expired_at is not None:
            unit.sessions.revive(row)
            row = replace(row, expired_at=None)
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
            unit.exchange.derive(row, piece.chain, piece.chunks, piece.topics, piece.moves)
            self._plan_remaking(unit, row, piece)
            self._plan_rereading(unit, row, piece)
            self._plan_describing(unit, row, piece)
        self.planning.plan_compaction(unit, row, now=now)
        self.planning.plan_embed(unit, row, now=now)
        self.planning.plan_extract(unit, row, now=now)
        self.planning.plan_reflect(unit, row, now=now)

    def _plan_remaking(self, unit: Unit, row: SessionRow, piece: Piece) -> None:
        """Jobs are not exported: a rebuild under way goes on, what is stale or made without a model is made anew."""
        now = self.clock.now()
        strategy = self.planning.strategies.get(row.strategy).name
        _, served = unit.summaries.served(row.key.tenant, row.id, live_reader(strategy))
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

    def _plan_rereading(self, unit: Unit, row: SessionRow, piece: Piece) -> None:
        """Chunks that are stale, or made without a model, are made anew."""
        now = self.clock.now()
        if any(chunk.stale for chunk in piece.chunks):
            self.planning.plan_reextract(unit, row, now=now)
        elif any(chunk.method is Method.EXTRACTIVE for chunk in piece.chunks):
            self.planning.plan_reextract_with_model(unit, row, now=now)

    def _plan_describing(self, unit: Unit, row: SessionRow, piece: Piece) -> None:
        """Topics that are stale or not described yet are described, those that no model described when one is there."""
        now = self.clock.now()
        if any(topic.stale or topic.summary is None for topic in piece.topics):
            self.planning.plan_describe(unit, row, now=now)
        elif any(topic.method is not Method.MODEL for topic in piece.topics):
            self.planning.plan_describe_with_model(unit, row, now=now)


def _grouped(items: Iterator[Item]) -> Generator[Group, None, None]:
    """What goes into one transaction: a block's worth, or one large piece."""
    group: list[Item] = []
    total = 0
    for item in items:
        if group and total + item.weight > BLOCK:
            yield group
            group, total = [], 0
        group.append(item)
        total += item.weight
    if group:
        yield group


def _compared(
    unit: Unit, run: Run, piece: Piece, before: Outcome, row: SessionRow | None, shared: Sequence[Entry]
) -> Outcome:
    """Whether the messages that are there are those of the piece."""
    if row is None or not shared:
        return before
    changed, erased = list[int](), 0
    stamps = unit.exchange.stamps(row, SeqRange(piece.start, piece.start + len(shared)))
    for entry, stamp in zip(shared, stamps, strict=True):
        message = entry.message
        if stamp.id != message.id:
            return replace(before, complaint=_another(run, piece, f"its message {message.seq} is another one"))
        if (stamp.version, stamp.changed_at) == (message.version, message.changed_at):
            continue
        erased += stamp.erased
        if stamp.version <= message.version:
            return replace(before, complaint=_another(run, piece, f"its message {message.seq} was changed since"))
        changed.append(message.seq)
    return replace(before, changed=_with(before.changed, changed), held=len(shared) - erased, erased=erased)


def _with(changed: tuple[SeqRange, ...], seqs: Iterable[int]) -> tuple[SeqRange, ...]:
    return union((*changed, *(SeqRange(seq, seq + 1) for seq in seqs)))


def _settle_receipts(
    unit: Unit, gone: Gone, fates: dict[SessionKey, Outcome], item: Receipts, *, write: bool
) -> Outcome:
    run, erased = gone.run, gone.receipts(item.receipts)
    known = unit.exchange.known_receipts(run.tenant, [receipt.id for receipt in item.receipts])
    rows: dict[SessionKey, SessionRow | None] = {}
    missing: list[Kept] = []
    for receipt in item.receipts:
        key = run.key(receipt)
        if (key in fates and fates[key].complaint is not None) or mark_of_receipt(run.secret, receipt.id) in erased:
            continue
        if key not in rows:
            rows[key] = unit.sessions.find(key)
        row = rows[key]
        if row is None or (receipt.range.stop > row.head and not receipt.erased):
            continue  # its messages are about to be written with it, or somebody reset the session just now
        epoch = row.epoch - 1 if receipt.erased else row.epoch
        stored = known.get(receipt.id)
        over = stored is not None and stored.session_id == row.id and stored.epoch < epoch
        if stored is None or over:
            missing.append(Kept(session_id=row.id, epoch=epoch, receipt=receipt))
    if write:
        unit.exchange.add_receipts(run.tenant, missing)
    return Outcome(needed=bool(missing))


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


def _another(run: Run, piece: Piece, why: str) -> BadFile:
    name, user = piece.about.session, run.key(piece.about).user
    return run.source.bad(
        f"session {name!r} of user {user!r} holds something else here ({why}): reset it, or import into another "
        "database or tenant",
        line=piece.line,
    )


def _held_by(run: Run, piece: Piece, holder: SessionKey) -> BadFile:
    name = piece.about.session
    if run.user not in {None, holder.user}:
        return run.source.bad(
            f"messages of session {name!r} are here already, of another user: import a copy into another database or "
            "tenant",
            line=piece.line,
        )
    return run.source.bad(
        f"messages of session {name!r} are here already, in session {holder.session!r} of user {holder.user!r} with "
        f"agent {holder.agent!r}: import a copy into another database or tenant",
        line=piece.line,
    )


def _changed(run: Run, piece: Piece) -> BadFile:
    return run.source.bad(
        f"session {piece.about.session!r} was reset while it was imported: run the import again", line=piece.line
    )
