"""Exports as they are read: whole or not at all, then piece by piece.

`verified` looks at every byte: what was cut off or altered is told by its sum. `pieces` understands the records one by
one, and holds no more than a block of messages, and what was derived from one session, in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Role
from anaphora.domain.records import (
    FooterRecord,
    HeaderRecord,
    MessageRecord,
    MoveRecord,
    ReceiptRecord,
    Record,
    SessionRecord,
    SummaryRecord,
    VersionRecord,
    record_of,
)
from anaphora.domain.summaries import Point, SummaryStatus, check_tiling
from anaphora.errors import InvalidInput
from anaphora.ports.exchange import Entry
from anaphora.rules.admission import check_size, new_message
from anaphora.services.export import Tally
from anaphora.services.importing.values import BadFile
from anaphora.services.settings import live_reader

#: messages, or receipts, of one piece at most
BLOCK: Final = 500
#: characters after which a piece ends
_BLOCK_CHARS: Final = 4 << 20
_SERVED = frozenset({SummaryStatus.COMPLETED, SummaryStatus.STALE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Lines that can be read more than once."""

    #: of the file, for complaints; may be empty
    name: str
    open: Callable[[], AbstractContextManager[Iterator[str]]]

    def lines(self) -> Iterator[tuple[int, str]]:
        """Lines that are not blank, with their numbers from 1 and without what ends them."""
        try:
            with self.open() as lines:
                for number, line in enumerate(lines, start=1):
                    text = line.rstrip("\r\n")
                    if text:
                        yield number, text
        except UnicodeDecodeError:
            raise self.bad("expected UTF-8 text: the export was altered, or is damaged") from None
        except FileNotFoundError:
            raise self.bad("there is no such file") from None
        except OSError as error:
            raise self.bad(f"the file cannot be read ({error.strerror})") from None

    def bad(self, problem: str, *, line: int | None = None) -> BadFile:
        """The error that says what is wrong there."""
        return BadFile(self.name, "" if line is None else f"line {line}", problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Messages of one session, in order; the last piece has all that was derived from them."""

    about: SessionRecord
    #: where the session begins in the file
    line: int
    #: the number of the first message
    start: int
    entries: tuple[Entry, ...]
    last: bool
    chain: tuple[SummaryRecord, ...] = ()
    moves: tuple[MoveRecord, ...] = ()

    @property
    def stop(self) -> int:
        """The number behind the last message."""
        return self.start + len(self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """Receipts of any sessions."""

    line: int
    receipts: tuple[ReceiptRecord, ...]


def verified(source: Source) -> FooterRecord:
    """The footer of an export that is whole; all of it is read.

    Raises:
        BadFile: it is no export, of a later version, cut off, or altered.

    """
    digest = hashlib.sha256()
    last = ""
    for number, text in source.lines():
        if last:
            digest.update(f"{last}\n".encode())
        else:
            _check_header(source, text, number)
        last = text
    if not last:
        raise source.bad("expected an export, but there is nothing in it")
    try:
        footer = record_of(last)
    except InvalidInput:
        footer = None
    if not isinstance(footer, FooterRecord):
        raise source.bad("the export is not whole: its last line, with the counts and the sum, is missing")
    if footer.sha256 != digest.hexdigest():
        raise source.bad("the export was altered, or is damaged: its sum is not the one in its last line")
    return footer


def pieces(source: Source, *, strategies: Collection[str], max_message_bytes: int) -> Iterator[Piece | Receipts]:
    """What an export holds, lazily: the sessions one after the other, then the receipts.

    Args:
        source: as `verified` found it.
        strategies: those that there are here.
        max_message_bytes: how large a message may be.

    Raises:
        BadFile: when it is reached, for what does not belong in an export or could not be stored.

    """
    reader = _Reader(strategies, max_message_bytes)
    for number, text in source.lines():
        try:
            yield from reader.take(record_of(text), number, len(text))
        except InvalidInput as error:
            raise source.bad(str(error), line=number) from None
    if not reader.over:
        raise source.bad("the export changed while it was read: try again")


def _check_header(source: Source, text: str, number: int) -> None:
    try:
        found = record_of(text)
    except InvalidInput as error:
        raise source.bad(str(error), line=number) from None
    if not isinstance(found, HeaderRecord):
        raise source.bad("expected the first line of an export", line=number)


@dataclass(slots=True)
class _Session:
    """The session that is being read."""

    about: SessionRecord
    line: int
    #: messages of pieces that were handed out
    start: int = 0
    entries: list[Entry] = field(default_factory=list)
    chars: int = 0
    #: of the last message
    turn: int = 0
    chain: list[SummaryRecord] = field(default_factory=list)
    by_id: dict[UUID, SummaryRecord] = field(default_factory=dict)
    served: set[tuple[str, SeqRange]] = field(default_factory=set)
    moves: list[MoveRecord] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Messages that were read."""
        return self.start + len(self.entries)


class _Reader:
    """Puts records together, and checks what one record says of another."""

    def __init__(self, strategies: Collection[str], max_message_bytes: int) -> None:
        self._strategies = strategies
        self._max_message_bytes = max_message_bytes
        self._begun = False
        self._session: _Session | None = None
        self._lengths: dict[tuple[str, str, str], int] = {}
        self._key = ("", "", "")
        self._receipts: list[ReceiptRecord] = []
        self._last_receipt: UUID | None = None
        self._tally = Tally()
        #: the footer was read
        self.over = False

    def take(self, record: Record, line: int, chars: int) -> Iterator[Piece | Receipts]:
        """Take one record in; what is complete by that is handed out."""
        if self.over or self._begun == isinstance(record, HeaderRecord):
            raise InvalidInput("an export has one header, at its beginning, and one footer, at its end")
        match record:
            case HeaderRecord():
                self._begun = True
            case SessionRecord():
                yield from self._close()
                self._open(record, line)
            case MessageRecord():
                yield from self._add_message(record, chars)
            case VersionRecord():
                self._add_version(record, chars)
            case SummaryRecord():
                self._add_summary(record)
            case MoveRecord():
                self._add_move(record)
            case ReceiptRecord():
                yield from self._close()
                yield from self._add_receipt(record, line)
            case FooterRecord():
                yield from self._close()
                yield from self._flush_receipts(line)
                self._end(record)

    def _open(self, about: SessionRecord, line: int) -> None:
        key = (about.user, about.agent, about.session)
        if key <= self._key or self._last_receipt is not None:
            raise InvalidInput("sessions stand in the order of user, agent and name, before all receipts")
        if about.strategy is not None and about.strategy not in self._strategies:
            known = ", ".join(sorted(self._strategies))
            raise InvalidInput(f"strategy: there is none of this name here, only {known}")
        self._tally.sessions += 1
        self._tally.users += about.user != self._key[0]
        self._key = key
        self._lengths[key] = about.messages
        self._session = _Session(about, line)

    def _current(self) -> _Session:
        if self._session is None:
            raise InvalidInput("it belongs to no session")
        return self._session

    def _add_message(self, record: MessageRecord, chars: int) -> Iterator[Piece]:
        session = self._current()
        _check_versions(session)
        if record.seq != session.count or record.seq >= session.about.messages or session.chain or session.moves:
            raise InvalidInput(f"seq: expected message {session.count} of {session.about.messages}")
        if record.turn != record.seq and (record.seq == 0 or record.turn != session.turn):
            raise InvalidInput("turn: expected the turn of the message before, or a new one that begins here")
        if (record.version > 1) != (record.changed_at is not None):
            raise InvalidInput("changed_at: expected for versions after the first, and only there")
        if record.deleted:
            if record.version == 1 or record.content or record.parts or record.name is not None or record.tokens:
                raise InvalidInput("deleted: what is deleted was said before, and says nothing any more")
            new_message(record.role, "-", metadata=record.metadata, created_at=record.created_at)
        else:
            self._check_said(record, record.role, record.created_at)
        if len(session.entries) >= BLOCK or session.chars >= _BLOCK_CHARS:
            yield _piece(session, last=False)
        session.turn = record.turn
        session.entries.append(Entry(message=record))
        session.chars += chars
        self._tally.messages += 1

    def _add_version(self, record: VersionRecord, chars: int) -> None:
        session = self._current()
        if not session.entries or session.chain or session.moves:
            raise InvalidInput("it belongs to no message")
        entry = session.entries[-1]
        number = len(entry.versions) + 1
        if (record.seq, record.version) != (entry.message.seq, number) or number >= entry.message.version:
            raise InvalidInput(f"version: message {entry.message.seq} has others")
        if not record.seq < record.replaced_head <= session.about.messages:
            raise InvalidInput("replaced_head: expected a length that the session had")
        self._check_said(record, entry.message.role, entry.message.created_at)
        session.entries[-1] = Entry(message=entry.message, versions=(*entry.versions, record))
        session.chars += chars
        self._tally.versions += 1

    def _check_said(self, record: MessageRecord | VersionRecord, role: Role, created_at: datetime) -> None:
        said = new_message(
            role,
            record.content,
            name=record.name,
            parts=record.parts,
            metadata=record.metadata,
            created_at=created_at,
        )
        check_size(said, self._max_message_bytes)

    def _add_summary(self, record: SummaryRecord) -> None:
        session = self._current()
        _check_complete(session)
        if session.moves:
            raise InvalidInput("summaries stand before the moves of readers")
        _check_summary(session, record)
        session.chain.append(record)
        session.by_id[record.id] = record
        self._tally.summaries += 1

    def _add_move(self, record: MoveRecord) -> None:
        session = self._current()
        _check_complete(session)
        if session.moves and record.reader < session.moves[-1].reader:
            raise InvalidInput("reader: moves stand in the order of their readers")
        summary = session.by_id.get(record.summary_id) if record.summary_id is not None else None
        if (summary is None) != (record.summary_id is None) or record.position != (
            summary.range.stop if summary else 0
        ):
            raise InvalidInput("position: expected the end of a version of this session")
        if not record.position <= record.log_head <= session.about.messages:
            raise InvalidInput("log_head: expected a length that the session had")
        session.moves.append(record)
        self._tally.moves += 1

    def _add_receipt(self, record: ReceiptRecord, line: int) -> Iterator[Receipts]:
        length = self._lengths.get((record.user, record.agent, record.session))
        if length is None or not record.range or not (record.erased or record.range.stop <= length):
            raise InvalidInput("range: expected messages of a session of this export")
        if self._last_receipt is not None and record.id <= self._last_receipt:
            raise InvalidInput("id: receipts stand in the order of their ids")
        self._last_receipt = record.id
        self._receipts.append(record)
        self._tally.receipts += 1
        if len(self._receipts) >= BLOCK:
            yield from self._flush_receipts(line)

    def _flush_receipts(self, line: int) -> Iterator[Receipts]:
        if self._receipts:
            yield Receipts(line=line, receipts=tuple(self._receipts))
            self._receipts = []

    def _close(self) -> Iterator[Piece]:
        session, self._session = self._session, None
        if session is None:
            return
        _check_complete(session)
        last = {move.reader: session.by_id[move.summary_id] for move in session.moves if move.summary_id is not None}
        for reader, summary in last.items():
            if reader == live_reader(summary.strategy) and summary.status not in _SERVED:
                raise InvalidInput("the session before serves a version that is not completed")
        yield _piece(session, last=True)

    def _end(self, record: FooterRecord) -> None:
        self.over = True
        if any(getattr(record, name) != count for name, count in asdict(self._tally).items()):
            raise InvalidInput("the counts are not those of the lines before")


def _check_versions(session: _Session) -> None:
    if session.entries and len(session.entries[-1].versions) != session.entries[-1].message.version - 1:
        raise InvalidInput(f"earlier versions of message {session.count - 1} are missing")


def _check_complete(session: _Session) -> None:
    _check_versions(session)
    if session.count != session.about.messages:
        raise InvalidInput(
            f"messages of the session are missing: {session.count} of {session.about.messages} are there"
        )


def _check_summary(session: _Session, record: SummaryRecord) -> None:
    before = session.chain[-1] if session.chain else None
    if before is not None and (record.strategy, record.version) <= (before.strategy, before.version):
        raise InvalidInput("version: summaries stand in the order of strategy and version")
    base = session.by_id.get(record.base_id) if record.base_id is not None else None
    if record.base_id is not None and (base is None or base.strategy != record.strategy):
        raise InvalidInput("base_id: expected an earlier version of this session and strategy")
    if record.range.stop > session.about.messages:
        raise InvalidInput("range: expected messages of this session")
    check_tiling(
        tuple(Point(text=point.text, range=point.range, elided=tuple(point.elided)) for point in record.points),
        record.range,
    )
    reached = [state.status for state in record.states]
    if record.status not in reached or len(set(reached)) != len(reached):
        raise InvalidInput("states: expected each status once, and that of the version among them")
    if any(state.log_head > session.about.messages for state in record.states):
        raise InvalidInput("states: expected lengths that the session had")
    if record.status is SummaryStatus.COMPLETED:
        if (record.strategy, record.range) in session.served:
            raise InvalidInput("range: another completed version has it")
        session.served.add((record.strategy, record.range))


def _piece(session: _Session, *, last: bool) -> Piece:
    """All that waits, handed out."""
    made = Piece(
        about=session.about,
        line=session.line,
        start=session.start,
        entries=tuple(session.entries),
        last=last,
        chain=tuple(session.chain),
        moves=tuple(session.moves),
    )
    session.start, session.entries, session.chars = session.count, [], 0
    return made
