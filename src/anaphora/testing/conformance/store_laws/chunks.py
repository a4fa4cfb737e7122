"""I1, I12: what stretches of a session were about, and which of it is to be made again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from anaphora.domain.chunks import Chunk
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method
from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import chunk, chunks_of, id_of, stretched
from anaphora.testing.conformance.store_laws.tools import KEY, TENANT, after, key_of, row_of, session

SECOND = key_of(session="s2")
THEIRS = key_of(tenant="t2")


async def at(store: Store, seqs: Iterable[int], *, key: SessionKey = KEY) -> list[Chunk]:
    """The chunks that hold any of the messages."""
    row = await session(store, key)
    return list(await store.read(key.tenant, lambda unit: unit.chunks.at(key.tenant, row.id, seqs)))


async def spoilt(store: Store, seq: int, *, key: SessionKey = KEY) -> SeqRange | None:
    """A message was changed: its chunk is to be made again."""
    return await store.write(key.tenant, lambda unit: unit.chunks.mark_stale(row_of(unit, key), seq))


async def stale(store: Store, *, key: SessionKey = KEY) -> list[int]:
    """Where the chunks start that are to be made again."""
    return [item.range.start for item in reversed(await chunks_of(store, key=key)) if item.stale]


async def redo(store: Store, *, key: SessionKey = KEY, without_model: bool = False) -> int | None:
    """Where the chunk starts that is to be made again next."""
    row = await session(store, key)
    item = await store.read(
        key.tenant, lambda unit: unit.chunks.to_redo(key.tenant, row.id, without_model=without_model)
    )
    return item.range.start if item is not None else None


async def replaced(store: Store, old: Chunk, new: Chunk | None, *, key: SessionKey = KEY) -> bool:
    """Put another chunk in the place of one; what the store says."""
    return await store.write(key.tenant, lambda unit: unit.chunks.replace(row_of(unit, key), old, new))


class ChunkLaws(StoreLaws):
    """Chunks of sessions."""

    async def test_chunks_come_back_as_they_were_kept_newest_first(self, tmp_path: Path) -> None:
        """Up to a limit, or only those that start before a message; after closing too."""
        async with self.opened(tmp_path) as store:
            (first,) = await stretched(
                store,
                (2, 5),
                text='Zoë\'s "tea" 🍵\n100%',
                method=Method.EXTRACTIVE,
                model=None,
                prompt_version=None,
                trust=Trust.OTHER,
                stale=True,
            )
            (third,) = await stretched(store, (8, 9))
            (second,) = await stretched(store, (5, 8), method=Method.DIGEST)
        async with self.opened(tmp_path) as store:
            assert await chunks_of(store) == [third, second, first]
            assert await chunks_of(store, limit=2) == [third, second]
            assert await chunks_of(store, limit=1, before=8) == [second]
            assert await chunks_of(store, before=5) == [first]
            assert await chunks_of(store, before=2) == []

    async def test_chunks_of_one_session_are_not_those_of_another(self, tmp_path: Path) -> None:
        """I11: nor those of another tenant's, by any way to get at them."""
        async with self.opened(tmp_path) as store:
            await stretched(store, (0, 4), id=id_of(1))
            await stretched(store, (0, 6), key=SECOND, id=id_of(2))
            await stretched(store, (0, 8), key=THEIRS, id=id_of(1))
            uid = (await session(store)).id
            for key, stop in ((KEY, 4), (SECOND, 6), (THEIRS, 8)):
                assert [item.range.stop for item in await chunks_of(store, key=key)] == [stop]
                assert [item.range.stop for item in await at(store, [0, 3, 5, 7], key=key)] == [stop]
            assert await store.read("t2", lambda unit: unit.chunks.list("t2", uid, limit=9)) == []
            assert await store.read("t2", lambda unit: unit.chunks.at("t2", uid, [0])) == []
            assert await spoilt(store, 5) is None
            assert await spoilt(store, 5, key=SECOND) == SeqRange(0, 6)
            assert [await stale(store, key=key) for key in (KEY, SECOND, THEIRS)] == [[], [0], []]
            assert [await redo(store, key=key) for key in (KEY, SECOND, THEIRS)] == [None, 0, None]

    async def test_chunks_are_found_by_the_messages_that_they_hold(self, tmp_path: Path) -> None:
        """Exactly those, in the order of the log, each once; what is between them is in none."""
        async with self.opened(tmp_path) as store:
            one, two, three = await stretched(store, (1, 3), (3, 4), (6, 9))
            expected = {1: [one], 2: [one], 3: [two], 6: [three], 7: [three], 8: [three]}
            for seq in range(10):
                assert await at(store, [seq]) == expected.get(seq, []), seq
            assert await at(store, iter((8, 2, 1, 7, 2, 5))) == [one, three]
            assert await at(store, (9, 3, 0, 6)) == [two, three]
            assert await at(store, range(10)) == [one, two, three]
            assert await at(store, []) == []

    async def test_a_chunk_of_a_changed_message_is_to_be_made_again(self, tmp_path: Path) -> None:
        """I1: the one that holds it and no other, and its range is said; None if there is none."""
        async with self.opened(tmp_path) as store:
            one, two, three = await stretched(store, (1, 3), (3, 5), (6, 8))
            assert [await spoilt(store, seq) for seq in (0, 5, 8, 9)] == [None] * 4
            assert await chunks_of(store) == [three, two, one]
            assert await spoilt(store, 3) == SeqRange(3, 5)
            assert await chunks_of(store) == [three, replace(two, stale=True), one]
            assert await spoilt(store, 4) == SeqRange(3, 5)
            assert await stale(store) == [3]
            assert await spoilt(store, 7) == SeqRange(6, 8)
            assert await stale(store) == [3, 6]

    async def test_the_oldest_chunk_that_is_to_be_made_again_comes_first(self, tmp_path: Path) -> None:
        """Stale ones; where a model is there, also those that were made while there was none."""
        async with self.opened(tmp_path) as store:
            await stretched(store, (8, 9), method=Method.EXTRACTIVE)
            (chosen,) = await stretched(store, (2, 4), method=Method.EXTRACTIVE)
            await stretched(store, (0, 2))
            (digest,) = await stretched(store, (4, 6), method=Method.DIGEST)
            (modelled,) = await stretched(store, (6, 8))
            assert [await redo(store, without_model=how) for how in (False, True)] == [None, 2]
            await spoilt(store, 7)
            await spoilt(store, 5)
            assert [await redo(store, without_model=how) for how in (False, True)] == [4, 2]
            assert await replaced(store, replace(digest, stale=True), replace(digest, id=id_of(50)))
            assert [await redo(store, without_model=how) for how in (False, True)] == [6, 2]
            assert await replaced(store, chosen, None)
            assert [await redo(store, without_model=how) for how in (False, True)] == [6, 6]
            assert await replaced(store, replace(modelled, stale=True), None)
            assert [await redo(store, without_model=how) for how in (False, True)] == [None, 8]

    async def test_a_chunk_takes_the_place_of_one_that_is_there(self, tmp_path: Path) -> None:
        """I6: others stay; in the place of what is not there any more, or elsewhere, nothing is put."""
        async with self.opened(tmp_path) as store:
            one, two = await stretched(store, (0, 3), (3, 6))
            (other,) = await stretched(store, (0, 3), key=SECOND, id=id_of(9))
            (theirs,) = await stretched(store, (0, 3), key=THEIRS)
            new = await chunk(store, 0, 3, id=id_of(20), text="Anew.", method=Method.EXTRACTIVE)
            assert await replaced(store, one, new)
            newer = replace(new, id=id_of(21), text="Later.")
            assert not await replaced(store, one, newer)
            assert not await replaced(store, other, newer)
            assert not await replaced(store, two, None, key=SECOND)
            assert not await replaced(store, two, None, key=THEIRS)
            assert await chunks_of(store) == [two, new]
            assert await replaced(store, two, None)
            assert not await replaced(store, two, None)
            assert not await replaced(store, two, replace(two, id=id_of(22)))
            assert await chunks_of(store) == [new]
            assert await chunks_of(store, key=SECOND) == [other]
            assert await chunks_of(store, key=THEIRS) == [theirs]

    async def test_a_chunk_that_was_spoilt_since_it_was_read_is_not_replaced(self, tmp_path: Path) -> None:
        """I1, I6: what was made of the old words does not hide that there are new ones."""
        async with self.opened(tmp_path) as store:
            (one,) = await stretched(store, (0, 3), method=Method.EXTRACTIVE)
            await spoilt(store, 1)
            new = await chunk(store, 0, 3, id=id_of(20), text="Made of the old words.")
            assert not await replaced(store, one, new)
            assert not await replaced(store, one, None)
            assert await chunks_of(store) == [replace(one, stale=True)]
            assert await replaced(store, replace(one, stale=True), new)
            assert await chunks_of(store) == [new]

    async def test_a_session_that_is_reset_has_no_chunk_any_more(self, tmp_path: Path) -> None:
        """I12: and others have theirs; what is said after that can have some again."""
        async with self.opened(tmp_path) as store:
            await stretched(store, (0, 3), (3, 6))
            await stretched(store, (0, 3), key=SECOND, id=id_of(9))
            await stretched(store, (0, 3), key=THEIRS)
            await spoilt(store, 0)
            uid = (await session(store)).id
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, uid, now=after(1)))
            assert await chunks_of(store) == await at(store, range(10)) == []
            assert await redo(store, without_model=True) is None
            assert [len(await chunks_of(store, key=key)) for key in (SECOND, THEIRS)] == [1, 1]
            (again,) = await stretched(store, (0, 2))
            assert await chunks_of(store) == [again]
