"""Stores that break the laws of edits, deletions and the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, T, caught_by
from tests.conformance.broken_logs import FindsOtherwise

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.moments import Moment
from anaphora.domain.summaries import Summary, SummaryStatus
from anaphora.ports.rows import Head, SessionRow, WordMatches
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import TENANT

# -- edits and deletions -------------------------------------------------------------------------------------------


@caught_by("test_an_edited_message_keeps_its_place_and_its_earlier_versions")
class KeepsTheNewestVersionOnly(Broken):
    def history_versions(self, unit: Unit, *args: Any) -> Sequence[Message]:
        return unit.history.versions(*args)[-1:]


@caught_by("test_tombstones_are_in_no_list_unless_they_are_asked_for")
class CountsTombstonesInTheLimit(Broken):
    def messages_range(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Message]:
        found = unit.messages.range(*args, **how | {"deleted": True})
        return [message for message in found if how.get("deleted") or not message.deleted]


@caught_by("test_a_session_knows_what_is_deleted_and_counts_what_is_left")
class CountsWhatIsGone(FindsOtherwise):
    most: int = 0

    def found_as(self, row: SessionRow) -> SessionRow:
        self.most = max(self.most, row.tokens)
        return replace(row, tokens=self.most)


@caught_by("test_a_session_knows_what_is_deleted_and_counts_what_is_left")
class ListsEachDeletion(FindsOtherwise):
    def found_as(self, row: SessionRow) -> SessionRow:
        return replace(row, deleted=tuple(SeqRange(seq, seq + 1) for span in row.deleted for seq in span))


@caught_by("test_search_follows_the_text", "test_a_change_whose_transaction_fails_did_not_happen")
class NeverForgetsAWord(Broken):
    """Finds by what was once said, and shows what was once meant to be said."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.changed: list[Message] = []

    def messages_amend(self, unit: Unit, row: SessionRow, old: Message, new: Message, *, now: datetime) -> SessionRow:
        self.changed += [old, new]
        return unit.messages.amend(row, old, new, now=now)

    def words_find(self, unit: Unit, *args: Any, terms: Sequence[str], **how: Any) -> WordMatches:
        matches = unit.words.find(*args, terms=terms, **how)
        like = unit.words.find(*args, terms=["house", "horse", "hat"], **how).found
        seqs = [message.seq for message in self.changed if any(term in message.content for term in terms)]
        more = (match._replace(seq=seq, words=(0,)) for match in like[:1] for seq in seqs)
        return replace(matches, found=[*matches.found, *more])


@caught_by("test_a_change_whose_transaction_fails_did_not_happen")
class AmendsInATransactionOfItsOwn(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.changes: list[Callable[[Unit], object]] = []

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        try:
            return await super().write(tenant, work)
        finally:
            while self.changes:
                await self.real.write(TENANT, self.changes.pop())

    def messages_amend(self, _unit: Unit, row: SessionRow, old: Message, new: Message, *, now: datetime) -> SessionRow:
        self.changes.append(lambda unit: unit.messages.amend(row, old, new, now=now))
        return row


@caught_by("test_versions_whose_range_holds_a_changed_message_become_stale")
class MarksWhatEndsThere(Broken):
    """Takes the end of a range for a part of it."""

    def summaries_mark_stale(self, unit: Unit, row: SessionRow, seq: int, *, now: datetime) -> int:
        return sum(unit.summaries.mark_stale(row, at, now=now) for at in (seq, seq - 1) if at >= 0)


@caught_by("test_a_withdrawn_job_is_over_for_whoever_runs_it")
class ForgetsToTellTheWorker(Broken):
    def jobs_withdraw(self, unit: Unit, tenant: str, job_id: UUID, **_: Any) -> bool:
        return any(job.id == job_id for job in unit.jobs.list(tenant))


@caught_by("test_nobody_withdraws_the_job_of_another_tenant")
class WithdrawsForAnybody(Broken):
    def jobs_withdraw(self, unit: Unit, _tenant: str, job_id: UUID, *, now: datetime) -> bool:
        return unit.jobs.withdraw("t", job_id, now=now)


# -- the past ------------------------------------------------------------------------------------------------------


@caught_by("test_a_moment_is_a_number_of_messages_or_a_time")
class TakesNowForThePast(Broken):
    def history_moment(self, unit: Unit, row: SessionRow, as_of: Any) -> Moment | None:
        return unit.history.moment(row, as_of) or Moment(head=row.head)


@caught_by("test_messages_are_shown_as_they_were")
class ShowsThePastAsItIsNow(Broken):
    def history_newest(
        self, unit: Unit, row: SessionRow, span: SeqRange, *, moment: Moment, limit: int
    ) -> Sequence[Message]:
        there = SeqRange(span.start, min(span.stop, moment.head))
        return unit.messages.newest(row.key.tenant, row.id, there, limit=limit)


@caught_by("test_a_session_is_shown_as_it_was")
class CountsThePastAsItIsNow(Broken):
    def history_session(self, unit: Unit, row: SessionRow, moment: Moment) -> SessionRow:
        return replace(unit.history.session(row, moment), tokens=row.tokens, deleted=row.deleted)


@caught_by("test_a_head_is_where_it_was")
class LooksAtTheHeadAsItIsNow(Broken):
    def history_head(self, unit: Unit, tenant: str, session_id: UUID, reader: str, **_: Any) -> Head:
        return unit.summaries.head(tenant, session_id, reader)


@caught_by("test_a_head_that_did_not_move_leaves_no_trace", "test_a_reset_leaves_no_past")
class RemembersEveryMove(Broken):
    """Notes a move before it knows whether it happens, and for ever."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.moves: list[Head] = []

    def summaries_move_head(self, unit: Unit, *args: Any, new: Head, **how: Any) -> bool:
        self.moves.append(new)
        return unit.summaries.move_head(*args, new=new, **how)

    def history_head(self, _unit: Unit, *_: Any, **__: Any) -> Head:
        return self.moves[-1]


@caught_by("test_versions_have_the_status_that_they_had")
class ShowsTheChainAsItIsNow(Broken):
    def history_chain(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Summary]:
        chain = unit.history.chain(*args, **how)
        return [replace(version, status=SummaryStatus.COMPLETED) for version in chain]
