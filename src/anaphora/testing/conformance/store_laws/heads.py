"""I6: heads move by compare and swap."""

from __future__ import annotations

from pathlib import Path

from anaphora.domain.plans import State
from anaphora.domain.summaries import Summary
from anaphora.ports.rows import Head
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.editing import edited
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    TENANT,
    append,
    head,
    insert,
    key_of,
    move,
    prepared,
    reader_of,
    summary,
)

REBUILDER = "rebuild:standard"


async def moved(store: Store, old: Head, new: Head, reader: str | None = None, *, counts: bool = False) -> bool:
    """Move a head; what the store says."""
    return await store.write(TENANT, lambda unit: move(unit, old, new, reader=reader, counts=counts))


class HeadLaws(StoreLaws):
    """How far the readers of the log are."""

    async def test_a_head_moves_only_from_where_it_is(self, tmp_path: Path) -> None:
        """I6: a reader whose head is not what it was moves nothing: neither its place nor its version may differ."""
        one, two = summary((0, 4), version=1), summary((0, 5), version=2)
        start, there = Head(), Head(position=4, summary_id=one.id)
        async with self.opened(tmp_path) as store:
            await prepared(store, one, two)
            assert await head(store) == start
            assert not await moved(store, there, Head(position=9))
            assert await head(store) == start
            assert await moved(store, start, there)
            stale = (start, Head(position=4), Head(position=4, summary_id=two.id), Head(position=5, summary_id=one.id))
            for old in stale:
                assert not await moved(store, old, Head(position=9)), old
            assert await head(store) == there
            assert await moved(store, there, Head(position=5, summary_id=two.id))
            assert await head(store) == Head(position=5, summary_id=two.id)

    async def test_a_head_that_counts_knows_its_tokens_whatever_is_edited(self, tmp_path: Path) -> None:
        """What is behind a head is known without reading it: edits and deletions on both sides of it are counted."""
        seen: list[State] = []

        def planner(_strategy: str | None, state: State, /) -> None:
            seen.append(state)

        one, two = summary((0, 4), version=1), summary((0, 6), version=2)
        async with self.opened(tmp_path, planner=planner) as store:
            await store.append(append(*("x" * 4 * n for n in range(1, 9)), key=KEY))
            await store.write(TENANT, lambda unit: insert(unit, one, two))
            for version, old in ((one, Head()), (two, Head(position=4, summary_id=one.id))):
                new = Head(position=version.range.stop, summary_id=version.id, aim=8)
                assert await moved(store, old, new, counts=True)
            there = await head(store)
            assert (there.tokens, there.seen, there.aim, there.summary_tokens) == (21, 36, 8, two.tokens)
            for seq, content, tokens in ((0, "longer", 11), (3, None, 0), (6, "shorter", 2)):
                await edited(store, seq, content, tokens=tokens)
            assert (await head(store)).tokens == 21 + 10 - 4
            await store.append(append("y" * 40))
            assert (seen[-1].tokens, seen[-1].said, seen[-1].aim) == (2 + 8 + 10 + two.tokens, 11, 8)
            three = summary((0, 7), version=3)
            await store.write(TENANT, lambda unit: insert(unit, three))
            assert await moved(store, Head(position=6, summary_id=two.id), Head(position=4), counts=True)
            assert (await head(store)).tokens == 16

    async def test_each_reader_has_a_head_of_its_own(self, tmp_path: Path) -> None:
        """I6: heads belong to a reader of a session: another reader and another session start at the start."""
        async with self.opened(tmp_path) as store:
            row = await prepared(store)
            await prepared(store, key=key_of(session="s2"))
            assert await moved(store, Head(), Head(position=4))
            assert await head(store, reader=REBUILDER) == Head()
            assert await head(store, key=key_of(session="s2")) == Head()
            assert await moved(store, Head(), Head(position=1), REBUILDER)
            assert await head(store) == Head(position=4)
            assert await store.read("t2", lambda unit: unit.summaries.head("t2", row.id, "live:standard")) == Head()

    async def test_a_head_comes_with_the_version_that_it_serves(self, tmp_path: Path) -> None:
        """A prompt is made of a head and its version, read at once: the same as each by itself."""
        one, two = summary((0, 4), version=1), summary((0, 6), version=2)
        async with self.opened(tmp_path) as store:
            row = await prepared(store, one, two)

            def served(unit: Unit) -> tuple[Head, Summary | None]:
                return unit.summaries.served(row.key.tenant, row.id, reader_of(None))

            assert await store.read(TENANT, served) == (Head(), None)
            assert await moved(store, Head(), Head(position=2))
            assert await store.read(TENANT, served) == (Head(position=2), None)
            new = Head(position=4, summary_id=one.id, aim=8)
            assert await moved(store, Head(position=2), new, counts=True)
            there = await head(store)
            found, version = await store.read(TENANT, served)
            assert (found, version) == (there, one)
            assert (found.aim, found.tokens, found.seen, found.summary_tokens) == (8, there.tokens, 10, one.tokens)
            assert await store.read("t2", lambda unit: unit.summaries.served("t2", row.id, reader_of(None))) == (
                Head(),
                None,
            )

    async def test_a_forgotten_reader_starts_anew(self, tmp_path: Path) -> None:
        """A head that was dropped is at the start again; other readers, and other tenants' calls, change nothing."""
        async with self.opened(tmp_path) as store:
            row = await prepared(store)
            for reader in ("live:standard", REBUILDER):
                assert await moved(store, Head(), Head(position=4), reader)
            await store.write("t2", lambda unit: unit.summaries.drop_head("t2", row.id, REBUILDER))
            assert await head(store, reader=REBUILDER) == Head(position=4)
            await store.write(TENANT, lambda unit: unit.summaries.drop_head(TENANT, row.id, REBUILDER))
            assert await head(store, reader=REBUILDER) == Head()
            assert await head(store) == Head(position=4)
            assert await moved(store, Head(), Head(position=2), REBUILDER)

    async def test_a_head_is_there_after_closing(self, tmp_path: Path) -> None:
        """I7: what a reader has done is not done again after a restart."""
        made = summary((0, 4), version=1)
        async with self.opened(tmp_path) as store:
            await prepared(store, made)
            assert await moved(store, Head(), Head(position=4, summary_id=made.id))
        async with self.opened(tmp_path) as store:
            assert await head(store, key=KEY) == Head(position=4, summary_id=made.id)
