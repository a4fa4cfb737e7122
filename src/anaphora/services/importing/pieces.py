"""What an export holds, in pieces that fit into memory and into one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.fact_records import (
    ChunkRecord,
    FactRecord,
    FactSourceRecord,
    FactVersionRecord,
    SubjectRecord,
)
from anaphora.domain.notepad_records import PageRecord
from anaphora.domain.records import MoveRecord, ReceiptRecord, SessionRecord, SummaryRecord
from anaphora.domain.topic_records import TopicRecord
from anaphora.ports.exchange import Entry

#: messages, receipts, subjects, or facts with what belongs to them, of one piece at most
BLOCK: Final = 500


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
    chunks: tuple[ChunkRecord, ...] = ()
    topics: tuple[TopicRecord, ...] = ()
    moves: tuple[MoveRecord, ...] = ()

    @property
    def stop(self) -> int:
        """The number behind the last message."""
        return self.start + len(self.entries)

    @property
    def weight(self) -> int:
        """How much there is to write."""
        return 1 + len(self.entries) + len(self.chain) + len(self.chunks) + len(self.topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """Receipts of any sessions."""

    line: int
    receipts: tuple[ReceiptRecord, ...]

    @property
    def weight(self) -> int:
        """How much there is to write."""
        return len(self.receipts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Subjects, each with its line."""

    subjects: tuple[tuple[int, SubjectRecord], ...]

    @property
    def weight(self) -> int:
        """How much there is to write."""
        return len(self.subjects)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFact:
    """One fact with its earlier versions and what it was learned from."""

    line: int
    fact: FactRecord
    versions: tuple[FactVersionRecord, ...]
    sources: tuple[FactSourceRecord, ...]

    @property
    def weight(self) -> int:
        """How much there is to write."""
        return 1 + len(self.versions) + len(self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFacts:
    """Facts of any users."""

    facts: tuple[KnownFact, ...]

    @property
    def weight(self) -> int:
        """How much there is to write."""
        return sum(fact.weight for fact in self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notepad:
    """Every page of one notepad, the oldest first."""

    #: where it begins in the file
    line: int
    user: str
    agent: str
    pages: tuple[PageRecord, ...]

    @property
    def weight(self) -> int:
        """How much there is to write."""
        return len(self.pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Documents, each with its line."""

    documents: tuple[tuple[int, DocumentRecord], ...]

    @property
    def weight(self) -> int:
        """How much there is to write: a block of documents is a transaction of its own."""
        return BLOCK


Item = Piece | Receipts | Subjects | KnownFacts | Notepad | Documents
