"""Exports as they are read: whole or not at all, then piece by piece.

`verified` looks at every byte: what was cut off or altered is told by its sum. `pieces` understands the records one by
one, and holds no more than a block of messages, and what was derived from one session, in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TypeAlias
from uuid import UUID

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.fact_records import (
    ChunkRecord,
    FactRecord,
    FactSourceRecord,
    FactVersionRecord,
    SubjectRecord,
)
from anaphora.domain.notepad_records import PageRecord
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
from anaphora.domain.topic_records import TopicRecord
from anaphora.errors import InvalidInput
from anaphora.services.importing.document_lines import DocumentLines
from anaphora.services.importing.fact_lines import FactLines
from anaphora.services.importing.page_lines import PageLines
from anaphora.services.importing.pieces import BLOCK, Item, Piece, Receipts
from anaphora.services.importing.session_lines import SessionLines
from anaphora.services.importing.values import BadFile
from anaphora.services.settings import without_agent
from anaphora.services.tally import Tally

#: what belongs to a session
_Said: TypeAlias = MessageRecord | VersionRecord | SummaryRecord | ChunkRecord | TopicRecord | MoveRecord


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


def pieces(source: Source, *, strategies: Collection[str], max_message_bytes: int) -> Iterator[Item]:
    """What an export holds, lazily: the sessions one after the other, the receipts, then what is known.

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


class _Reader:
    """Hands every record to where it belongs, and checks the order of all of them."""

    def __init__(self, strategies: Collection[str], max_message_bytes: int) -> None:
        self._strategies = strategies
        self._max_message_bytes = max_message_bytes
        self._begun = False
        self._session: SessionLines | None = None
        self._lengths: dict[tuple[str, str, str], int] = {}
        self._key = ("", "", "")
        self._receipts: list[ReceiptRecord] = []
        self._last_receipt: UUID | None = None
        self._tally = Tally()
        self._facts = FactLines(self._lengths, self._tally)
        self._pages = PageLines(self._lengths, self._tally)
        self._documents = DocumentLines(self._lengths, self._tally)
        #: the footer was read
        self.over = False

    def take(self, record: Record, line: int, chars: int) -> Iterator[Item]:
        """Take one record in; what is complete by that is handed out."""
        if self.over or self._begun == isinstance(record, HeaderRecord):
            raise InvalidInput("an export has one header, at its beginning, and one footer, at its end")
        if self._documents.begun and not isinstance(record, DocumentRecord | FooterRecord):
            raise InvalidInput("documents stand behind all else")
        if self._pages.begun and not isinstance(record, PageRecord | DocumentRecord | FooterRecord):
            raise InvalidInput("pages of notepads stand behind all else but documents")
        match record:
            case HeaderRecord():
                self._begun = True
            case SessionRecord():
                yield from self._close()
                self._open(record, line)
            case ReceiptRecord():
                yield from self._close()
                yield from self._add_receipt(record, line)
            case FooterRecord():
                yield from self._finish(line)
                yield from self._pages.flush()
                yield from self._documents.flush()
                self._end(record)
            case SubjectRecord() | FactRecord() | FactVersionRecord() | FactSourceRecord():
                yield from self._close()
                yield from self._flush_receipts(line)
                yield from self._take_known(record, line)
            case PageRecord():
                yield from self._finish(line)
                yield from self._pages.add(record, line)
            case DocumentRecord():
                yield from self._finish(line)
                yield from self._pages.flush()
                yield from self._documents.add(record, line)
            case _:
                yield from self._take_said(record, chars)

    def _finish(self, line: int) -> Iterator[Item]:
        """Sessions, receipts and facts are over."""
        yield from self._close()
        yield from self._flush_receipts(line)
        yield from self._facts.flush()

    def _take_said(self, record: _Said, chars: int) -> Iterator[Piece]:
        session = self._session
        if session is None:
            raise InvalidInput("it belongs to no session")
        match record:
            case MessageRecord():
                yield from session.add_message(record, chars)
            case VersionRecord():
                session.add_version(record, chars)
            case SummaryRecord():
                session.add_summary(record)
            case ChunkRecord():
                session.add_chunk(record)
            case TopicRecord():
                session.add_topic(record)
            case MoveRecord():
                session.add_move(record)

    def _take_known(
        self, record: SubjectRecord | FactRecord | FactVersionRecord | FactSourceRecord, line: int
    ) -> Iterator[Item]:
        match record:
            case SubjectRecord():
                yield from self._facts.add_subject(record, line)
            case FactRecord():
                yield from self._facts.add_fact(record, line)
            case FactVersionRecord():
                self._facts.add_version(record)
            case FactSourceRecord():
                self._facts.add_source(record)

    def _open(self, about: SessionRecord, line: int) -> None:
        key = (about.user, about.agent, about.session)
        if key <= self._key or self._last_receipt is not None or self._facts.begun:
            raise InvalidInput("sessions stand in the order of user, agent and name, before all receipts")
        if about.strategy is not None and without_agent(about.strategy) not in self._strategies:
            known = ", ".join(sorted(self._strategies))
            raise InvalidInput(f"strategy: there is none of this name here, only {known}")
        self._tally.sessions += 1
        self._key = key
        self._lengths[key] = about.messages
        self._session = SessionLines(about, line, self._tally, self._max_message_bytes)

    def _add_receipt(self, record: ReceiptRecord, line: int) -> Iterator[Receipts]:
        length = self._lengths.get((record.user, record.agent, record.session))
        if length is None or not record.range or not (record.erased or record.range.stop <= length):
            raise InvalidInput("range: expected messages of a session of this export")
        if self._facts.begun or (self._last_receipt is not None and record.id <= self._last_receipt):
            raise InvalidInput("id: receipts stand in the order of their ids, before all subjects and facts")
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
        if session is not None:
            yield from session.close()

    def _end(self, record: FooterRecord) -> None:
        self.over = True
        users = {user for user, _, _ in self._lengths} | self._facts.owners
        self._tally.users = len(users | self._pages.users | self._documents.users)
        if any(getattr(record, name) != count for name, count in asdict(self._tally).items()):
            raise InvalidInput("the counts are not those of the lines before")
