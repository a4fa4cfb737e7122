"""Erasures, as a store keeps account of them; and how what was made of something is made to hold nothing of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.documents import Namespace
from anaphora.domain.erasure import Erasure, Target
from anaphora.domain.facts import Fact
from anaphora.domain.keys import SessionKey
from anaphora.ports.rows import SessionRow

#: where a message stands: its session's id, and its number
Place = tuple[UUID, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooted:
    """A fact that was first learned from a message, and the other messages that say the same."""

    fact: Fact
    others: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What was left to be made anew when messages were erased."""

    counts: Mapping[str, int]
    #: chunks, or topics, that spoke of the messages say nothing until they are made anew
    chunks: bool
    topics: bool


class Erasures(Protocol):
    """The account of one tenant's erasures, and the marks of what is not to come back."""

    def epoch(self, tenant: str) -> int:
        """How many erasures the tenant ever asked for: what was read before it was raised may be gone."""
        ...

    def begin(self, tenant: str, erasure: Erasure) -> Erasure:
        """Note that something is to be erased, before anything is; it gets its number."""
        ...

    def tally(self, tenant: str, erasure_id: UUID, counts: Mapping[str, int]) -> None:
        """Add to what went so far."""
        ...

    def finish(self, tenant: str, erasure_id: UUID, *, now: datetime) -> None:
        """All of it is gone: forget what was named. Twice is harmless."""
        ...

    def get(self, tenant: str, erasure_id: UUID) -> Erasure | None:
        """One entry, or None."""
        ...

    def list(self, tenant: str, *, limit: int, running: bool = False) -> Sequence[Erasure]:
        """Entries, newest first; with `running`, those that are not done, oldest first."""
        ...

    def mark(self, tenant: str, erasure_id: UUID, marks: Iterable[str], *, now: datetime) -> None:
        """Keep marks; one that is there gets the newer time."""
        ...

    def marked(self, tenant: str, marks: Iterable[str]) -> Mapping[str, datetime]:
        """Those of the marks that are kept, and since when."""
        ...

    def is_clean(self) -> bool:
        """Whether the database's own files hold nothing any more of what was erased; on a server, not known: True."""
        ...


class Purging(Protocol):
    """What is to go, found and taken out."""

    def count(self, tenant: str, target: Target) -> tuple[Mapping[str, int], Mapping[str, Sequence[UUID]]]:
        """How many rows of each kind would go, and the ids of those that have one, a thousand at most of each."""
        ...

    def place(self, tenant: str, message_id: UUID) -> tuple[SessionKey, int] | None:
        """Where a message stands, or None."""
        ...

    def sessions(self, tenant: str, target: Target, *, before: datetime, limit: int) -> Sequence[SessionRow]:
        """Sessions that are to go as a whole, if they were made before that, or hold messages that are to go."""
        ...

    def from_source(self, row: SessionRow, source: str, *, limit: int) -> Sequence[int]:
        """Numbers of messages of the session that came from the source and are not erased."""
        ...

    def only_from(self, row: SessionRow, source: str) -> bool:
        """Whether every message of the session came from the source."""
        ...

    def facts(self, tenant: str, target: Target, *, before: datetime, limit: int) -> Sequence[Fact]:
        """Facts of the user, or that the agent learned, which were kept before that."""
        ...

    def pages(self, tenant: str, target: Target, *, before: datetime) -> int:
        """Take out pages of notepads of the user, or with the agent; how many."""
        ...

    def documents(
        self, tenant: str, target: Target, *, before: datetime, limit: int
    ) -> Sequence[tuple[Namespace, UUID]]:
        """Documents in the user's namespaces, or from the source, which were kept before that."""
        ...

    def of_user(self, tenant: str, user: str) -> Mapping[str, int]:
        """Take out what else names a user: subjects and memberships, tombstones of facts, counts of vectors."""
        ...

    def interrupt(self, tenant: str, *, user: str | None, now: datetime) -> int:
        """Work under way in sessions of the user (None: of anybody) is begun anew: its results are refused."""
        ...

    def receipts(self, row: SessionRow) -> Sequence[UUID]:
        """The ids of all receipts of a session."""
        ...

    def imported(self, row: SessionRow) -> Sequence[tuple[str, str]]:
        """Source and digest of all messages of a session that were imported."""
        ...

    def drop_session(self, row: SessionRow) -> None:
        """Take out a session that was reset: its name, its receipts, its jobs."""
        ...

    def rooted(self, row: SessionRow, seq: int) -> Sequence[Rooted]:
        """Facts that were first learned from this message, by whoever they are believed now."""
        ...

    def messages(self, row: SessionRow, seqs: Sequence[int], keyed: Mapping[str, str]) -> Purged:
        """Leave nothing of messages that were deleted: no version, nothing that was made of them.

        Args:
            row: their session.
            seqs: their numbers.
            keyed: for digests of imported messages, what is kept in their place.

        """
        ...

    def digests(self, row: SessionRow, seq: int) -> Sequence[tuple[str, str]]:
        """Source and digest of the imported messages from this one on, earlier versions included."""
        ...
