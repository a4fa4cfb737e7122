"""The past: heads, versions, messages and sessions as they were at any moment."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from anaphora.domain.keys import SeqRange
from anaphora.domain.moments import AsOf, Moment
from anaphora.domain.summaries import Summary, SummaryStatus
from anaphora.errors import InvalidInput
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.editing import edited
from anaphora.testing.conformance.store_laws.tools import (
    NOW,
    STRATEGY,
    TENANT,
    after,
    append,
    reader_of,
    row_of,
    session,
    summary,
)

LIVE = reader_of(None)


async def moment(store: Store, as_of: AsOf) -> Moment | None:
    """What a number or a time means."""
    return await store.read(TENANT, lambda unit: unit.history.moment(row_of(unit), as_of))


async def texts(store: Store, at: Moment, *, limit: int = 99) -> list[tuple[int, str]]:
    """The messages as they were, oldest first."""
    found = await store.read(
        TENANT, lambda unit: unit.history.newest(row_of(unit), SeqRange(0, at.head), moment=at, limit=limit)
    )
    return [(message.seq, message.content) for message in reversed(found)]


async def extended(store: Store, version: Summary, old: Head, *, now: datetime) -> Head:
    """A new version, and the live head that moves to it, in one transaction."""
    new = Head(position=version.range.stop, summary_id=version.id)

    def work(unit: Unit) -> bool:
        unit.summaries.insert(row_of(unit), version, now=now)
        return unit.summaries.move_head(row_of(unit), LIVE, old=old, new=new, now=now)

    assert await store.write(TENANT, work)
    return new


def summary_then(unit: Unit, *, summary_id: UUID, moment: Moment) -> Summary | None:
    """A version as it was."""
    return unit.history.summary(TENANT, summary_id, moment=moment)


class HistoryLaws(StoreLaws):
    """What was, as it was."""

    async def test_a_moment_is_a_number_of_messages_or_a_time(self, tmp_path: Path) -> None:
        """As many messages as there are is now; what is not in the past is refused."""
        async with self.opened(tmp_path) as store:
            for at in range(4):
                await store.append(append(f"m{at}", now=after(10 * at)))
            assert await moment(store, 4) is None
            assert await moment(store, 0) == Moment(head=0)
            assert await moment(store, 3) == Moment(head=3)
            assert await moment(store, after(10)) == Moment(head=2, at=after(10))
            assert await moment(store, after(9.9)) == Moment(head=1, at=after(9.9))
            assert await moment(store, after(-1)) == Moment(head=0, at=after(-1))
            for bad in (-1, 5, True, NOW.replace(tzinfo=None)):
                with pytest.raises(InvalidInput):
                    await moment(store, bad)

    async def test_messages_are_shown_as_they_were(self, tmp_path: Path) -> None:
        """Edits and deletions that came later are undone, those that came before are not."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b", "c", now=NOW))
            await edited(store, 1, "B", now=after(1))
            await edited(store, 0, None, now=after(2))
            await store.append(append("d", now=after(3)))
            await edited(store, 1, "BB", now=after(4))
            await edited(store, 2, None, now=after(5))
            assert await texts(store, Moment(head=3)) == [(1, "B"), (2, "c")]
            assert await texts(store, Moment(head=3, at=NOW)) == [(0, "a"), (1, "b"), (2, "c")]
            assert await texts(store, Moment(head=3, at=after(1))) == [(0, "a"), (1, "B"), (2, "c")]
            assert await texts(store, Moment(head=4, at=after(4))) == [(1, "BB"), (2, "c"), (3, "d")]
            assert await texts(store, Moment(head=4, at=after(4)), limit=2) == [(2, "c"), (3, "d")]

    async def test_a_session_is_shown_as_it_was(self, tmp_path: Path) -> None:
        """Its head, turns, tokens and deleted ranges are those of the moment."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b", now=NOW))
            await edited(store, 0, None, now=after(1))
            then = await session(store)
            await store.append(append("c", "d", now=after(2)))
            await edited(store, 1, "longer by far", tokens=30, now=after(3))
            await edited(store, 2, None, now=after(4))

            def look(unit: Unit) -> SessionRow:
                return unit.history.session(row_of(unit), Moment(head=2))

            was = await store.read(TENANT, look)
            assert (was.head, was.turns, was.turn_starts) == (2, 2, (0, 1))
            assert (was.tokens, was.deleted) == (then.tokens, (SeqRange(0, 1),))

    async def test_a_head_is_where_it_was(self, tmp_path: Path) -> None:
        """I6: of several moves while the log was as long, the last; none before the first."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcd", now=NOW))
            one = await extended(store, summary((0, 2), version=1), Head(), now=after(1))
            two = await extended(store, summary((0, 3), version=2), one, now=after(2))
            await store.append(append("e", now=after(3)))
            await extended(store, summary((0, 4), version=3), two, now=after(4))

            async def head(at: Moment) -> Head:
                return await store.read(
                    TENANT, lambda unit: unit.history.head(TENANT, row_of(unit).id, LIVE, moment=at)
                )

            assert await head(Moment(head=3)) == Head()
            assert await head(Moment(head=4)) == two
            assert await head(Moment(head=4, at=after(1.5))) == one
            assert await head(Moment(head=4, at=NOW)) == Head()

    async def test_a_head_that_did_not_move_leaves_no_trace(self, tmp_path: Path) -> None:
        """I5: a refused move is no part of the past."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcd", now=NOW))
            one = await extended(store, summary((0, 2), version=1), Head(), now=after(1))

            def late(unit: Unit) -> bool:
                return unit.summaries.move_head(row_of(unit), LIVE, old=Head(), new=Head(position=1), now=after(2))

            assert not await store.write(TENANT, late)
            at = Moment(head=4, at=after(3))
            assert (
                await store.read(TENANT, lambda unit: unit.history.head(TENANT, row_of(unit).id, LIVE, moment=at))
                == one
            )

    async def test_versions_have_the_status_that_they_had(self, tmp_path: Path) -> None:
        """What was not made yet is not there; what became stale or was superseded later was not so then."""
        first, second = summary((0, 2), version=1), summary((0, 4), version=2)
        rebuilt = summary((0, 4), version=3, status=SummaryStatus.BUILDING)
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdef", now=NOW))
            one = await extended(store, first, Head(), now=after(1))
            await extended(store, second, one, now=after(2))
            await store.write(TENANT, lambda unit: unit.summaries.mark_stale(row_of(unit), 3, now=after(3)))
            await store.write(TENANT, lambda unit: unit.summaries.insert(row_of(unit), rebuilt, now=after(4)))
            await store.write(
                TENANT,
                lambda unit: unit.summaries.replace_chain(
                    row_of(unit), strategy=STRATEGY, after_version=1, now=after(5)
                ),
            )

            async def were(seconds: float) -> dict[int, str]:
                at = Moment(head=6, at=after(seconds))
                chain = await store.read(
                    TENANT,
                    lambda unit: unit.history.chain(TENANT, row_of(unit).id, strategy=STRATEGY, moment=at, limit=9),
                )
                for version in chain:
                    one = await store.read(TENANT, partial(summary_then, summary_id=version.id, moment=at))
                    assert one == version
                return {version.version: version.status.value for version in chain}

            assert await were(0) == {}
            assert await were(1) == {1: "completed"}
            assert await were(2) == {1: "completed", 2: "completed"}
            assert await were(3) == {1: "completed", 2: "stale"}
            assert await were(4) == {1: "completed", 2: "stale", 3: "building"}
            assert await were(5) == {1: "completed", 2: "superseded", 3: "completed"}

    async def test_a_reset_leaves_no_past(self, tmp_path: Path) -> None:
        """I12: neither messages nor versions nor moves of before can be seen again."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b", now=NOW))
            await extended(store, summary((0, 2), version=1), Head(), now=after(1))
            await edited(store, 0, "A", now=after(2))
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, row_of(unit).id, now=after(3)))
            await store.append(append("c", "d", "e", now=after(4)))
            at = Moment(head=2)
            assert await texts(store, at) == [(0, "c"), (1, "d")]

            def left(unit: Unit) -> tuple[object, ...]:
                row = row_of(unit)
                return (
                    unit.history.head(TENANT, row.id, LIVE, moment=at),
                    list(unit.history.versions(TENANT, row.id, SeqRange(0, 3))),
                    list(unit.history.chain(TENANT, row.id, strategy=STRATEGY, moment=at, limit=9)),
                )

            assert await store.read(TENANT, left) == (Head(), [], [])
