"""I1, I2, I5: messages that were edited or deleted, and what becomes of work that has read them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import InvalidInput
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    NOW,
    TENANT,
    after,
    append,
    chain,
    claimed,
    due,
    fence_of,
    holds,
    jobs_of,
    key_of,
    log_of,
    planned,
    prepared,
    row_of,
    session,
    summary,
)

OTHER = key_of(session="s2")
STALE, COMPLETED = SummaryStatus.STALE, SummaryStatus.COMPLETED


def message(unit: Unit, seq: int) -> Message:
    """A message of the session, which is there; perhaps a tombstone."""
    row = row_of(unit)
    return unit.messages.range(TENANT, row.id, SeqRange(seq, seq + 1), limit=1, deleted=True)[0]


def amend(unit: Unit, seq: int, content: str | None, *, tokens: int = 3, now: datetime = NOW) -> SessionRow:
    """Put another text in the place of a message, or a tombstone."""
    old = message(unit, seq)
    new = replace(old, version=old.version + 1, content=content or "", tokens=tokens if content else 0)
    return unit.messages.amend(row_of(unit), old, replace(new, changed_at=now, deleted=content is None), now=now)


async def edited(store: Store, seq: int, content: str | None, *, tokens: int = 3, now: datetime = NOW) -> SessionRow:
    """The same in a transaction of its own."""
    return await store.write(TENANT, lambda unit: amend(unit, seq, content, tokens=tokens, now=now))


async def found(store: Store, word: str) -> list[int]:
    """The numbers of the messages that have this word."""
    hits = await store.read(
        TENANT,
        lambda unit: unit.words.find(TENANT, KEY.user, agent=None, session_id=None, terms=[word], pieces=[], limit=9),
    )
    return sorted({match.seq for match in hits.found})


class EditingLaws(StoreLaws):
    """Versions of messages and tombstones."""

    async def test_an_edited_message_keeps_its_place_and_its_earlier_versions(self, tmp_path: Path) -> None:
        """I2: id, number, turn, role and time stay; every earlier version is kept, also when the store closes."""
        async with self.opened(tmp_path) as store:
            await store.append(append("one", "two"))
            first = await store.read(TENANT, lambda unit: message(unit, 1))
            await edited(store, 1, "three", now=after(1))
            await edited(store, 1, "four", now=after(2))
        async with self.opened(tmp_path) as store:
            assert await log_of(store) == ["one", "four"]
            now = await store.read(TENANT, lambda unit: message(unit, 1))
            assert now == replace(first, content="four", tokens=3, version=3, changed_at=after(2))
            earlier = await store.read(
                TENANT, lambda unit: unit.history.versions(TENANT, row_of(unit).id, SeqRange(0, 2))
            )
            assert list(earlier) == [first, replace(first, content="three", tokens=3, version=2, changed_at=after(1))]

    async def test_tombstones_are_in_no_list_unless_they_are_asked_for(self, tmp_path: Path) -> None:
        """I1: limits count what is left; the numbers of the others do not move."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdef"))
            for seq in (1, 2, 5):
                await edited(store, seq, None)

            def lists(unit: Unit) -> list[list[int]]:
                row = row_of(unit)
                whole = SeqRange(0, 6)
                read = unit.messages.range, unit.messages.newest
                kept = [many(TENANT, row.id, whole, limit=3) for many in read]
                all_ = [many(TENANT, row.id, whole, limit=3, deleted=True) for many in read]
                return [[m.seq for m in page] for page in (*kept, *all_)]

            assert await store.read(TENANT, lists) == [[0, 3, 4], [4, 3, 0], [0, 1, 2], [5, 4, 3]]
            assert (await store.append(append("g"))).seq == 6

    async def test_a_session_knows_what_is_deleted_and_counts_what_is_left(self, tmp_path: Path) -> None:
        """I1: deleted ranges are sorted and joined, and tokens are those of the messages that are there."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdef"))
            before = (await session(store)).tokens
            for seq in (4, 1, 2):
                given = await edited(store, seq, None, now=after(seq))
            row = await session(store)
            assert row == given
            assert row.deleted == (SeqRange(1, 3), SeqRange(4, 5))
            assert (row.head, row.tokens, row.updated_at) == (6, before - 3, after(2))
            assert (await edited(store, 0, "longer", tokens=9)).tokens == before - 3 + 8

    async def test_search_follows_the_text(self, tmp_path: Path) -> None:
        """I12: new words are found, old ones are not, and nothing of a deleted message is."""
        async with self.opened(tmp_path) as store:
            await store.append(append("red house", "red horse", "red hat"))
            await edited(store, 0, "blue house")
            await edited(store, 2, None)
            assert await found(store, "red") == [1]
            assert await found(store, "blue") == [0]
            assert await found(store, "hat") == []

    async def test_a_change_whose_transaction_fails_did_not_happen(self, tmp_path: Path) -> None:
        """I8: message, version, session and index change together or not at all."""

        def half(unit: Unit) -> None:
            amend(unit, 0, "blue house")
            amend(unit, 1, None)
            raise InvalidInput("no")

        async with self.opened(tmp_path) as store:
            await store.append(append("red house", "red horse"))
            before = await session(store)
            with pytest.raises(InvalidInput):
                await store.write(TENANT, half)
            assert await session(store) == before
            assert await log_of(store) == ["red house", "red horse"]
            assert await found(store, "red") == [0, 1]
            assert await found(store, "blue") == []
            assert not await store.read(
                TENANT, lambda unit: unit.history.versions(TENANT, row_of(unit).id, SeqRange(0, 2))
            )

    async def test_versions_whose_range_holds_a_changed_message_become_stale(self, tmp_path: Path) -> None:
        """0.21: those and no others, whatever their strategy; a stale one is no base for a rebuild."""
        spans = ((0, 2), (0, 4), (3, 6))
        made = [summary(span, version=at) for at, span in enumerate(spans, start=1)]
        stranger = summary((2, 3), version=1, strategy="another")
        async with self.opened(tmp_path) as store:
            row = await prepared(store, *made, stranger)
            other = await prepared(store, summary((0, 4), version=1), key=OTHER)
            assert await store.write(TENANT, lambda unit: unit.summaries.mark_stale(row, 2, now=NOW)) == 2
            assert [version.status for version in await chain(store)] == [COMPLETED, STALE, COMPLETED]
            assert [version.status for version in await chain(store, strategy="another")] == [STALE]
            assert [version.status for version in await chain(store, OTHER)] == [COMPLETED]
            assert other.id != row.id
            assert await store.write(TENANT, lambda unit: unit.summaries.mark_stale(row, 2, now=NOW)) == 0

    async def test_a_withdrawn_job_is_over_for_whoever_runs_it(self, tmp_path: Path) -> None:
        """I5: the fence of its worker does not hold, and another job can be planned at once."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            assert await planned(store)
            job = await claimed(store)
            assert await holds(store, fence_of(job))
            assert await store.write(TENANT, lambda unit: unit.jobs.withdraw(TENANT, job.id, now=after(1)))
            assert not await holds(store, fence_of(job))
            assert not await store.write(
                job.tenant, lambda unit: unit.jobs.fail(fence_of(job), reason="late", now=after(2))
            )
            assert not await store.write(TENANT, lambda unit: unit.jobs.withdraw(TENANT, job.id, now=after(2)))
            assert await due(store) == 0
            assert await planned(store)
            assert [live.id == job.id for live in await jobs_of(store)].count(True) == 1

    async def test_nobody_withdraws_the_job_of_another_tenant(self, tmp_path: Path) -> None:
        """I11: the tenant is part of the name."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            await planned(store)
            (job,) = await jobs_of(store)
            assert not await store.write("another", lambda unit: unit.jobs.withdraw("another", job.id, now=NOW))
            assert await due(store) == 1
