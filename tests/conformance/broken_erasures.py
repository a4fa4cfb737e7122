"""Stores that break the laws of erasing and expiring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.erasure import Erasure, Target
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Receipt
from anaphora.ports.erasures import Purged
from anaphora.ports.rows import Append, SessionRow
from anaphora.ports.store import Unit


@caught_by("test_erasures_are_counted_and_once_done_name_nobody")
class CountsNoErasures(Broken):
    def erasures_epoch(self, unit: Unit, tenant: str) -> int:
        return min(1, unit.erasures.epoch(tenant))


@caught_by("test_erasures_are_counted_and_once_done_name_nobody")
class KeepsTheLastTallyOnly(Broken):
    def erasures_tally(self, unit: Unit, tenant: str, erasure_id: UUID, counts: Mapping[str, int]) -> None:
        if counts.get("messages") == 3:
            return
        unit.erasures.tally(tenant, erasure_id, counts)


@caught_by("test_erasures_are_counted_and_once_done_name_nobody")
class ListsWhatIsDoneAsRunning(Broken):
    def erasures_list(self, unit: Unit, tenant: str, *, limit: int, running: bool = False) -> Sequence[Erasure]:
        del running
        return unit.erasures.list(tenant, limit=limit)


@caught_by("test_marks_are_known_in_their_tenant_with_the_time_of_the_last")
class KeepsTheFirstTimeOfAMark(Broken):
    def erasures_mark(self, unit: Unit, tenant: str, erasure_id: UUID, marks: Iterable[str], *, now: datetime) -> None:
        wanted = list(marks)
        known = unit.erasures.marked(tenant, wanted)
        unit.erasures.mark(tenant, erasure_id, [mark for mark in wanted if mark not in known], now=now)


@caught_by("test_what_was_erased_is_not_appended_again_nor_what_was_made_before")
class AppendsWhatWasErased(Broken):
    async def append(self, append: Append) -> Receipt:
        return await super().append(replace(append, marks=()))


@caught_by("test_what_was_erased_is_not_appended_again_nor_what_was_made_before")
class AppendsWhatWasMadeBefore(Broken):
    async def append(self, append: Append) -> Receipt:
        return await super().append(replace(append, erasures=None))


@caught_by("test_running_jobs_of_a_user_are_taken_from_their_workers")
class InterruptsNobody(Broken):
    def purging_interrupt(self, unit: Unit, tenant: str, *, user: str | None, now: datetime) -> int:
        del unit, tenant, user, now
        return 1


@caught_by("test_running_jobs_of_a_user_are_taken_from_their_workers")
class InterruptsEverybody(Broken):
    def purging_interrupt(self, unit: Unit, tenant: str, *, user: str | None, now: datetime) -> int:
        del user
        return unit.purging.interrupt(tenant, user=None, now=now) - 1


@caught_by("test_nothing_is_left_of_a_message_or_of_what_was_made_of_it")
class PurgesNothing(Broken):
    def purging_messages(self, unit: Unit, row: SessionRow, seqs: Sequence[int], keyed: Mapping[str, str]) -> Purged:
        del unit, row, seqs, keyed
        return Purged(counts={"summaries": 1}, chunks=False, topics=False)


@caught_by("test_of_a_user_no_name_is_left_and_subjects_go_to_another_member")
class KeepsTheOwner(Broken):
    def purging_of_user(self, unit: Unit, tenant: str, user: str) -> Mapping[str, int]:
        del unit, tenant, user
        return {"subjects": 1, "memberships": 2}


@caught_by("test_what_would_go_is_counted_and_nothing_of_others")
class CountsEverybody(Broken):
    def purging_count(
        self, unit: Unit, tenant: str, target: Target
    ) -> tuple[Mapping[str, int], Mapping[str, Sequence[UUID]]]:
        counts, ids = unit.purging.count(tenant, target)
        return {name: count + 1 for name, count in counts.items()}, ids


@caught_by("test_what_would_go_is_counted_and_nothing_of_others")
class LeavesTheNameOfASession(Broken):
    def purging_drop_session(self, unit: Unit, row: SessionRow) -> None:
        del unit, row


@caught_by("test_a_session_out_of_sight_is_not_found_and_comes_back_when_it_is_written_in")
class FindsWhatHasExpired(Broken):
    def sessions_find(self, unit: Unit, key: SessionKey) -> SessionRow | None:
        return unit.sessions.lock(key)


@caught_by("test_a_session_out_of_sight_is_not_found_and_comes_back_when_it_is_written_in")
class ListsWhatHasExpired(Broken):
    def sessions_list(self, unit: Unit, tenant: str, **how: Any) -> Sequence[SessionRow]:
        return [*unit.sessions.list(tenant, **how), *unit.sessions.expired(tenant, limit=99)]


@caught_by("test_a_session_may_be_kept_for_a_time_of_its_own")
class KeepsNoTimeOfItsOwn(Broken):
    def sessions_keep_for(self, unit: Unit, tenant: str, session_id: UUID, days: float | None) -> None:
        del unit, tenant, session_id, days
