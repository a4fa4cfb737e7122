"""Stores that break the laws of how far vectors are, and of messages by their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Role
from anaphora.domain.vectors import Space
from anaphora.errors import AnaphoraError
from anaphora.ports.rows import SessionRow, Voice
from anaphora.ports.store import Store, Unit

Place = tuple[UUID, int]


# -- how far vectors are -------------------------------------------------------------------------------------------


@caught_by("test_what_has_no_vector_waits_in_its_order")
class ForgetsWhatHasVectors(Broken):
    """Everything behind the note waits."""

    def embedding_pending(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Message]:
        first = unit.embedding.pending(row, space, limit=1)
        span = SeqRange(first[0].seq, row.head) if first else SeqRange(0, 0)
        return unit.messages.range(row.key.tenant, row.id, span, limit=limit)


@caught_by("test_what_has_no_vector_waits_in_its_order")
class TakesTheLastOnes(Broken):
    def embedding_pending(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Message]:
        return unit.embedding.pending(row, space, limit=99)[-limit:]


@caught_by("test_what_has_no_vector_waits_in_its_order")
class WaitsForTombstones(Broken):
    def embedding_pending(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Message]:
        log = unit.messages.range(row.key.tenant, row.id, SeqRange(0, row.head), limit=99, deleted=True)
        waiting = unit.embedding.pending(row, space, limit=99)
        return sorted((*waiting, *(m for m in log if m.deleted)), key=lambda message: message.seq)[:limit]


@caught_by("test_what_was_noted_is_not_looked_for_again")
class NotesOnce(Broken):
    """A note that is there is not moved."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.noted: set[tuple[UUID, Space]] = set()

    def embedding_embedded(self, unit: Unit, row: SessionRow, space: Space, stop: int) -> None:
        if (row.id, space) not in self.noted:
            self.noted.add((row.id, space))
            unit.embedding.embedded(row, space, stop)


@caught_by(
    "test_what_was_noted_is_not_looked_for_again",
    "test_a_scope_is_behind_as_long_as_something_of_it_waits",
    "test_sessions_that_are_behind_are_listed_by_their_ids",
)
class KnowsOneSpace(Broken):
    def embedding_pending(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Message]:
        return unit.embedding.pending(row, _plain(space), limit=limit)

    def embedding_embedded(self, unit: Unit, row: SessionRow, space: Space, stop: int) -> None:
        unit.embedding.embedded(row, _plain(space), stop)

    def embedding_is_behind(self, unit: Unit, *args: Any, space: Space, **how: Any) -> bool:
        return unit.embedding.is_behind(*args, space=_plain(space), **how)

    def embedding_behind(self, unit: Unit, tenant: str, space: Space, **how: Any) -> Sequence[SessionRow]:
        return unit.embedding.behind(tenant, _plain(space), **how)


def _plain(space: Space) -> Space:
    return replace(space, profile="plain")


@caught_by("test_a_changed_message_waits_again_in_every_space")
class OverlooksChanges(Broken):
    def embedding_changed(self, _unit: Unit, _row: SessionRow, _seq: int) -> None:
        return


@caught_by("test_a_changed_message_waits_again_in_every_space")
class StepsBehindTheChange(Broken):
    def embedding_changed(self, unit: Unit, row: SessionRow, seq: int) -> None:
        unit.embedding.changed(row, seq + 1)


@caught_by("test_a_change_beyond_the_note_leaves_it_where_it_is")
class MovesTheNoteToTheChange(Broken):
    """Forwards too."""

    def embedding_changed(self, unit: Unit, row: SessionRow, seq: int) -> None:
        unit.embedding.embedded(row, Space(profile="plain", dimensions=2), seq)


@caught_by("test_a_scope_is_behind_as_long_as_something_of_it_waits")
class LooksAtTheWholeUser(Broken):
    def embedding_is_behind(self, unit: Unit, *args: Any, **how: Any) -> bool:
        return unit.embedding.is_behind(*args, **how | {"agent": None, "session_id": None})


@caught_by("test_a_scope_is_behind_as_long_as_something_of_it_waits")
class LooksAtTheWholeTenant(Broken):
    def embedding_is_behind(self, unit: Unit, tenant: str, _user: str, *, space: Space, **_: Any) -> bool:
        return bool(unit.embedding.behind(tenant, space, after=None, limit=1))


@caught_by("test_sessions_that_are_behind_are_listed_by_their_ids")
class ListsEverySession(Broken):
    def embedding_behind(
        self, unit: Unit, tenant: str, _space: Space, *, after: UUID | None, limit: int
    ) -> Sequence[SessionRow]:
        rows = sorted(unit.sessions.list(tenant, limit=1000), key=lambda row: row.id)
        return [row for row in rows if after is None or row.id > after][:limit]


@caught_by("test_sessions_that_are_behind_are_listed_by_their_ids")
class BeginsEachPageAnew(Broken):
    def embedding_behind(self, unit: Unit, tenant: str, space: Space, **how: Any) -> Sequence[SessionRow]:
        return unit.embedding.behind(tenant, space, **how | {"after": None})


@caught_by("test_vectors_of_other_spaces_go_bit_by_bit")
class ForgetsAllAtOnce(Broken):
    def embedding_forget_others(self, unit: Unit, tenant: str, space: Space, **_: Any) -> int:
        return unit.embedding.forget_others(tenant, space, limit=1000)


@caught_by("test_vectors_of_other_spaces_go_bit_by_bit")
class KeepsTheNotes(Broken):
    """Stops as soon as no vector is left."""

    def embedding_forget_others(self, unit: Unit, tenant: str, space: Space, *, limit: int) -> int:
        users = {row.key.user for row in unit.sessions.list(tenant, limit=1000)}
        other = Space(profile="other", dimensions=2)
        left = any(
            unit.vectors.nearest(tenant, user, agent=None, session_id=None, space=other, vector=(1.0, 0.0), limit=1)
            for user in users
        )
        return unit.embedding.forget_others(tenant, space, limit=limit) if left else 0


@caught_by("test_after_a_reset_everything_waits_again")
class RemembersNotesOverAReset(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> int:
        row = unit.sessions.get(tenant, session_id)
        assert row is not None
        gone = unit.sessions.reset(tenant, session_id, **how)
        unit.embedding.embedded(row, Space(profile="plain", dimensions=2), row.head)
        return gone


def _note(note: tuple[SessionRow, Space, int], unit: Unit) -> None:
    unit.embedding.embedded(*note)


@caught_by("test_a_note_of_a_transaction_that_failed_is_not_there")
class NotesBesideTheTransaction(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.notes: list[tuple[SessionRow, Space, int]] = []

    async def write(self, tenant: str, work: Any) -> Any:
        try:
            return await super().write(tenant, work)
        except AnaphoraError:
            for note in self.notes:
                await self.real.write(tenant, partial(_note, note))
            raise

    def embedding_embedded(self, unit: Unit, row: SessionRow, space: Space, stop: int) -> None:
        self.notes.append((row, space, stop))
        unit.embedding.embedded(row, space, stop)


@caught_by("test_work_that_needs_an_embedder_is_for_those_who_have_one")
class OffersEverything(Broken):
    async def due_jobs(self, **how: Any) -> Sequence[tuple[str, UUID]]:
        return await self.real.due_jobs(**how | {"with_embedder": True})


@caught_by("test_work_that_needs_an_embedder_is_for_those_who_have_one")
class CountsEverything(Broken):
    async def due_count(self, **how: Any) -> int:
        return await self.real.due_count(**how | {"with_embedder": True})


# -- messages by their places --------------------------------------------------------------------------------------


@caught_by("test_messages_are_looked_up_by_their_places")
class LooksIntoOneSession(Broken):
    def lookup_messages(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Message]:
        wanted = list(places)
        return unit.lookup.messages(tenant, [place for place in wanted if place[0] == wanted[0][0]])


@caught_by("test_messages_are_looked_up_by_their_places")
class BringsTheNeighbours(Broken):
    def lookup_messages(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Message]:
        wanted = list(places)
        return unit.lookup.messages(tenant, [*wanted, *((uid, seq - 1) for uid, seq in wanted)])


@caught_by("test_who_spoke_is_looked_up_by_the_places")
class ForgetsNames(Broken):
    def lookup_voices(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Voice]:
        found = unit.lookup.voices(tenant, places)
        return {place: replace(voice, name=None) for place, voice in found.items()}


@caught_by("test_what_was_deleted_is_looked_up_in_vain_and_what_was_edited_as_it_is_now")
class ShowsTombstones(Broken):
    def lookup_voices(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Voice]:
        return {place: Voice(role=Role.USER, name=None) for place in places} | dict(unit.lookup.voices(tenant, places))


@caught_by("test_what_was_deleted_is_looked_up_in_vain_and_what_was_edited_as_it_is_now")
class ShowsTheFirstVersion(Broken):
    def lookup_messages(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Message]:
        found = dict(unit.lookup.messages(tenant, places))
        for uid, seq in found:
            for version in unit.history.versions(tenant, uid, SeqRange(seq, seq + 1))[:1]:
                found[uid, seq] = version
        return found


@caught_by("test_nobody_looks_up_what_is_of_another_tenant")
class LooksUpForAnybody(Broken):
    """By the id of the session alone."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.seen: dict[Place, Message] = {}

    def lookup_messages(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Message]:
        found = {place: m for place, m in self.seen.items() if place in places}
        self.seen |= unit.lookup.messages(tenant, places)
        return {**found, **unit.lookup.messages(tenant, places)}


@caught_by("test_nobody_looks_up_what_is_of_another_tenant")
class SpeaksForAnybody(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.seen: dict[Place, Voice] = {}

    def lookup_voices(self, unit: Unit, tenant: str, places: Iterable[Place]) -> Mapping[Place, Voice]:
        self.seen |= unit.lookup.voices(tenant, places)
        return self.seen
