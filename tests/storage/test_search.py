"""I11 and what people type: words are found where the caller may look, and nothing is syntax."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.storage.bench import NOW, append, key_of, opened, row_of

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import NewMessage, Role
from anaphora.ports.store import WordHit
from anaphora.storage.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio


async def found(
    store: SqliteStore,
    *terms: str,
    trigrams: Sequence[str] = (),
    tenant: str = "t",
    user: str = "alice",
    agent: str | None = None,
    session: SessionKey | None = None,
    limit: int = 10,
) -> Sequence[WordHit]:
    uid = (await store.read(lambda unit: row_of(unit, session))).id if session else None
    return await store.read(
        lambda unit: unit.words.search(
            tenant, user, agent=agent, session_id=uid, terms=terms, trigrams=trigrams, limit=limit
        )
    )


def texts(hits: Sequence[WordHit]) -> list[str]:
    return [hit.message.content for hit in hits]


async def test_a_message_is_found_by_any_of_its_words_and_their_other_forms(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("I am allergic to peanuts", "We walked to the café"))
        for word in ("peanut", "PEANUTS", "walking", "cafe"):
            assert len(await found(store, word)) == 1, word
        assert len(await found(store, "peanut", "walk")) == 2
        assert await found(store, "aller") == []


async def test_rarer_words_and_more_of_them_come_first_and_the_limit_holds(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(*(f"tea number {n}" for n in range(20)), "tea with bergamot", "but bergamot only"))
        hits = await found(store, "tea", "bergamot", limit=3)
        assert texts(hits)[:2] == ["tea with bergamot", "but bergamot only"]
        assert len(hits) == 3
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0


async def test_of_equal_messages_the_newest_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        for day in (3, 1, 2):
            await store.append(append("the same words", now=NOW.replace(day=day)))
        assert [hit.message.seq for hit in await found(store, "words")] == [2, 1, 0]


async def test_names_captions_and_tool_results_are_found(tmp_path: Path) -> None:
    image = {"type": "image", "caption": "a heron at dawn", "url": "file:///secretpath"}
    result = {"type": "tool_result", "id": "c1", "content": "forecast: drizzle"}
    said = NewMessage(role=Role.USER, content="look", name="Quentin", parts=(image, result))
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(messages=[said]))
        for word in ("heron", "drizzle", "quentin", "look"):
            assert len(await found(store, word)) == 1, word
        assert await found(store, "secretpath") == []


HOSTILE = [
    '*:-AND("',
    '"',
    '""',
    "NEAR(a b, 5)",
    "scope:u",
    "body : x",
    "a* OR b",
    "NOT",
    "(((",
    "^start",
    "{body scope}: x",
    "'; DROP TABLE messages; --",
    "nul\x00byte",
    "\u0301",
    "😀",
    "",
    "   ",
    "%_",
    "x" * 5000,
]


@pytest.mark.parametrize("typed", HOSTILE)
async def test_nothing_that_is_typed_is_syntax(tmp_path: Path, typed: str) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("an ordinary message", "東京都に行きました"))
        assert await found(store, typed, trigrams=[typed]) == []
        assert texts(await found(store, typed, "ordinary")) == ["an ordinary message"]


@pytest.mark.parametrize("literal", ["C++", "AND", "state-of-the-art", 'say "hello" twice', "a:b", "100%"])
async def test_signs_are_taken_literally(tmp_path: Path, literal: str) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(f"about {literal} today", "nothing here"))
        assert texts(await found(store, literal)) == [f"about {literal} today"]


async def test_scripts_without_spaces_are_found_by_a_piece(tmp_path: Path) -> None:
    said = ["昨日東京都に行きました", "大阪で食べた", "ฉันชอบกินข้าวผัด", "plain words"]
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(*said))
        assert texts(await found(store, trigrams=["東京都"])) == [said[0]]
        assert texts(await found(store, trigrams=["東京"])) == [said[0]]
        assert texts(await found(store, trigrams=["東京都", "行き"])) == [said[0]]
        assert texts(await found(store, trigrams=["ข้าวผัด"])) == [said[2]]
        assert await found(store, trigrams=["東京都", "大阪で"]) == []
        assert texts(await found(store, "plain", trigrams=["大阪"])) == [said[1], said[3]]


async def test_composed_and_decomposed_letters_are_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("Ame\u0301lie が\u3044\u308b", "か\u3099いる"))
        assert len(await found(store, "Am\u00e9lie")) == 1
        assert len(await found(store, trigrams=["がいる"])) == 2


HOSTILE_KEYS = [
    ("al", "ice"),
    ("alice", ""),
    ("a", "lice"),
    ("Alice", "x"),
    ("alice ", "x"),
    ("ali%", "x"),
    ("al_ce", "x"),
    ("alice:default", "s"),
    ("é", "x"),
    ("e\u0301", "x"),
]


async def test_nobody_finds_what_is_somebody_elses(tmp_path: Path) -> None:
    keys = [
        key_of(user, tenant=tenant, agent=agent or "-", session=session)
        for tenant in ("t", "t2")
        for user, agent in HOSTILE_KEYS
        for session in ("s1", "s1:s2")
    ]
    async with opened(tmp_path / "m.db") as store:
        for key in keys:
            await store.append(append("the common secret 共通の秘密", key=key))
        for key in keys:
            for hits in (
                await found(store, "secret", tenant=key.tenant, user=key.user, limit=99),
                await found(store, trigrams=["共通の"], tenant=key.tenant, user=key.user, limit=99),
            ):
                mine = {other for other in keys if (other.tenant, other.user) == (key.tenant, key.user)}
                assert {hit.key for hit in hits} == mine
            agents = await found(store, "secret", tenant=key.tenant, user=key.user, agent=key.agent, limit=99)
            assert {hit.key.agent for hit in agents} == {key.agent}
            one = await found(store, "secret", tenant=key.tenant, user=key.user, session=key, limit=99)
            assert {hit.key for hit in one} == {key}
            assert await found(store, "secret", tenant=key.tenant, user="nobody", session=key) == []


async def test_a_score_does_not_depend_on_what_others_wrote(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("tea with bergamot", "tea with milk", "tea alone"))
        before = await found(store, "tea", "bergamot", "milk")
        for number in range(30):
            await store.append(append("bergamot " * 5, "milk", key=key_of("bob", f"s{number}")))
            await store.append(append("bergamot", key=key_of(tenant="t2")))
        assert await found(store, "tea", "bergamot", "milk") == before


async def test_what_was_reset_is_not_found_any_more(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("the secret 東京都", key=key_of(session="s1")))
        await store.append(append("the secret 東京都", key=key_of(session="s2")))
        row = await store.read(row_of)
        await store.write(lambda unit: unit.sessions.reset("t", row.id, now=NOW))
        for hits in (await found(store, "secret"), await found(store, trigrams=["東京都"])):
            assert [hit.key.session for hit in hits] == ["s2"]
        await store.append(append("the secret again", key=key_of(session="s1")))
        assert len(await found(store, "secret")) == 2
