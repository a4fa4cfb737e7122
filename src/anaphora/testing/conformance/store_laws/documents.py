"""I6, I11, I12: documents, whom they belong to, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from anaphora.domain.documents import ARCHIVE, Document, Outcome
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.document_tools import (
    MINE,
    bare,
    chunks_of,
    document,
    got,
    kept,
    listed,
    made_of,
    meant,
    named,
    near,
    put,
    shelf,
    with_words,
)
from anaphora.testing.conformance.store_laws.fact_tools import id_of
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    TENANT,
    after,
    append,
    key_of,
    row_of,
    session,
)

#: namespaces that are all others than one another
_APART = (
    ("user", "alice"),
    ("user", "al"),
    ("user", "alice", "s"),
    ("user",),
    ("alice", "user"),
    ("user/alice",),
    ('user","alice',),
    ("user", "Alice"),
    ("user", "%"),
    ("user", "_lice"),
    ("user", "caf\u00e9"),
    ("user", "cafe\u0301"),
    ("user", "\x01:/\\%_'\""),
)


class DocumentLaws(StoreLaws):
    """Documents in their namespaces."""

    async def test_documents_come_back_as_they_were_put_the_newest_first(self, tmp_path: Path) -> None:
        """Up to a limit, and behind one of them; by id and by key with their contents; also after closing."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdef"))
            plain = document(1)
            rich = document(
                2,
                'Zoë\'s "tea" 🍵\\ 100%',
                "東京",
                key="a:/%_é",
                title="Ünïcode",
                doc_type="conversation",
                metadata={"tags": ["a", 1, True, None], "n": 1.5, "date_range": {"start": "2024"}, "none": None},
                trust=Trust.OWNER_SAID,
                source="archive",
                session_id=(await session(store)).id,
                range=SeqRange(1, 4),
            )
            assert await kept(store, plain, document(3), rich) == [plain, document(3), rich]
        async with self.opened(tmp_path) as store:
            assert [await got(store, number) for number in (1, 2, 9)] == [plain, rich, None]
            assert [await named(store, key) for key in ("a:/%_é", "a:/%_e\u0301", "a")] == [rich, None, None]
            assert await listed(store) == [3, 2, 1]
            assert await listed(store, limit=2) == [3, 2]
            assert await listed(store, before=id_of(3)) == [2, 1]
            assert await listed(store, shelf(doc_types=("conversation",))) == [2]
            assert await listed(store, shelf(doc_types=("conversation", "document"))) == [3, 2, 1]
            places = [(id_of(2), 1), (id_of(1), 0), (id_of(1), 7), (id_of(9), 0)]
            found = await store.read(TENANT, lambda unit: unit.documents.chunks(TENANT, places))
            assert found == {(id_of(2), 1): chunks_of(rich)[1], (id_of(1), 0): chunks_of(plain)[0]}
            told = await store.read(TENANT, lambda unit: unit.documents.described(shelf(), [id_of(2), id_of(9)]))
            assert told == {id_of(2): replace(rich, content=None)}

    async def test_a_document_that_is_there_is_not_kept_twice(self, tmp_path: Path) -> None:
        """Without a key it is known by what it says, with one by that; another key is another document."""
        async with self.opened(tmp_path) as store:
            await kept(store, document(1, "One."), document(2, "Keyed.", key="k"))
            again = replace(document(3, "One."), updated_at=after(50))
            assert await put(store, again) == (document(1, "One."), Outcome.SAME)
            assert await put(store, document(4, "Keyed.", key="k")) == (document(2, "Keyed.", key="k"), Outcome.SAME)
            await kept(store, document(5, "Keyed."), document(6, "Keyed.", key="l"))
            assert await listed(store) == [6, 5, 2, 1]
            other = replace(again, metadata={"a": 1}, doc_type="note")
            assert (await put(store, other)).outcome == Outcome.REPLACED
            now = replace(other, id=id_of(1), version=2, created_at=after(1))
            assert await got(store, 1) == now
            assert await with_words(store, "one") == [(1, 0)]

    async def test_another_content_under_the_same_key_takes_the_place_of_the_old_one(self, tmp_path: Path) -> None:
        """I6: its id and its beginning stay; of the old words and meanings nothing is found any more."""
        async with self.opened(tmp_path) as store:
            old = document(1, "Apples grow.", "Pears too.", "日本の林檎", key="k")
            await kept(store, old, document(2, "Apples."))
            await meant(store, old, {0: (1, 0), 1: (1, 0)})
            new = document(7, "Cherries.", key="k")
            found, outcome = await put(store, new)
            assert outcome is Outcome.REPLACED
            assert found == replace(new, id=id_of(1), version=2, created_at=after(1)) == await got(store, 1)
            assert await with_words(store, "apples", "pears", "cherry") == [(2, 0), (1, 0)]
            assert await with_words(store, pieces=["林檎"]) == []
            assert await near(store, 1, 0) == []
            assert await bare(store, 1) == [0]
            titled = replace(found, title="Stone fruit", updated_at=after(60))
            assert (await put(store, titled)).outcome is Outcome.REPLACED
            assert await with_words(store, "stone") == [(1, 0)]

    async def test_a_document_is_replaced_only_as_it_was_read(self, tmp_path: Path) -> None:
        """I6: who read an older version changes nothing; nobody takes the place of another document."""
        async with self.opened(tmp_path) as store:
            first, other = await kept(store, document(1, "One."), document(2, "Two."))
            new = replace(document(1, "Three."), updated_at=after(70))

            async def swapped(old: Document, made: Document) -> Document | None:
                return await store.write(
                    TENANT, lambda unit: unit.documents.replace(TENANT, old, made, chunks_of(made))
                )

            third = await swapped(first, new)
            assert third == replace(new, version=2) == await got(store, 1)
            assert await swapped(first, document(1, "Four.")) is None
            assert await swapped(replace(other, namespace=("user", "al")), new) is None
            assert await swapped(replace(other, id=id_of(9)), document(9, "Five.")) is None
            with pytest.raises(InvalidInput, match="another document"):
                await swapped(other, document(2, "Three."))
            assert [await got(store, number) for number in (1, 2)] == [third, other]
            assert await with_words(store, "one", "two", "three", "four", "five") == [(2, 0), (1, 0)]

    async def test_no_namespace_is_another(self, tmp_path: Path) -> None:
        """I11: whatever stands in its names, and whichever way it is asked; nor are those of other tenants."""
        async with self.opened(tmp_path) as store:
            made = [document(at, "The same apples.", namespace=name, key="k") for at, name in enumerate(_APART, 1)]
            await kept(store, *made)
            theirs = document(77, "The same apples.", key="k")
            await kept(store, theirs, tenant="t2")
            for item in (*made, theirs):
                tenant = "t2" if item is theirs else TENANT
                await meant(store, item, {0: (1, 0)}, tenant=tenant)
            for at, item in enumerate(made, 1):
                place = shelf(item.namespace)
                assert await listed(store, place) == [at]
                assert await with_words(store, "apples", where=place) == [(at, 0)]
                assert await near(store, 1, 0, where=place) == [(at, 0)]
                others = [n for n in range(1, len(made) + 1) if await got(store, n, namespace=item.namespace)]
                assert others == [at]
            assert await listed(store, shelf(tenant="t2")) == [77]
            assert await with_words(store, "apples", where=shelf(tenant="t2")) == [(77, 0)]
            assert await near(store, 1, 0, where=shelf(tenant="t2")) == [(77, 0)]
            assert await got(store, 1, tenant="t2") is None
            both = shelf(_APART[0], _APART[1])
            assert await listed(store, both) == [2, 1]
            assert sorted(await with_words(store, "apples", where=both)) == [(1, 0), (2, 0)]
            assert not await store.write(TENANT, lambda u: u.documents.delete(TENANT, ("user", "al"), id_of(1)))
            assert not await store.write("t2", lambda unit: unit.documents.delete("t2", MINE, id_of(1)))
            assert await listed(store) == [1]

    async def test_a_deleted_document_leaves_nothing(self, tmp_path: Path) -> None:
        """I12: not its words, nor what it meant; others keep theirs, and it can be put again."""
        async with self.opened(tmp_path) as store:
            gone, stays = await kept(store, document(1, "Apples.", "東京"), document(2, "Apples and 東京"))
            for item in (gone, stays):
                await meant(store, item, {0: (1, 0)})
            assert await store.write(TENANT, lambda unit: unit.documents.delete(TENANT, MINE, id_of(1)))
            assert not await store.write(TENANT, lambda unit: unit.documents.delete(TENANT, MINE, id_of(1)))
            assert await got(store, 1) is None
            assert await listed(store) == [2]
            assert await with_words(store, "apples", pieces=["東京"]) == await near(store, 1, 0) == [(2, 0)]
            assert await store.read(TENANT, lambda u: u.documents.chunks(TENANT, [(id_of(1), 0)])) == {}
            assert await meant(store, gone, {0: (1, 0)}) == 0
            await kept(store, gone)
            assert await with_words(store, pieces=["東京"]) == [(2, 0), (1, 1)]
            assert await near(store, 1, 0) == [(2, 0)]

    async def test_documents_of_a_session_that_is_out_of_sight_are_out_of_sight(self, tmp_path: Path) -> None:
        """I13: by id, by key, in lists and in searches; they are kept, and come back with the session."""
        second = key_of(session="s2")
        async with self.opened(tmp_path) as store:
            for key in (KEY, second):
                await store.append(append(*"abc", key=key))
            rows = [await session(store, key) for key in (KEY, second)]
            made = [
                document(at, "Apples.", key=str(at), session_id=row.id, range=SeqRange(0, 3))
                for at, row in enumerate(rows, 1)
            ]
            for item in await kept(store, *made, document(3, "Apples.", key="3"), document(4, "Pears.")):
                await meant(store, item, {0: (1, 0)})

            async def seen() -> list[set[int]]:
                told = await store.read(TENANT, lambda u: u.documents.described(shelf(), [id_of(n) for n in range(9)]))
                return [
                    set(await listed(store)),
                    {number for number, _ in await with_words(store, "apples")} | {4},
                    {number for number, _ in await near(store, 1, 0)},
                    {uid.int & 0xFFFF for uid in told},
                    {number for number in range(9) if await got(store, number)},
                    {number for number in range(9) if await named(store, str(number))} | {4},
                ]

            assert await seen() == [{1, 2, 3, 4}] * 6
            await store.write(TENANT, lambda unit: unit.sessions.expire(rows[0], now=after(5)))
            assert await seen() == [{2, 3, 4}] * 6
            assert await made_of(store, rows[0].id) == [1]
            await store.write(TENANT, lambda unit: unit.sessions.revive(rows[0], now=after(6)))
            assert await seen() == [{1, 2, 3, 4}] * 6

    async def test_archived_documents_go_with_every_earlier_message_of_their_session(self, tmp_path: Path) -> None:
        """I12: a model that archives is shown what was said before; what ends before the message stays."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdefgh"))
            mine = (await session(store)).id
            spans = ((1, (0, 3), ARCHIVE), (2, (3, 5), ARCHIVE), (3, (5, 8), ARCHIVE), (4, (5, 8), "api"))
            await kept(
                store,
                *(
                    document(number, f"Apples {number}.", session_id=mine, range=SeqRange(*span), source=source)
                    for number, span, source in spans
                ),
            )
            assert await store.write(TENANT, lambda unit: unit.documents.forget(row_of(unit), 3)) == 2
            assert await listed(store) == [4, 1]
            assert sorted(await with_words(store, "apples")) == [(1, 0), (4, 0)]

    async def test_documents_go_with_the_messages_that_they_were_made_of(self, tmp_path: Path) -> None:
        """I12: with one of them, or with all when the session is reset; what others are made of stays."""
        second = key_of(session="s2")
        async with self.opened(tmp_path) as store:
            for key in (KEY, second):
                await store.append(append(*"abcdefgh", key=key))
            mine, other = (await session(store)).id, (await session(store, second)).id
            spans = ((1, mine, (0, 3)), (2, mine, (3, 5)), (3, mine, (5, 8)), (4, other, (0, 8)))
            await kept(
                store,
                document(9, "Nobody's apples."),
                *(document(n, f"Apples {n}.", session_id=uid, range=SeqRange(*span)) for n, uid, span in spans),
            )
            for asked, numbers in ((None, [1, 2, 3]), (SeqRange(4, 6), [2, 3]), (SeqRange(3, 4), [2])):
                assert await made_of(store, mine, asked) == numbers
            assert await made_of(store, mine, tenant="t2") == []

            def forget(unit: Unit, seq: int | None) -> int:
                return unit.documents.forget(row_of(unit), seq)

            assert await store.write(TENANT, lambda unit: forget(unit, 4)) == 1
            assert await store.write(TENANT, lambda unit: forget(unit, 4)) == 0
            assert await listed(store) == [9, 4, 3, 1]
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, mine, now=after(1)))
            assert await listed(store) == [9, 4]
            assert sorted(await with_words(store, "apples")) == [(4, 0), (9, 0)]
