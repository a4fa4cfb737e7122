"""Facts, their subjects, and chunks, as a store keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import Fact, FactAction, FactState, FactVersion, Source, Subject
from anaphora.domain.keeping import Held
from anaphora.domain.keys import SeqRange
from anaphora.ports.rows import SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads facts: their own, and those that others share with a subject that they are a member of (I11)."""

    tenant: str
    user: str
    #: only what this agent learned of the own facts, and what the owner added; None: whoever learned it
    agent: str | None = None
    #: only facts about these; None: about whatever. `""` stands for the reader
    about: tuple[str, ...] | None = None


class Facts(Protocol):
    """Statements of one tenant. To who may not read a fact it does not exist."""

    def alone(self, tenant: str, owner: str) -> None:
        """Nobody else changes this owner's facts until the end of the transaction."""
        ...

    def get(self, reader: Reader, fact_id: UUID) -> Fact | None:
        """A fact that the reader may see; with its sources if it is the reader's own."""
        ...

    def list(
        self,
        reader: Reader,
        *,
        states: Sequence[FactState],
        category: str | None = None,
        after: UUID | None = None,
        limit: int,
    ) -> Sequence[Fact]:
        """Facts that the reader may see, newest first; of others only what is active; `after`: those older than it."""
        ...

    def standing(self, reader: Reader, *, limit: int) -> Sequence[Fact]:
        """Active facts by `Fact.standing`, highest first: up to `limit` of the own, and up to `limit` of others."""
        ...

    def with_terms(self, reader: Reader, terms: Sequence[str], *, limit: int) -> Sequence[tuple[Fact, int]]:
        """Active facts that have some of the terms, with how many; those with most first, of own and others each."""
        ...

    def with_sources(
        self, reader: Reader, places: Iterable[tuple[UUID, int]]
    ) -> Sequence[tuple[Fact, tuple[UUID, int]]]:
        """Own active facts, with sources, that were learned from these messages (session, number), each with one."""
        ...

    def known(self, tenant: str, owner: str, subject: str, terms: Sequence[str], *, limit: int) -> Sequence[Fact]:
        """What the owner's memory holds of a subject, active or in review: by terms in common, then by standing."""
        ...

    def saying(self, tenant: str, owner: str, subject: str, keys: Iterable[str]) -> Sequence[tuple[str, Fact]]:
        """The owner's facts with these content keys that are not closed, each with its key; the newest first."""
        ...

    def count(self, tenant: str, owner: str, subject: str, state: FactState) -> int:
        """How many facts of a subject the owner has in a state."""
        ...

    def counts(self, reader: Reader) -> Sequence[tuple[FactState, str | None, int]]:
        """How many facts of the reader's own are in each state; of those set aside, how many for each reason."""
        ...

    def held(self, tenant: str, owner: str, subject: str, state: FactState, *, limit: int) -> Sequence[Held]:
        """Facts of a subject in a state with how often they were said, by `Fact.standing`, lowest first."""
        ...

    def resting(self, tenant: str, session_id: UUID, span: SeqRange, *, day: date | None = None) -> int:
        """How many facts nothing but these messages of a session says.

        Only those that are active or in review, and that their owner neither stands for nor has pinned. With
        `day`, only those that are true since a moment of that day (UTC).
        """
        ...

    def insert(self, tenant: str, fact: Fact, *, key: str, terms: Sequence[str], action: FactAction) -> bool:
        """Keep a new fact with its sources; False, and nothing kept, if the owner has one with this content key."""
        ...

    def change(
        self,
        tenant: str,
        fact: Fact,
        *,
        action: FactAction,
        key: str,
        terms: Sequence[str],
        restores: int | None = None,
    ) -> bool:
        """Keep the next version of a fact (`fact.version` is one more than what is kept).

        False, and nothing changed, if it is not the next version any more, or another fact has this content key.
        """
        ...

    def add_source(self, tenant: str, fact_id: UUID, source: Source) -> None:
        """One more message that says the same; one that is known already changes nothing."""
        ...

    def versions(self, tenant: str, fact_id: UUID) -> Sequence[FactVersion]:
        """Every version, the oldest first."""
        ...

    def replaced_by(self, tenant: str, owner: str, fact_id: UUID) -> Sequence[Fact]:
        """The owner's facts whose place this one took."""
        ...

    def delete(self, tenant: str, fact_id: UUID) -> None:
        """Leave nothing of a fact: no source, no version, no term."""
        ...

    def unsay(self, row: SessionRow, seq: int | None) -> Sequence[Fact]:
        """A message of the session says nothing any more (None: all of them): its quotes go.

        Returns:
            The facts that have no source left and that their owners do not stand for. They are still there.

        """
        ...

    def bury(
        self, tenant: str, owner: str, subject: str, marks: Sequence[str], *, tomb_id: UUID, now: datetime
    ) -> None:
        """Keep a tombstone of a deleted fact: keyed hashes, no content."""
        ...

    def tombstones(self, tenant: str, owner: str, subject: str, *, limit: int) -> Sequence[tuple[UUID, Sequence[str]]]:
        """The tombstones of an owner and a subject, the newest first."""
        ...

    def unbury(self, tenant: str, tombs: Iterable[UUID]) -> None:
        """Forget tombstones: the owner says it again."""
        ...


class Subjects(Protocol):
    """Whom or what facts are about, and who its members are."""

    def create(self, tenant: str, subject: Subject) -> bool:
        """Make it, with its members; False if there is one of this id."""
        ...

    def get(self, tenant: str, subject_id: str) -> Subject | None:
        """The subject with its members, by name; None if there is none."""
        ...

    def rename(self, tenant: str, subject_id: str, name: str) -> None:
        """Another name."""
        ...

    def of(self, tenant: str, user: str, *, limit: int) -> Sequence[Subject]:
        """Those that a user is a member of, by id."""
        ...

    def add(self, tenant: str, subject_id: str, user: str, *, now: datetime) -> bool:
        """Make a user a member; False if that is so already."""
        ...

    def remove(self, tenant: str, subject_id: str, user: str) -> bool:
        """From now on the user reads nothing that others share; False if no member."""
        ...


class Chunks(Protocol):
    """What stretches of a session were about. Their ranges never overlap."""

    def insert(self, row: SessionRow, chunk: Chunk) -> None:
        """Keep a chunk."""
        ...

    def list(self, tenant: str, session_id: UUID, *, limit: int, before: int | None = None) -> Sequence[Chunk]:
        """Chunks of a session, newest first; with `before`, those that start before that message."""
        ...

    def at(self, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Chunk]:
        """The chunks that hold any of the messages, in order, each once."""
        ...

    def mark_stale(self, row: SessionRow, seq: int) -> SeqRange | None:
        """The chunk that holds the message is to be made again; its range, or None if there is none."""
        ...

    def to_redo(self, tenant: str, session_id: UUID, *, without_model: bool) -> Chunk | None:
        """The oldest chunk to be made again: stale, or (with `without_model`) made while there was no model."""
        ...

    def replace(self, row: SessionRow, old: Chunk, new: Chunk | None) -> bool:
        """Another chunk of the same range, or none, in the place of one; False if that is not there as it was."""
        ...
