"""I3, I6: the chain of versions, and heads that move by compare and swap."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from tests.storage.bench import NOW, append, key_of, new_id, opened, row_of, summary

from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Point, Summary, SummaryStatus
from anaphora.errors import StoreError
from anaphora.ports.store import Head, Unit
from anaphora.storage.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio

READER = "live:standard"


async def prepared(store: SqliteStore, *versions: Summary) -> UUID:
    await store.append(append(*"abcdefghij"))

    def work(unit: Unit) -> UUID:
        row = row_of(unit)
        for version in versions:
            unit.summaries.insert("t", row.id, version, epoch=row.epoch)
        return row.id

    return await store.write(work)


def base_for(unit: Unit, *, uid: UUID, stop: int) -> Summary | None:
    return unit.summaries.base_for("t", uid, strategy="standard", stop=stop)


def moved(unit: Unit, *, uid: UUID, reader: str, old: Head, new: Head) -> bool:
    return unit.summaries.move_head("t", uid, reader, old=old, new=new, now=NOW)


async def chain(store: SqliteStore, uid: UUID) -> Sequence[Summary]:
    return await store.read(lambda unit: unit.summaries.chain("t", uid, strategy="standard", limit=9))


async def test_a_version_comes_back_as_it_was(tmp_path: Path) -> None:
    first = summary((0, 2), (2, 5), version=1)
    gap = Point(text="Ünïcode", range=SeqRange(5, 9), elided=(SeqRange(6, 7), SeqRange(8, 9)), tokens=3)
    second = Summary(
        id=new_id(),
        base_id=first.id,
        version=2,
        strategy="standard",
        range=SeqRange(2, 9),
        points=(first.points[1], gap),
        method=first.method,
        model=None,
        prompt_version=None,
        trust=first.trust,
        created_at=NOW,
        generation_ms=0,
        tokens=7,
    )
    async with opened(tmp_path / "m.db") as store:
        uid = await prepared(store, first, second)
        assert await chain(store, uid) == [second, first]
        assert await store.read(lambda unit: unit.summaries.get("t", second.id)) == second
        assert await store.read(lambda unit: unit.summaries.get("other", second.id)) is None
        older = await store.read(lambda unit: unit.summaries.chain("t", uid, strategy="standard", limit=9, before=2))
        assert older == [first]
        assert await store.read(lambda unit: unit.summaries.next_version("t", uid, "standard")) == 3
        assert await store.read(lambda unit: unit.summaries.next_version("t", uid, "another")) == 1


async def test_the_base_is_the_newest_completed_version_that_ends_early_enough(tmp_path: Path) -> None:
    first, second = summary((0, 2), version=1), summary((0, 4), version=2)
    building = summary((0, 3), version=3, status=SummaryStatus.BUILDING)
    async with opened(tmp_path / "m.db") as store:
        uid = await prepared(store, first, second, building)
        for stop, expected in ((1, None), (2, first), (3, first), (4, second), (99, second)):
            assert await store.read(partial(base_for, uid=uid, stop=stop)) == expected


async def test_a_rebuilt_chain_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    keep = summary((0, 2), version=1)
    old = summary((0, 4), version=2)
    new = summary((0, 4), version=3, status=SummaryStatus.BUILDING)
    async with opened(tmp_path / "m.db") as store:
        uid = await prepared(store, keep, old, new)
        await store.write(lambda unit: unit.summaries.replace_chain("t", uid, strategy="standard", after_version=1))
        assert [version.status for version in await chain(store, uid)] == [
            SummaryStatus.COMPLETED,
            SummaryStatus.SUPERSEDED,
            SummaryStatus.COMPLETED,
        ]


async def test_a_rebuild_that_is_given_up_leaves_the_served_chain_alone(tmp_path: Path) -> None:
    served = summary((0, 4), version=1)
    building = summary((0, 4), version=2, status=SummaryStatus.BUILDING)
    async with opened(tmp_path / "m.db") as store:
        uid = await prepared(store, served, building)
        await store.write(lambda unit: unit.summaries.drop_building("t", uid, strategy="standard"))
        statuses = [version.status for version in await chain(store, uid)]
        assert statuses == [SummaryStatus.SUPERSEDED, SummaryStatus.COMPLETED]


@pytest.mark.parametrize("twin", [summary((0, 4), version=9), summary((0, 5), version=1)])
async def test_one_range_and_one_version_number_are_taken_once(tmp_path: Path, twin: Summary) -> None:
    async with opened(tmp_path / "m.db") as store:
        uid = await prepared(store, summary((0, 4), version=1))
        with pytest.raises(StoreError, match="refused a row"):
            await store.write(lambda unit: unit.summaries.insert("t", uid, twin, epoch=0))
        assert len(await chain(store, uid)) == 1


async def test_a_head_moves_only_from_where_it_is(tmp_path: Path) -> None:
    made = summary((0, 4), version=1)
    start, there = Head(), Head(position=4, summary_id=made.id)
    async with opened(tmp_path / "m.db") as store:
        uid = await prepared(store, made)

        async def move(old: Head, new: Head, reader: str = READER) -> bool:
            return await store.write(partial(moved, uid=uid, reader=reader, old=old, new=new))

        assert await store.read(lambda unit: unit.summaries.head("t", uid, READER)) == start
        assert not await move(there, Head(position=9))
        assert await move(start, there)
        assert not await move(start, Head(position=9))
        assert not await move(Head(position=4), Head(position=9))
        assert await store.read(lambda unit: unit.summaries.head("t", uid, READER)) == there
        assert await move(start, Head(position=1), reader="rebuild:standard")
        assert await move(there, Head(position=6, summary_id=made.id))
        await store.write(lambda unit: unit.summaries.drop_head("t", uid, READER))
        assert await store.read(lambda unit: unit.summaries.head("t", uid, READER)) == start


async def test_of_many_that_move_a_head_from_the_same_place_one_succeeds(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as one, opened(tmp_path / "m.db") as two:
        uid = await prepared(one)
        moves = await asyncio.gather(
            *(
                store.write(partial(moved, uid=uid, reader=READER, old=Head(), new=Head(position=number)))
                for number in range(1, 9)
                for store in (one, two)
            )
        )
        assert moves.count(True) == 1


async def test_statistics_leave_out_what_took_no_measurable_time(tmp_path: Path) -> None:
    versions = [summary((0, n), version=n, millis=millis) for n, millis in ((1, 10), (2, 30), (3, 0))]
    async with opened(tmp_path / "m.db") as store:
        await prepared(store, *versions)
        stats = await store.read(lambda unit: unit.summaries.stats("t"))
        assert stats == {"count": 2, "avg_ms": 20.0, "max_ms": 30, "by_method": {"model": 3}}
        empty = {"count": 0, "avg_ms": 0.0, "max_ms": 0, "by_method": {}}
        assert await store.read(lambda unit: unit.summaries.stats("t", user="alice")) == stats
        assert await store.read(lambda unit: unit.summaries.stats("t", user="bob")) == empty
        assert await store.read(lambda unit: unit.summaries.stats("other")) == empty


async def test_sessions_are_listed_by_last_activity_and_numbered(tmp_path: Path) -> None:
    names = ("2", "10", "s3", "0x1f", "٣", "9" * 40)
    async with opened(tmp_path / "m.db") as store:
        for name in names:
            await store.append(append("a", key=key_of(session=name)))
        rows = await store.read(lambda unit: unit.sessions.list("t", user="alice", agent="default", limit=3))
        assert len(rows) == 3
        assert await store.read(lambda unit: unit.sessions.next_number("t", "alice", "default")) == 11
        assert await store.read(lambda unit: unit.sessions.next_number("t", "bob", "default")) == 1
        assert await store.read(lambda unit: unit.sessions.list("t", user="bob")) == []


async def test_a_session_is_made_once(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        made = [
            await store.write(
                lambda unit: unit.sessions.create(
                    key_of(), session_id=new_id(), strategy="standard", subject="Alice", now=NOW
                )
            )
            for _ in range(2)
        ]
        assert made[0] == made[1]
        assert await store.read(lambda unit: unit.sessions.get("t", made[0].id)) == made[0]
        assert await store.read(lambda unit: unit.sessions.get("other", made[0].id)) is None
