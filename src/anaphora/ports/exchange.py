"""Whole sessions and what is known, row by row: out of a store, and into another exactly as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.fact_records import (
    ChunkRecord,
    FactRecord,
    FactSourceRecord,
    FactVersionRecord,
    SubjectRecord,
)
from anaphora.domain.facts import Fact, FactAction, FactVersion, Source
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.notepad_records import PageRecord
from anaphora.domain.records import (
    MessageRecord,
    MoveRecord,
    ReceiptRecord,
    SummaryRecord,
    VersionRecord,
)
from anaphora.domain.topic_records import TopicRecord
from anaphora.ports.rows import SessionRow, StoredReceipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of a tenant is meant; None = any."""

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    @property
    def names_sessions(self) -> bool:
        """Only some of a user's sessions are meant, and of what is known only what they told."""
        return self.agent is not None or self.session is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message with its earlier versions, oldest first."""

    message: MessageRecord
    versions: tuple[VersionRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What tells whether a stored message is a given one, as it is now."""

    id: UUID
    version: int
    changed_at: datetime | None
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A receipt, with the session and the epoch that it belongs to."""

    session_id: UUID
    epoch: int
    receipt: ReceiptRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSource:
    """What a fact was learned from, with the session and the epoch that its message belongs to now."""

    session_id: UUID
    epoch: int
    source: FactSourceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPage:
    """A page of a notepad, with the session that it was made of, if any."""

    session_id: UUID | None
    page: PageRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDocumentRecord:
    """A document, with the session that it was made of, if any, and that one's epoch."""

    session_id: UUID | None
    epoch: int
    document: DocumentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What tells whether a stored message still says what was quoted of it."""

    id: UUID
    version: int
    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEntry:
    """A fact as it is to be kept, with its sources in it and its past beside it."""

    fact: Fact
    #: what made the version that it has now, and which one an undo brought back with that
    action: FactAction
    restores: int | None
    #: the earlier ones, oldest first
    versions: tuple[FactVersion, ...]
    #: as `services.learning.key_of` makes it
    key: str
    terms: tuple[str, ...]


class DumpFacts(Protocol):
    """What is known, out of the store. What is lazy must be used up inside its transaction."""

    def subjects(self, scope: Scope, *, after: str | None, limit: int) -> Sequence[SubjectRecord]:
        """Subjects by id, by code points, behind `after`, with their members.

        Those that a user who is meant is a member of; if the scope names sessions, of these only what the sessions
        are about.
        """
        ...

    def facts(
        self, scope: Scope, *, after: UUID | None, limit: int
    ) -> Iterator[FactRecord | FactVersionRecord | KeptSource]:
        """Facts by id, behind `after`, each before its earlier versions and its sources; read a page at a time.

        Those whose owner is meant, whoever else may read them. If the scope names sessions: those that an agent
        learned and that have a source in one of these; no other sources of them.
        """
        ...


class RestoreFacts(Protocol):
    """What is known, into the store. Nothing here checks what a record says."""

    def fact_owners(self, tenant: str, ids: Iterable[UUID]) -> Mapping[UUID, str]:
        """Whose those of the facts are that are there."""
        ...

    def facts_saying(
        self, tenant: str, contents: Iterable[tuple[str, str, str]]
    ) -> Mapping[tuple[str, str, str], UUID]:
        """Facts that are believed or in review, by owner, subject (`""`: the owner) and content key."""
        ...

    def said(self, tenant: str, places: Iterable[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], Said]:
        """Those of the messages (session and number) that are there."""
        ...

    def known_sources(self, tenant: str, sources: Iterable[tuple[UUID, UUID, int]]) -> set[tuple[UUID, UUID, int]]:
        """Those of the sources (fact, session and number) that are there."""
        ...

    def add_facts(self, tenant: str, entries: Sequence[FactEntry]) -> None:
        """Insert facts with their versions, sources and terms."""
        ...

    def add_sources(self, tenant: str, sources: Sequence[tuple[UUID, Source]]) -> None:
        """Insert sources of facts that are there."""
        ...

    def without_successor(self, tenant: str, owner: str | None, *, limit: int) -> Sequence[UUID]:
        """Facts of an owner (None: of all) that say which fact took their place, where there is none of that id."""
        ...

    def forget_successors(self, tenant: str, ids: Sequence[UUID]) -> None:
        """They stay as they are, and say no longer which fact took their place."""
        ...


class DumpPages(Protocol):
    """Notepads, out of the store. Back in they go through `ports.notepads.Notepads`."""

    def notepads(self, scope: Scope, *, after: tuple[str, str] | None, limit: int) -> Sequence[tuple[str, str]]:
        """User and agent of notepads, by code points, behind `after`; none if one session is meant."""
        ...

    def pages(self, tenant: str, user: str, agent: str) -> Sequence[KeptPage]:
        """Every page of a notepad, the oldest first."""
        ...


class DumpDocuments(Protocol):
    """Documents, out of the store. Back in they go through `ports.documents.Documents`."""

    def document_ids(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[UUID]:
        """Documents by id, behind `after`: a user's are those in the namespaces of the user.

        If the scope names sessions: those that were made of messages of these.
        """
        ...

    def document(self, tenant: str, document_id: UUID) -> KeptDocumentRecord | None:
        """A document with the session that it was made of, if any; None if it is not there."""
        ...


class Dump(DumpFacts, DumpPages, DumpDocuments, Protocol):
    """Out of the store. What is lazy must be used up inside its transaction."""

    def keys(self, scope: Scope, *, after: SessionKey | None, limit: int) -> Sequence[SessionKey]:
        """Sessions in the order of user, agent and name, by code points, behind `after`."""
        ...

    def log(self, row: SessionRow) -> Iterator[MessageRecord | VersionRecord]:
        """Every message in order, tombstones too, each before its earlier versions; read a page at a time."""
        ...

    def derived(self, row: SessionRow) -> Iterator[SummaryRecord | ChunkRecord | TopicRecord | MoveRecord]:
        """Every version of every strategy, every chunk, topic and move of a reader, in order; a page at a time."""
        ...

    def receipts(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[Kept]:
        """Receipts in the order of their ids, behind `after`; those of older epochs too."""
        ...


class Restore(RestoreFacts, Protocol):
    """Into the store. Nothing here plans work, and nothing checks what a record says."""

    def stamps(self, row: SessionRow, span: SeqRange) -> Sequence[Stamp]:
        """Of each message of the range, in order."""
        ...

    def holder(self, tenant: str, ids: Iterable[UUID]) -> SessionKey | None:
        """A session that holds one of these messages, or None."""
        ...

    def save(self, row: SessionRow) -> None:
        """Write a session as it is given; it must exist."""
        ...

    def add(self, row: SessionRow, entries: Sequence[Entry]) -> None:
        """Insert messages with their versions, and index their words. Their session is to be saved, too."""
        ...

    def is_bare(self, row: SessionRow) -> bool:
        """True if nothing was derived from the session's messages."""
        ...

    def derive(
        self,
        row: SessionRow,
        summaries: Sequence[SummaryRecord],
        chunks: Sequence[ChunkRecord],
        topics: Sequence[TopicRecord],
        moves: Sequence[MoveRecord],
    ) -> None:
        """Insert versions with their states, bases first; chunks; topics; and where each reader was and is."""
        ...

    def first_changed(self, row: SessionRow, span: SeqRange) -> int | None:
        """The first message of the range that was ever edited or deleted, or None."""
        ...

    def known_receipts(self, tenant: str, ids: Iterable[UUID]) -> Mapping[UUID, StoredReceipt]:
        """Those of the receipts that are there."""
        ...

    def add_receipts(self, tenant: str, kept: Sequence[Kept]) -> None:
        """Insert receipts without keys; one that is there gets this range and epoch, if it is of this session."""
        ...


class Exchange(Dump, Restore, Protocol):
    """Both ways."""
