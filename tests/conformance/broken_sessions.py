"""Stores that break the laws of sessions, summaries, heads and resets."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from tests.conformance.broken import Broken, T, caught_by
from tests.conformance.broken_logs import FindsOtherwise

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, Receipt
from anaphora.domain.summaries import Summary
from anaphora.errors import StoreError
from anaphora.ports.rows import Append, Head, SessionRow, StoredReceipt
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import TENANT

# -- sessions ------------------------------------------------------------------------------------------------------


@caught_by("test_tenants_are_listed_by_code_points_a_page_at_a_time")
class GivesMoreThanAPage(Broken):
    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        return await self.real.tenants(after=after, limit=limit + 1)


@caught_by("test_a_session_is_made_once")
class MakesItAgain(Broken):
    def sessions_create(self, unit: Unit, key: SessionKey, *, session_id: UUID, **how: Any) -> SessionRow:
        return replace(unit.sessions.create(key, session_id=session_id, **how), id=session_id)


class FoldsKeys(Broken):
    def folded(self, key: SessionKey) -> SessionKey:
        return key

    async def append(self, append: Append) -> Receipt:
        return await self.real.append(replace(append, key=self.folded(append.key)))

    def sessions_find(self, unit: Unit, key: SessionKey) -> SessionRow | None:
        row = unit.sessions.find(self.folded(key))
        return replace(row, key=key) if row else None


@caught_by("test_a_session_is_found_by_its_whole_key_only")
class FoldsCapitals(FoldsKeys):
    def folded(self, key: SessionKey) -> SessionKey:
        return replace(key, user=key.user.casefold())


@caught_by("test_a_session_is_found_by_its_whole_key_only", "test_nobody_finds_what_is_somebody_elses")
class NormalisesNames(FoldsKeys):
    def folded(self, key: SessionKey) -> SessionKey:
        return replace(key, user=unicodedata.normalize("NFC", key.user))


@caught_by("test_a_session_is_found_by_its_whole_key_only")
class LooksForTheSessionsNameOnly(Broken):
    def sessions_find(self, unit: Unit, key: SessionKey) -> SessionRow | None:
        named = [row for row in unit.sessions.list(key.tenant) if row.key.session == key.session]
        return unit.sessions.find(key) or (named[0] if named else None)


@caught_by("test_names_of_any_script_come_back_as_they_were")
class CutsNames(FoldsKeys):
    def folded(self, key: SessionKey) -> SessionKey:
        return replace(key, session=key.session[:128])


@caught_by("test_a_session_is_got_by_its_id_in_its_tenant")
class LeaksSessionsByTheirId(Broken):
    def sessions_get(self, unit: Unit, _tenant: str, session_id: UUID) -> SessionRow | None:
        return unit.sessions.get("t", session_id)


@caught_by("test_sessions_are_listed_by_their_last_activity")
class ListsByName(Broken):
    def sessions_list(self, unit: Unit, tenant: str, **how: Any) -> Sequence[SessionRow]:
        return sorted(unit.sessions.list(tenant, **how), key=lambda row: row.key.session)


@caught_by("test_pages_of_sessions_meet_without_a_gap")
class LeavesOutWhoWasThereAtTheSameMoment(Broken):
    def sessions_list(self, unit: Unit, tenant: str, *, before: SessionRow | None = None, **how: Any) -> Any:
        rows = unit.sessions.list(tenant, before=before, **how)
        return [row for row in rows if before is None or row.updated_at < before.updated_at]


@caught_by("test_a_list_of_sessions_can_be_narrowed_and_never_leaves_its_tenant")
class ListsUsersByTheirBeginning(Broken):
    def sessions_list(self, unit: Unit, tenant: str, *, user: str | None = None, **how: Any) -> Sequence[SessionRow]:
        return [row for row in unit.sessions.list(tenant, **how) if row.key.user.startswith((user or "")[:2])]


@caught_by("test_sessions_are_numbered_by_user_and_agent")
class NumbersByCounting(Broken):
    def sessions_next_number(self, unit: Unit, tenant: str, user: str, agent: str) -> int:
        return 1 + len(unit.sessions.list(tenant, user=user, agent=agent, limit=1000))


@caught_by("test_a_session_is_ended_and_opened_again_in_its_tenant")
class EndsOthers(Broken):
    def sessions_set_ended(self, unit: Unit, _tenant: str, session_id: UUID, *, ended_at: datetime | None) -> None:
        unit.sessions.set_ended("t", session_id, ended_at=ended_at)


# -- summaries -----------------------------------------------------------------------------------------------------


@caught_by("test_a_version_comes_back_as_it_was")
class ForgetsWhatIsElided(Broken):
    def summaries_get(self, unit: Unit, tenant: str, summary_id: UUID) -> Summary | None:
        found = unit.summaries.get(tenant, summary_id)
        return replace(found, points=tuple(replace(point, elided=()) for point in found.points)) if found else None


@caught_by("test_a_chain_is_read_from_its_newest_version_back")
class ReadsTheChainForwards(Broken):
    def summaries_chain(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Summary]:
        return list(reversed(unit.summaries.chain(*args, **how)))


@caught_by("test_versions_count_up_within_a_session_and_a_strategy")
class NumbersVersionsByCounting(Broken):
    def summaries_next_version(self, unit: Unit, tenant: str, session_id: UUID, strategy: str) -> int:
        return 1 + len(unit.summaries.chain(tenant, session_id, strategy=strategy, limit=1000))


@caught_by("test_the_base_is_the_newest_completed_version_that_ends_early_enough")
class RebuildsOnWhatIsBuilding(Broken):
    def summaries_base_for(
        self, unit: Unit, tenant: str, session_id: UUID, *, strategy: str, stop: int
    ) -> Summary | None:
        chain = unit.summaries.chain(tenant, session_id, strategy=strategy, limit=1000)
        return next((version for version in chain if version.range.stop <= stop), None)


@caught_by(
    "test_a_rebuilt_chain_takes_the_place_of_the_old_one",
    "test_the_range_of_a_superseded_version_can_be_summarised_again",
)
class NeverTakesTheRebuiltChain(Broken):
    def summaries_replace_chain(self, unit: Unit, row: SessionRow, *, strategy: str, now: datetime, **_: Any) -> None:
        unit.summaries.drop_building(row, strategy=strategy, now=now)


@caught_by("test_a_rebuilt_chain_takes_the_place_of_the_old_one")
class ReplacesEveryStrategy(Broken):
    def summaries_replace_chain(self, unit: Unit, row: SessionRow, *, strategy: str, **how: Any) -> None:
        for each in (strategy, "another"):
            unit.summaries.replace_chain(row, strategy=each, **how)


@caught_by("test_a_rebuild_that_is_given_up_leaves_the_served_chain_alone")
class ServesWhatWasGivenUp(Broken):
    def summaries_drop_building(self, unit: Unit, row: SessionRow, *, strategy: str, now: datetime) -> None:
        unit.summaries.replace_chain(row, strategy=strategy, after_version=0, now=now)


@caught_by("test_one_range_and_one_version_number_are_taken_once")
class SwallowsTwins(Broken):
    def summaries_insert(self, unit: Unit, row: SessionRow, summary: Summary, *, now: datetime) -> None:
        with suppress(SQLAlchemyError):
            unit.summaries.insert(row, summary, now=now)


@caught_by("test_the_range_of_a_superseded_version_can_be_summarised_again")
class TakesEachRangeOnce(Broken):
    def summaries_insert(self, unit: Unit, row: SessionRow, summary: Summary, *, now: datetime) -> None:
        chain = unit.summaries.chain(row.key.tenant, row.id, strategy=summary.strategy, limit=1000)
        if any(version.range == summary.range for version in chain):
            raise StoreError("this range was summarised before")
        unit.summaries.insert(row, summary, now=now)


@caught_by("test_statistics_leave_out_what_took_no_measurable_time")
class AveragesEverything(Broken):
    def summaries_stats(self, unit: Unit, tenant: str, *, user: str | None = None) -> Mapping[str, Any]:
        stats = unit.summaries.stats(tenant, user=user)
        return {**stats, "count": sum(stats["by_method"].values())}


@caught_by("test_nobody_reads_another_tenants_summaries")
class LeaksSummariesByTheirId(Broken):
    def summaries_get(self, unit: Unit, _tenant: str, summary_id: UUID) -> Summary | None:
        return unit.summaries.get("t", summary_id)


# -- heads ---------------------------------------------------------------------------------------------------------


@caught_by("test_a_head_moves_only_from_where_it_is", "test_of_many_that_move_a_head_from_the_same_place_one_succeeds")
class MovesHeadsAnyway(Broken):
    """The last writer wins."""

    def summaries_move_head(
        self, unit: Unit, row: SessionRow, reader: str, *, old: Head, new: Head, now: datetime, **_how: Any
    ) -> bool:
        there = unit.summaries.head(row.key.tenant, row.id, reader)
        moved = unit.summaries.move_head(row, reader, old=there, new=new, now=now)
        return moved or old == new


@caught_by("test_a_head_that_counts_knows_its_tokens_whatever_is_edited")
class CountsWhatWasSaidAtFirst(Broken):
    def messages_amend(self, unit: Unit, row: SessionRow, old: Message, new: Message, **how: Any) -> SessionRow:
        return unit.messages.amend(row, old, replace(new, tokens=old.tokens), **how)


@caught_by("test_each_reader_has_a_head_of_its_own")
class HasOneHeadForAll(Broken):
    def summaries_head(self, unit: Unit, tenant: str, session_id: UUID, _reader: str) -> Head:
        return unit.summaries.head(tenant, session_id, "live:standard")


@caught_by("test_a_head_comes_with_the_version_that_it_serves")
class ServesTheNewestVersion(Broken):
    def summaries_served(self, unit: Unit, tenant: str, session_id: UUID, reader: str) -> tuple[Head, Summary | None]:
        head = unit.summaries.head(tenant, session_id, reader)
        newest = unit.summaries.chain(tenant, session_id, strategy="standard", limit=1)
        return head, newest[0] if newest else None


@caught_by("test_a_head_comes_with_the_version_that_it_serves")
class ServesWithoutCounting(Broken):
    def summaries_served(self, unit: Unit, *args: Any) -> tuple[Head, Summary | None]:
        head, served = unit.summaries.served(*args)
        return replace(head, seen=0), served


@caught_by("test_a_forgotten_reader_starts_anew")
class ForgetsNoReader(Broken):
    def summaries_drop_head(self, unit: Unit, tenant: str, session_id: UUID, reader: str) -> None:
        pass


@caught_by("test_a_head_is_there_after_closing", "test_everything_is_there_when_it_is_opened_again")
class KeepsHeadsInTheProcess(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.moved = False

    def summaries_move_head(self, unit: Unit, *args: Any, **how: Any) -> bool:
        self.moved = True
        return unit.summaries.move_head(*args, **how)

    def summaries_head(self, unit: Unit, *args: Any) -> Head:
        return unit.summaries.head(*args) if self.moved else Head()


# -- reset ---------------------------------------------------------------------------------------------------------


@caught_by("test_a_reset_session_is_as_new", "test_what_is_said_after_a_reset_begins_anew")
class LeavesSummariesBehind(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.chains: dict[UUID, Sequence[Summary]] = {}

    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, *, now: datetime) -> int:
        self.chains[session_id] = unit.summaries.chain(tenant, session_id, strategy="standard", limit=1000)
        return unit.sessions.reset(tenant, session_id, now=now)

    def summaries_chain(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> Sequence[Summary]:
        return [*unit.summaries.chain(tenant, session_id, **how), *self.chains.get(session_id, ())]


@caught_by("test_a_reset_is_of_one_session")
class ResetsTheUser(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, *, now: datetime) -> int:
        row = unit.sessions.get(tenant, session_id)
        assert row is not None
        mine = unit.sessions.list(tenant, user=row.key.user)
        return sum(unit.sessions.reset(tenant, one.id, now=now) for one in mine)


@caught_by("test_nobody_resets_another_tenants_session")
class ResetsByTheId(Broken):
    def sessions_reset(self, unit: Unit, _tenant: str, session_id: UUID, *, now: datetime) -> int:
        return unit.sessions.reset("t", session_id, now=now)


@caught_by(
    "test_every_reset_raises_the_epoch", "test_a_reset_session_is_as_new", "test_a_retried_job_can_commit_after_a_reset"
)
class ForgetsToRaiseTheEpoch(FindsOtherwise):
    def found_as(self, row: SessionRow) -> SessionRow:
        return replace(row, epoch=0)

    def jobs_claim(self, unit: Unit, *args: Any, **how: Any) -> Any:
        job = unit.jobs.claim(*args, **how)
        return replace(job, epoch=0) if job else None


@caught_by("test_every_reset_raises_the_epoch")
class DoesNotResetTheEmpty(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, *, now: datetime) -> int:
        row = unit.sessions.get(tenant, session_id)
        return unit.sessions.reset(tenant, session_id, now=now) if row and row.head else 0


@caught_by("test_a_receipt_outlives_its_messages_and_its_key_is_free_again")
class ErasesReceipts(Broken):
    def messages_receipt(self, unit: Unit, tenant: str, receipt_id: UUID) -> StoredReceipt | None:
        found = unit.messages.receipt(tenant, receipt_id)
        row = unit.sessions.get(tenant, found.session_id) if found else None
        return found if found and row and row.epoch == found.epoch else None


@caught_by("test_a_reset_that_does_not_commit_changes_nothing")
class ResetsInATransactionOfItsOwn(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.resets: list[Callable[[Unit], int]] = []

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        try:
            return await super().write(tenant, work)
        finally:
            while self.resets:
                await self.real.write(TENANT, self.resets.pop())

    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, *, now: datetime) -> int:
        row = unit.sessions.get(tenant, session_id)
        self.resets.append(lambda later: later.sessions.reset(tenant, session_id, now=now))
        return row.head if row else 0


@caught_by("test_a_reset_is_still_one_after_closing")
class HidesInsteadOfResetting(Broken):
    """What was reset is only hidden from the process that did it."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.hidden: set[UUID] = set()

    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **_: Any) -> int:
        self.hidden.add(session_id)
        row = unit.sessions.get(tenant, session_id)
        return row.head if row else 0

    def sessions_find(self, unit: Unit, key: SessionKey) -> SessionRow | None:
        row = unit.sessions.find(key)
        return replace(row, head=0, turns=0, tokens=0, epoch=1) if row and row.id in self.hidden else row
