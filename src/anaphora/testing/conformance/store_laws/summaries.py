"""I3, I6, I15: the chain of versions."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import pytest

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method, Point, Summary, SummaryStatus
from anaphora.errors import StoreError
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    NOW,
    STRATEGY,
    TENANT,
    after,
    chain,
    insert,
    key_of,
    new_id,
    prepared,
    row_of,
    summary,
)

BUILDING, COMPLETED, STALE, SUPERSEDED = (
    SummaryStatus.BUILDING,
    SummaryStatus.COMPLETED,
    SummaryStatus.STALE,
    SummaryStatus.SUPERSEDED,
)
EMPTY = {"count": 0, "avg_ms": 0.0, "max_ms": 0, "by_method": {}}
OTHER = key_of(session="s2")


async def statuses(store: Store) -> dict[int, SummaryStatus]:
    """The status of each version, by its number."""
    return {version.version: version.status for version in await chain(store)}


def insert_one(unit: Unit, version: Summary) -> None:
    """Store one version."""
    insert(unit, version)


class SummaryLaws(StoreLaws):
    """Versions of summaries and their points."""

    async def test_a_version_comes_back_as_it_was(self, tmp_path: Path) -> None:
        """I3, I15: points with their ranges and holes, and where a version came from, are kept; also when it closes."""
        first = summary((0, 2), (2, 5), version=1)
        gap = Point(
            text="Ünïcode 猫",
            range=SeqRange(5, 9),
            elided=(SeqRange(6, 7), SeqRange(8, 9)),
            method=Method.DIGEST,
            tokens=3,
        )
        second = Summary(
            id=new_id(),
            base_id=first.id,
            version=2,
            strategy=STRATEGY,
            range=SeqRange(2, 9),
            points=(first.points[1], gap),
            method=Method.DIGEST,
            model=None,
            prompt_version=None,
            trust=Trust.TOOL,
            created_at=after(1),
            generation_ms=0,
            tokens=7,
        )
        async with self.opened(tmp_path) as store:
            await prepared(store, first, second)
        async with self.opened(tmp_path) as store:
            assert await chain(store) == [second, first]
            assert await store.read(TENANT, lambda unit: unit.summaries.get(TENANT, second.id)) == second
            assert await store.read(TENANT, lambda unit: unit.summaries.get(TENANT, new_id())) is None

    async def test_a_chain_is_read_from_its_newest_version_back(self, tmp_path: Path) -> None:
        """Versions come newest first, as many as asked for, before a version if that is said, of one strategy."""
        made = [summary((0, n), version=n) for n in (1, 2, 3, 4)]
        stranger = summary((0, 3), version=7, strategy="another")
        async with self.opened(tmp_path) as store:
            row = await prepared(store, *made, stranger)

            async def page(limit: int, before: int | None) -> list[int]:
                found = await store.read(
                    TENANT,
                    lambda unit: unit.summaries.chain(TENANT, row.id, strategy=STRATEGY, limit=limit, before=before),
                )
                return [version.version for version in found]

            assert await page(9, None) == [4, 3, 2, 1]
            assert await page(2, None) == [4, 3]
            assert await page(9, 3) == [2, 1]
            assert await page(1, 4) == [3]
            assert await chain(store, strategy="another") == [stranger]

    async def test_versions_count_up_within_a_session_and_a_strategy(self, tmp_path: Path) -> None:
        """The next version is one more than the highest, whatever became of that one."""
        async with self.opened(tmp_path) as store:
            row = await prepared(store, summary((0, 2), version=1), summary((0, 4), version=5, status=SUPERSEDED))
            other = await prepared(store, key=OTHER)

            async def number(of: SessionRow, strategy: str) -> int:
                return await store.read(TENANT, lambda unit: unit.summaries.next_version(TENANT, of.id, strategy))

            assert await number(row, STRATEGY) == 6
            assert await number(row, "another") == 1
            assert await number(other, STRATEGY) == 1

    async def test_the_base_is_the_newest_completed_version_that_ends_early_enough(self, tmp_path: Path) -> None:
        """I18: a rebuild starts from the newest served version that ends before its start, or from nothing."""
        first, second = summary((0, 2), version=1), summary((0, 4), version=2)
        rest = [
            summary((0, 3), version=3 + at, status=status) for at, status in enumerate((BUILDING, STALE, SUPERSEDED))
        ]
        async with self.opened(tmp_path) as store:
            row = await prepared(store, first, second, *rest)

            async def base(stop: int) -> Summary | None:
                return await store.read(
                    TENANT, lambda unit: unit.summaries.base_for(TENANT, row.id, strategy=STRATEGY, stop=stop)
                )

            assert [await base(stop) for stop in (1, 2, 3, 4, 99)] == [None, first, first, second, second]

    async def test_a_rebuilt_chain_takes_the_place_of_the_old_one(self, tmp_path: Path) -> None:
        """I18: after a version, what was served is superseded and what was built is served; nothing else changes."""
        made = (
            summary((0, 2), version=1),
            summary((0, 4), version=2),
            summary((0, 5), version=3, status=STALE),
            summary((0, 4), version=4, status=BUILDING),
            summary((0, 6), version=5, status=BUILDING),
        )
        elsewhere = summary((0, 4), version=2), summary((0, 4), version=3, status=BUILDING)
        async with self.opened(tmp_path) as store:
            await prepared(store, *made, summary((0, 4), version=9, strategy="another"))
            await prepared(store, *elsewhere, key=OTHER)
            await store.write(
                TENANT,
                lambda unit: unit.summaries.replace_chain(row_of(unit), strategy=STRATEGY, after_version=1, now=NOW),
            )
            assert await statuses(store) == {1: COMPLETED, 2: SUPERSEDED, 3: SUPERSEDED, 4: COMPLETED, 5: COMPLETED}
            assert [version.points for version in await chain(store)] == [version.points for version in made[::-1]]
            assert [version.status for version in await chain(store, OTHER)] == [BUILDING, COMPLETED]
            assert [version.status for version in await chain(store, strategy="another")] == [COMPLETED]

    async def test_a_rebuild_that_is_given_up_leaves_the_served_chain_alone(self, tmp_path: Path) -> None:
        """I18: what was being built is superseded; what is served goes on being served; so does everything else."""
        made = summary((0, 4), version=1), summary((0, 4), version=2, status=BUILDING)
        elsewhere = summary((0, 4), version=3, status=BUILDING)
        async with self.opened(tmp_path) as store:
            await prepared(store, *made, summary((0, 4), version=9, strategy="another", status=BUILDING))
            await prepared(store, elsewhere, key=OTHER)
            await store.write(
                TENANT, lambda unit: unit.summaries.drop_building(row_of(unit), strategy=STRATEGY, now=NOW)
            )
            assert await statuses(store) == {1: COMPLETED, 2: SUPERSEDED}
            assert await chain(store, OTHER) == [elsewhere]
            assert [version.status for version in await chain(store, strategy="another")] == [BUILDING]

    async def test_one_range_and_one_version_number_are_taken_once(self, tmp_path: Path) -> None:
        """I3: the database refuses a second served version of one range, and a second version of one number."""
        first = summary((0, 4), version=1)
        twins = summary((0, 4), version=9), summary((0, 5), version=1), dataclasses.replace(first, version=7)
        async with self.opened(tmp_path) as store:
            await prepared(store, first)
            for twin in twins:
                with pytest.raises(StoreError):
                    await store.write(TENANT, partial(insert_one, version=twin))
            assert await chain(store) == [first]

    async def test_the_range_of_a_superseded_version_can_be_summarised_again(self, tmp_path: Path) -> None:
        """I18: uniqueness is of what is served: a range can be done anew."""
        first, again = summary((0, 4), version=1), summary((0, 4), version=2, status=BUILDING)
        async with self.opened(tmp_path) as store:
            row = await prepared(store, first, again)
            await store.write(
                TENANT,
                lambda unit: unit.summaries.replace_chain(row_of(unit), strategy=STRATEGY, after_version=0, now=NOW),
            )
            third = summary((0, 4), version=3, status=SUPERSEDED)
            await store.write(TENANT, lambda unit: insert(unit, third))
            base = await store.read(
                TENANT, lambda unit: unit.summaries.base_for(TENANT, row.id, strategy=STRATEGY, stop=4)
            )
            assert base == dataclasses.replace(again, status=COMPLETED)

    async def test_statistics_leave_out_what_took_no_measurable_time(self, tmp_path: Path) -> None:
        """Averages are of versions whose time was measured; all are counted by how they were made, in their scope."""
        versions = [summary((0, n), version=n, millis=millis) for n, millis in ((1, 10), (2, 30), (3, 0))]
        digest = dataclasses.replace(summary((0, 4), version=4, millis=50), method=Method.DIGEST)
        async with self.opened(tmp_path) as store:
            await prepared(store, *versions)
            await prepared(store, digest, key=key_of("bob"))
            await prepared(store, summary((0, 1), version=1, millis=7), key=key_of(tenant="t2"))

            async def stats(tenant: str, user: str | None = None) -> object:
                return await store.read(tenant, lambda unit: dict(unit.summaries.stats(tenant, user=user)))

            alice = {"count": 2, "avg_ms": 20.0, "max_ms": 30, "by_method": {"model": 3}}
            assert await stats(TENANT, "alice") == alice
            assert await stats(TENANT) == {
                "count": 3,
                "avg_ms": 30.0,
                "max_ms": 50,
                "by_method": {"model": 3, "digest": 1},
            }
            assert await stats(TENANT, "carol") == EMPTY
            assert await stats("t3") == EMPTY

    async def test_nobody_reads_another_tenants_summaries(self, tmp_path: Path) -> None:
        """I11: neither by the id of a version nor by that of a session."""
        made = summary((0, 4), version=3)
        async with self.opened(tmp_path) as store:
            row = await prepared(store, made)
            await prepared(store, key=key_of(tenant="t2"))
            assert await store.read("t2", lambda unit: unit.summaries.get("t2", made.id)) is None
            base = await store.read("t2", lambda unit: unit.summaries.base_for("t2", row.id, strategy=STRATEGY, stop=9))
            assert base is None
            found = await store.read("t2", lambda unit: unit.summaries.chain("t2", row.id, strategy=STRATEGY, limit=9))
            assert list(found) == []
            assert await store.read("t2", lambda unit: unit.summaries.next_version("t2", row.id, STRATEGY)) == 1
