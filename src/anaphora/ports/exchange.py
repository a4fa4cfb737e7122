"""Whole sessions, row by row: out of a store, and into another exactly as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.records import (
    MessageRecord,
    MoveRecord,
    ReceiptRecord,
    SummaryRecord,
    VersionRecord,
)
from anaphora.ports.rows import SessionRow, StoredReceipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of a tenant is meant; None = any."""

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A receipt, with the session and the epoch that it belongs to."""

    session_id: UUID
    epoch: int
    receipt: ReceiptRecord


class Dump(Protocol):
    """Out of the store. What is lazy must be used up inside its transaction."""

    def keys(self, scope: Scope, *, after: SessionKey | None, limit: int) -> Sequence[SessionKey]:
        """Sessions in the order of user, agent and name, by code points, behind `after`."""
        ...

    def log(self, row: SessionRow) -> Iterator[MessageRecord | VersionRecord]:
        """Every message in order, tombstones too, each before its earlier versions; read a page at a time."""
        ...

    def derived(self, row: SessionRow) -> Iterator[SummaryRecord | MoveRecord]:
        """Every version of every strategy, then every move of every reader, in order; read a page at a time."""
        ...

    def receipts(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[Kept]:
        """Receipts in the order of their ids, behind `after`; those of older epochs too."""
        ...


class Restore(Protocol):
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

    def derive(self, row: SessionRow, summaries: Sequence[SummaryRecord], moves: Sequence[MoveRecord]) -> None:
        """Insert versions with their states, and where each reader was and is. Bases before what they are bases of."""
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
