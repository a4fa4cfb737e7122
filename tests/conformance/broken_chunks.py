"""Stores that break the laws of subjects and of chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import Subject
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Method
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.tools import TENANT

# -- subjects ------------------------------------------------------------------------------------------------------


@caught_by("test_a_subject_is_made_once", "test_a_subject_that_many_make_at_once_is_one")
class TakesInTheMembersOfASecond(Broken):
    def subjects_create(self, unit: Unit, tenant: str, subject: Subject) -> bool:
        made = unit.subjects.create(tenant, subject)
        for member in subject.members:
            unit.subjects.add(tenant, subject.id, member, now=subject.created_at)
        return made


@caught_by("test_a_subject_is_made_once", "test_a_subject_that_many_make_at_once_is_one")
class SaysThatItMadeASecond(Broken):
    def subjects_create(self, unit: Unit, tenant: str, subject: Subject) -> bool:
        unit.subjects.create(tenant, subject)
        return True


@caught_by("test_a_subject_is_made_once")
class SortsMembersAsPeopleDo(Broken):
    def subjects_get(self, unit: Unit, tenant: str, subject_id: str) -> Subject | None:
        found = unit.subjects.get(tenant, subject_id)
        return found and replace(found, members=tuple(sorted(found.members, key=str.casefold)))


@caught_by("test_a_subject_is_made_once")
class IgnoresTheCaseOfSubjects(Broken):
    def subjects_create(self, unit: Unit, tenant: str, subject: Subject) -> bool:
        return unit.subjects.create(tenant, replace(subject, id=subject.id.lower()))


@caught_by("test_a_subject_can_have_another_name")
class RenamesNothing(Broken):
    def subjects_rename(self, _unit: Unit, _tenant: str, _subject_id: str, _name: str) -> None:
        return


@caught_by("test_a_subject_can_have_another_name")
class RenamesAllOfAMember(Broken):
    def subjects_rename(self, unit: Unit, tenant: str, subject_id: str, name: str) -> None:
        found = unit.subjects.get(tenant, subject_id)
        for other in unit.subjects.of(tenant, found.members[0], limit=99) if found else ():
            unit.subjects.rename(tenant, other.id, name)


@caught_by("test_the_subjects_of_a_user_are_those_that_it_is_a_member_of")
class CountsWhoMadeItAsAMember(Broken):
    def subjects_create(self, unit: Unit, tenant: str, subject: Subject) -> bool:
        return unit.subjects.create(tenant, replace(subject, members=(subject.owner, *subject.members)))


@caught_by("test_the_subjects_of_a_user_are_those_that_it_is_a_member_of")
class ListsSubjectsByName(Broken):
    def subjects_of(self, unit: Unit, tenant: str, user: str, *, limit: int) -> Sequence[Subject]:
        found = unit.subjects.of(tenant, user, limit=99)
        return sorted(found, key=lambda subject: subject.name.casefold())[:limit]


@caught_by("test_the_subjects_of_a_user_are_those_that_it_is_a_member_of")
class ListsAllSubjectsOfAUser(Broken):
    def subjects_of(self, unit: Unit, tenant: str, user: str, **_: Any) -> Sequence[Subject]:
        return unit.subjects.of(tenant, user, limit=99)


@caught_by("test_members_of_a_subject_come_and_go")
class SaysThatItAdded(Broken):
    def subjects_add(self, unit: Unit, *args: Any, **how: Any) -> bool:
        unit.subjects.add(*args, **how)
        return True


@caught_by("test_members_of_a_subject_come_and_go")
class SaysThatItRemoved(Broken):
    def subjects_remove(self, unit: Unit, *args: Any) -> bool:
        unit.subjects.remove(*args)
        return True


@caught_by("test_members_of_a_subject_come_and_go")
class RemovesFromAllSubjects(Broken):
    def subjects_remove(self, unit: Unit, tenant: str, subject_id: str, user: str) -> bool:
        for other in unit.subjects.of(tenant, user, limit=99):
            if other.id != subject_id:
                unit.subjects.remove(tenant, other.id, user)
        return unit.subjects.remove(tenant, subject_id, user)


@caught_by("test_subjects_of_one_name_in_two_tenants_are_two")
class HasOneTenantOfSubjects(Broken):
    def subjects_create(self, unit: Unit, _tenant: str, subject: Subject) -> bool:
        return unit.subjects.create(TENANT, subject)

    def subjects_get(self, unit: Unit, _tenant: str, subject_id: str) -> Subject | None:
        return unit.subjects.get(TENANT, subject_id)


@caught_by("test_subjects_of_one_name_in_two_tenants_are_two")
class AddsToBothTenants(Broken):
    def subjects_add(self, unit: Unit, _tenant: str, *args: Any, **how: Any) -> bool:
        return any([unit.subjects.add(tenant, *args, **how) for tenant in (TENANT, "t2")])  # noqa: C419 - both


# -- chunks --------------------------------------------------------------------------------------------------------


@caught_by("test_chunks_come_back_as_they_were_kept_newest_first")
class ListsTheOldestChunkFirst(Broken):
    def chunks_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Chunk]:
        return unit.chunks.list(*args, **how)[::-1]


@caught_by("test_chunks_come_back_as_they_were_kept_newest_first")
class ListsTheOneThatStartsThere(Broken):
    def chunks_list(self, unit: Unit, *args: Any, before: int | None = None, **how: Any) -> Sequence[Chunk]:
        return unit.chunks.list(*args, before=None if before is None else before + 1, **how)


@caught_by("test_chunks_come_back_as_they_were_kept_newest_first")
class KeepsChunksAsFresh(Broken):
    def chunks_insert(self, unit: Unit, row: SessionRow, chunk: Chunk) -> None:
        unit.chunks.insert(row, replace(chunk, stale=False))


@caught_by("test_chunks_of_one_session_are_not_those_of_another")
class FindsChunksOfTheTenant(Broken):
    def chunks_at(self, unit: Unit, tenant: str, _session_id: UUID, seqs: Iterable[int]) -> Sequence[Chunk]:
        wanted = list(seqs)
        rows = unit.sessions.list(tenant, limit=99)
        return [chunk for row in rows for chunk in unit.chunks.at(tenant, row.id, wanted)]


@caught_by("test_chunks_of_one_session_are_not_those_of_another")
class ListsChunksForAnybody(Broken):
    def chunks_list(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> Sequence[Chunk]:
        return unit.chunks.list(tenant, session_id, **how) or unit.chunks.list(TENANT, session_id, **how)


@caught_by("test_chunks_of_one_session_are_not_those_of_another")
class SpoilsOtherSessions(Broken):
    def chunks_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> SeqRange | None:
        others = [other for other in unit.sessions.list(row.key.tenant, limit=99) if other.id != row.id]
        found = [unit.chunks.mark_stale(each, seq) for each in (row, *others)]
        return next((span for span in found if span is not None), None)


@caught_by("test_chunks_are_found_by_the_messages_that_they_hold")
class FindsTheNearestChunk(Broken):
    """The last one that starts before the message, however far before."""

    def chunks_at(self, unit: Unit, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Chunk]:
        found = {}
        for seq in sorted(seqs):
            for chunk in unit.chunks.list(tenant, session_id, limit=1, before=seq + 1):
                found[chunk.id] = chunk
        return list(found.values())


@caught_by("test_chunks_are_found_by_the_messages_that_they_hold")
class FindsAChunkForEachMessage(Broken):
    def chunks_at(self, unit: Unit, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Chunk]:
        return [chunk for seq in seqs for chunk in unit.chunks.at(tenant, session_id, [seq])]


@caught_by("test_chunks_are_found_by_the_messages_that_they_hold")
class FindsChunksInTheOrderAskedFor(Broken):
    def chunks_at(self, unit: Unit, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Chunk]:
        found = {chunk.id: chunk for seq in seqs for chunk in unit.chunks.at(tenant, session_id, [seq])}
        return list(found.values())


@caught_by("test_a_chunk_of_a_changed_message_is_to_be_made_again")
class SpoilsAllThatFollows(Broken):
    def chunks_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> SeqRange | None:
        found = [unit.chunks.mark_stale(row, at) for at in range(seq, row.head)]
        return found[0]


@caught_by("test_a_chunk_of_a_changed_message_is_to_be_made_again")
class SpoilsOnlyInWords(Broken):
    def chunks_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> SeqRange | None:
        found = unit.chunks.at(row.key.tenant, row.id, [seq])
        return found[0].range if found else None


@caught_by("test_a_chunk_of_a_changed_message_is_to_be_made_again")
class SaysNothingOfTheSpoiltOne(Broken):
    def chunks_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> None:
        unit.chunks.mark_stale(row, seq)


class Redoes(Broken):
    """Makes others again: by default those that it should."""

    methods: ClassVar[Sequence[Method]] = (Method.EXTRACTIVE,)

    def chunks_to_redo(self, unit: Unit, tenant: str, session_id: UUID, *, without_model: bool) -> Chunk | None:
        every = self.order(unit.chunks.list(tenant, session_id, limit=99))
        methods = self.methods if without_model else ()
        return next((chunk for chunk in every if chunk.stale or chunk.method in methods), None)

    def order(self, newest_first: Sequence[Chunk]) -> Sequence[Chunk]:
        return newest_first[::-1]


@caught_by("test_the_oldest_chunk_that_is_to_be_made_again_comes_first")
class RedoesTheNewest(Redoes):
    def order(self, newest_first: Sequence[Chunk]) -> Sequence[Chunk]:
        return newest_first


@caught_by("test_the_oldest_chunk_that_is_to_be_made_again_comes_first")
class RedoesWithoutAModel(Redoes):
    def chunks_to_redo(self, unit: Unit, *which: Any, **_: Any) -> Chunk | None:
        return unit.chunks.to_redo(*which, without_model=True)


@caught_by("test_the_oldest_chunk_that_is_to_be_made_again_comes_first")
class RedoesAllThatWasChosen(Redoes):
    """What a model could not be made to say too."""

    methods = (Method.EXTRACTIVE, Method.DIGEST)


@caught_by("test_the_oldest_chunk_that_is_to_be_made_again_comes_first")
class RedoesWhatIsStale(Redoes):
    methods = ()


@caught_by("test_a_chunk_takes_the_place_of_one_that_is_there")
class ReplacesWhateverIsThere(Broken):
    """By the range."""

    def chunks_replace(self, unit: Unit, row: SessionRow, old: Chunk, new: Chunk | None) -> bool:
        there = unit.chunks.at(row.key.tenant, row.id, [old.range.start])
        return bool(there) and unit.chunks.replace(row, there[0], new)


@caught_by("test_a_chunk_takes_the_place_of_one_that_is_there")
class PutsInThePlaceOfNothing(Broken):
    def chunks_replace(self, unit: Unit, row: SessionRow, old: Chunk, new: Chunk | None) -> bool:
        there = unit.chunks.replace(row, old, None)
        if new is not None and not unit.chunks.at(row.key.tenant, row.id, new.range):
            unit.chunks.insert(row, new)
        return there


@caught_by("test_a_chunk_that_was_spoilt_since_it_was_read_is_not_replaced")
class ReplacesWhatWasSpoilt(Broken):
    def chunks_replace(self, unit: Unit, row: SessionRow, old: Chunk, new: Chunk | None) -> bool:
        there = unit.chunks.at(row.key.tenant, row.id, [old.range.start])
        return [chunk.id for chunk in there] == [old.id] and unit.chunks.replace(row, there[0], new)


@caught_by("test_a_session_that_is_reset_has_no_chunk_any_more")
class KeepsChunksOverAReset(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> int:
        row, left = unit.sessions.get(tenant, session_id), unit.chunks.list(tenant, session_id, limit=99)
        assert row is not None
        gone = unit.sessions.reset(tenant, session_id, **how)
        for chunk in left:
            unit.chunks.insert(row, chunk)
        return gone


@caught_by("test_a_session_that_is_reset_has_no_chunk_any_more")
class ForgetsAllChunks(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> int:
        for row in unit.sessions.list(tenant, limit=99):
            for chunk in unit.chunks.list(tenant, row.id, limit=99):
                unit.chunks.replace(row, chunk, None)
        return unit.sessions.reset(tenant, session_id, **how)
