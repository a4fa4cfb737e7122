"""I4, I5, I11: chunks by their words and by what they mean, and documents that wait for that."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from anaphora.domain.documents import ChunkVector, Document, Metadata, hash_of
from anaphora.domain.filters import And, Contains, Equals, Exists, Field, Filter, Not, Or
from anaphora.errors import InvalidInput
from anaphora.ports.documents import DocumentLease
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.document_tools import (
    MINE,
    OTHER,
    SPACE,
    bare,
    document,
    kept,
    listed,
    meant,
    near,
    shelf,
    with_words,
)
from anaphora.testing.conformance.store_laws.fact_tools import id_of
from anaphora.testing.conformance.store_laws.tools import (
    LEASE,
    TENANT,
    after,
)


class DocumentSearchLaws(StoreLaws):
    """Chunks by their words and by what they mean, and which documents are asked for."""

    async def test_chunks_are_found_by_their_words_the_rarest_first(self, tmp_path: Path) -> None:
        """Words in any form, phrases, and pieces of scripts without spaces; titles too; nothing in it is syntax."""
        async with self.opened(tmp_path) as store:
            await kept(
                store,
                document(1, "The gardener waters roses.", "Roses and thorns.", title="Garden"),
                document(2, "A rose is a rose.", "東京タワー", title="Poems"),
                document(3, "Thorns of brambles.", "100% pure_oil AND water"),
            )
            for terms, expected in (
                (["rose"], {(1, 0), (1, 1), (2, 0)}),
                (["ROSES and thorns"], {(1, 1)}),
                (["gardens"], {(1, 0), (1, 1)}),
                (["poem"], {(2, 0), (2, 1)}),
                (['"rose" OR NOT *'], set()),
                (["%", "_", "", "  "], set()),
                (["oil"], {(3, 1)}),
            ):
                assert set(await with_words(store, *terms)) == expected, terms
            assert await with_words(store, pieces=["京タ"]) == [(2, 1)]
            assert await with_words(store, pieces=["京"]) == [(2, 1)]
            assert await with_words(store, pieces=["%"]) == []
            assert await with_words(store, "roses", "brambles", limit=1) == [(3, 0)]
            assert (await with_words(store, "thorns", "gardener", "waters"))[0] == (1, 0)
            found = await store.read(
                TENANT, lambda u: u.documents.by_words(shelf(), terms=["rose", "thorns"], pieces=["東京"], limit=9)
            )
            assert (found.chunks, found.having) == (6, (3, 2, 1))
            assert {(m.document_id.int & 0xFFFF, m.number): m.words for m in found.found}[1, 1] == (0, 1)
            assert await with_words(store, "rose", where=shelf(("user", "nobody"))) == []

    async def test_filters_ask_for_values_and_for_nothing_else(self, tmp_path: Path) -> None:
        """A value is what it is: text is no number, true is not 1; what is not there is nothing; lists and searches."""
        metadata: tuple[Metadata, ...] = (
            {"author": "Ann", "tags": ["a", "b"], "n": 1, "ok": True, "date_range": {"start": "2024-01-15"}},
            {"author": "ann", "tags": ["a b", 1, None], "n": "1", "ok": False},
            {"author": None, "tags": "a", "n": 1.5, "ok": 1},
            {"author": "An\"n'); DROP", "tags": [True, "%"], "n": 0, "übung": "ja"},
            {},
        )
        author, tags, number, ok = (Field.of(name) for name in ("author", "tags", "n", "ok"))
        table: tuple[tuple[Filter, set[int]], ...] = (
            (Equals(author, "Ann"), {1}),
            (Equals(author, None), {3}),
            (Equals(author, "An\"n'); DROP"), {4}),
            (Equals(author, "%"), set()),
            (Equals(number, 1), {1}),
            (Equals(number, 1.0), {1}),
            (Equals(number, 1.5), {3}),
            (Equals(number, "1"), {2}),
            (Equals(number, value=False), set()),
            (Equals(ok, value=True), {1}),
            (Equals(ok, 1), {3}),
            (Equals(Field.of("übung"), "ja"), {4}),
            (Equals(Field.of("date_range.start"), "2024-01-15"), {1}),
            (Equals(Field.of("author.start"), "A"), set()),
            (Contains(tags, "a"), {1}),
            (Contains(tags, 1), {2}),
            (Contains(tags, None), {2}),
            (Contains(tags, value=True), {4}),
            (Contains(tags, "%"), {4}),
            (Contains(author, "Ann"), set()),
            (Exists(author), {1, 2, 3, 4}),
            (Exists(Field.of("date_range.start")), {1}),
            (Not(Exists(author)), {5}),
            (Not(Equals(author, "Ann")), {2, 3, 4, 5}),
            (Not(Contains(tags, "a")), {2, 3, 4, 5}),
            (And((Exists(tags), Equals(number, 1))), {1}),
            (Or((Equals(number, 0), Equals(author, "ann"))), {2, 4}),
            (And(()), {1, 2, 3, 4, 5}),
            (Or(()), set()),
            (Not(Or((Exists(author), Exists(tags)))), {5}),
        )
        async with self.opened(tmp_path) as store:
            for at, values in enumerate(metadata, 1):
                (item,) = await kept(store, document(at, f"Apples {at}.", metadata=values))
                await meant(store, item, {0: (1, 0)})
            for asked, numbers in table:
                place = shelf(where=asked)
                assert set(await listed(store, place)) == numbers, asked
                assert {number for number, _ in await with_words(store, "apple", where=place)} == numbers, asked
                assert {number for number, _ in await near(store, 1, 0, where=place)} == numbers, asked

    async def test_chunks_are_found_by_what_they_mean_the_closest_first(self, tmp_path: Path) -> None:
        """Of one space only; a vector for what is another by now is not kept, nor one that does not belong there."""
        async with self.opened(tmp_path) as store:
            first, second = await kept(store, document(1, "a", "b", "c"), document(2, "d"))
            assert await bare(store, 1) == [0, 1, 2]
            assert await meant(store, first, {0: (2, 0), 1: (1, 1), 5: (1, 0)}) == 2
            assert await meant(store, second, {0: (0, 3)}) == 1
            assert await meant(store, first, {2: (1, 0)}, space=OTHER) == 1
            assert await near(store, 1, 0) == [(1, 0), (1, 1), (2, 0)]
            assert await near(store, 0, 1) == [(2, 0), (1, 1), (1, 0)]
            assert await near(store, 1, 0, limit=1) == [(1, 0)]
            assert await near(store, 1, 0, space=OTHER) == [(1, 2)]
            assert await near(store, 1, 0, where=shelf(doc_types=("else",))) == []
            assert await bare(store, 1) == [2]
            assert await meant(store, first, {0: (0, 1)}) == 1
            assert await near(store, 1, 0, limit=1) == [(1, 1)]
            parts = [ChunkVector(number=0, part=part, vector=(1, part * 1.2)) for part in range(3)]
            await store.write(TENANT, lambda unit: unit.documents.put_vectors(TENANT, SPACE, first, parts))
            assert await near(store, 1, 0, limit=2) == [(1, 0), (1, 1)]
            assert await near(store, 1, 2.6) == [(1, 0), (2, 0), (1, 1)]
            with pytest.raises(InvalidInput):
                await meant(store, first, {2: (1, 0, 0)})
            assert await meant(store, replace(first, content_hash=hash_of("x")), {2: (1, 0)}) == 0
            assert await meant(store, replace(first, title="x"), {2: (1, 0)}) == 0
            assert await bare(store, 1) == [2]

    async def test_it_is_known_which_documents_have_no_vectors(self, tmp_path: Path) -> None:
        """In one space or another; vectors of other spaces are dropped in portions."""
        async with self.opened(tmp_path) as store:
            first, second = await kept(store, document(1, "a", "b"), document(2, "c"))
            empty = replace(document(3), content="", content_hash=hash_of(""), chunks=0)
            await store.write(TENANT, lambda unit: unit.documents.put(TENANT, empty, ()))

            async def behind(last: int | None = None, limit: int = 9) -> list[int]:
                after_id = None if last is None else id_of(last)
                found = await store.read(
                    TENANT, lambda unit: unit.documents.behind(TENANT, SPACE, after=after_id, limit=limit)
                )
                return [uid.int & 0xFFFF for uid in found]

            async def is_behind() -> bool:
                return await store.read(TENANT, lambda unit: unit.documents.is_behind(shelf(), SPACE))

            assert (await behind(), await behind(limit=1), await behind(1)) == ([1, 2], [1], [2])
            await meant(store, first, {0: (1, 0)})
            await meant(store, second, {0: (1, 0)}, space=OTHER)
            assert (await behind(), await is_behind()) == ([1, 2], True)
            await meant(store, first, {1: (1, 0)})
            await meant(store, second, {0: (1, 0)})
            assert (await behind(), await is_behind()) == ([], False)
            await meant(store, first, {0: (1, 0), 1: (1, 0)}, space=OTHER)
            for left in (2, 1, 0):
                gone = await store.write(TENANT, lambda u: u.documents.forget_others(TENANT, SPACE, limit=2))
                assert gone == left
            assert await near(store, 1, 0) == [(2, 0), (1, 0), (1, 1)]
            assert await near(store, 1, 0, space=OTHER) == []


class DocumentWorkLaws(StoreLaws):
    """Documents that wait for vectors."""

    async def test_a_document_that_waits_is_taken_on_by_one(self, tmp_path: Path) -> None:
        """I4, I5: until the lease is over, it is given back, or it is changed; then the lease is void."""
        async with self.opened(tmp_path) as store:
            await kept(store, document(1), document(2))
            lease = timedelta(seconds=LEASE)

            async def claim(who: str, now: float = 0, number: int = 1) -> DocumentLease | None:
                return await store.write(
                    TENANT,
                    lambda unit: unit.documents.claim(
                        TENANT, id_of(number), owner=who, now=after(now), lease_seconds=LEASE
                    ),
                )

            async def plan(now: float = 0, number: int = 1) -> bool:
                return await store.write(
                    TENANT, lambda unit: unit.documents.plan(TENANT, id_of(number), now=after(now))
                )

            async def holds(which: DocumentLease) -> bool:
                return await store.read(TENANT, lambda unit: unit.documents.holds(TENANT, which))

            async def done(which: DocumentLease) -> bool:
                return await store.write(TENANT, lambda unit: unit.documents.done(TENANT, which))

            def taken(which: DocumentLease, unit: Unit) -> Document | None:
                return unit.documents.taken(TENANT, which)

            assert await claim("a") is None
            assert [await plan(), await plan()] == [True, False]
            assert await claim("a", now=-1) is None
            first = await claim("a")
            assert first == DocumentLease(id_of(1), "a", 1)
            assert await claim("b", now=LEASE - 1) is None
            assert await holds(first)
            for which, found in ((first, document(1)), (DocumentLease(id_of(1), "b", 1), None)):
                told = await store.read(TENANT, partial(taken, which))
                assert told == (None if found is None else replace(found, content=None))
            second = await claim("b", now=LEASE)
            assert second == DocumentLease(id_of(1), "b", 2)
            assert [await holds(first), await holds(second), await done(first)] == [False, True, False]
            later = after(LEASE) + 2 * lease
            assert await store.write(
                TENANT, lambda unit: unit.documents.later(TENANT, second, run_at=later, reason="not now")
            )
            assert not await holds(second)
            assert await claim("c", now=3 * LEASE - 1) is None
            third = await claim("c", now=3 * LEASE)
            assert third is not None
            assert not await plan(now=3 * LEASE)
            assert not await done(third)
            fourth = await claim("d", now=3 * LEASE)
            assert fourth == DocumentLease(id_of(1), "d", 1)
            assert [await done(fourth), await done(fourth)] == [True, False]
            assert await claim("e", now=99 * LEASE) is None
            assert await plan(number=2)
            assert (await claim("a", number=2)) is not None
            assert await store.write(TENANT, lambda unit: unit.documents.delete(TENANT, MINE, id_of(2)))
            assert await claim("b", now=99 * LEASE, number=2) is None
