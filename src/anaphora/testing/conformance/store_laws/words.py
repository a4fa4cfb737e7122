"""I11 and what people type: words are found where the caller may look, and nothing is syntax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message, NewMessage, Role
from anaphora.ports.store import Store, Unit
from anaphora.rules.evidence import weigh
from anaphora.rules.ranking import rank
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    NOW,
    TENANT,
    append,
    key_of,
    session,
)

#: what people type, and what looks like the syntax of a search engine
TYPED = (
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
    "x & !y | z:*",
    "<-> \\",
    "x" * 5000,
)
SIGNS = ("C++", "AND", "state-of-the-art", 'say "hello" twice', "a:b", "100%")
#: users, and agents of theirs, whose names run into each other
CLOSE = (
    ("al", "ice"),
    ("alice", "-"),
    ("a", "lice"),
    ("Alice", "x"),
    ("alice ", "x"),
    ("ali%", "x"),
    ("al_ce", "x"),
    ("alice:default", "s"),
    ("é", "x"),
    ("e\u0301", "x"),
)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A message that was found, with how well it answers."""

    session_id: UUID
    key: SessionKey
    message: Message
    score: float


async def found(
    store: Store,
    *terms: str,
    pieces: Sequence[str] = (),
    tenant: str = TENANT,
    user: str = "alice",
    agent: str | None = None,
    within: SessionKey | None = None,
    limit: int = 10,
) -> list[Hit]:
    """What is found in this scope, best first by the rule that all databases share."""
    uid = (await session(store, within)).id if within else None

    def work(unit: Unit) -> list[Hit]:
        matches = unit.words.find(tenant, user, agent=agent, session_id=uid, terms=terms, pieces=pieces, limit=limit)
        keys = {(match.session_id, match.seq): match.key for match in matches.found}
        ranked = rank("", weigh(matches, [], scale=None), unit.lookup.voices(tenant, keys))
        said = unit.lookup.messages(tenant, keys)
        return [
            Hit(session_id=entry.place[0], key=keys[entry.place], message=said[entry.place], score=entry.score)
            for entry in ranked
        ]

    return await store.read(tenant, work)


def texts(hits: Sequence[Hit]) -> list[str]:
    """What the hits say, best first."""
    return [hit.message.content for hit in hits]


class WordLaws(StoreLaws):
    """Full-text search."""

    async def test_a_message_is_found_by_any_of_its_words_and_their_other_forms(self, tmp_path: Path) -> None:
        """English word forms, capitals and accents do not matter; a part of a word is another word."""
        async with self.opened(tmp_path) as store:
            await store.append(append("I am allergic to peanuts", "We walked to the café"))
            for word in ("peanut", "PEANUTS", "walking", "cafe"):
                assert len(await found(store, word)) == 1, word
            assert len(await found(store, "peanut", "walk")) == 2
            assert await found(store, "aller") == []

    async def test_a_hit_is_the_message_as_it_is_stored(self, tmp_path: Path) -> None:
        """A hit names its session and brings the whole message."""
        async with self.opened(tmp_path) as store:
            await store.append(append("about tea", "about peanuts"))
            row = await session(store)
            (hit,) = await found(store, "peanuts")
            log = await store.read(
                TENANT, lambda unit: unit.messages.newest(TENANT, row.id, SeqRange(0, row.head), limit=1)
            )
            assert (hit.session_id, hit.key, [hit.message]) == (row.id, row.key, list(log))

    async def test_rarer_words_and_more_of_them_come_first_and_the_limit_holds(self, tmp_path: Path) -> None:
        """Best first: a rare word counts more than a common one, two words more than one."""
        async with self.opened(tmp_path) as store:
            said = [*(f"tea number {n}" for n in range(20)), "tea with bergamot", "but bergamot only"]
            await store.append(append(*said))
            hits = await found(store, "tea", "bergamot", limit=3)
            assert texts(hits)[:2] == ["tea with bergamot", "but bergamot only"]
            assert len(hits) == 3
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert scores[-1] > 0
            assert await found(store, "tea", limit=0) == []

    async def test_of_equal_messages_the_newest_comes_first(self, tmp_path: Path) -> None:
        """I2: the newest is the one that was appended last, whatever its time says."""
        async with self.opened(tmp_path) as store:
            for name, day in (("s3", 3), ("s1", 1), ("s2", 2)):
                key = key_of(session=name)
                await store.append(append("the same words", key=key, now=NOW.replace(day=day)))
            assert [hit.key.session for hit in await found(store, "words")] == ["s2", "s1", "s3"]
            for _ in range(2):
                await store.append(append("the same words", key=key))
            matches = await store.read(
                TENANT,
                lambda unit: unit.words.find(
                    TENANT, "alice", agent=None, session_id=None, terms=["words"], pieces=(), limit=4
                ),
            )
            expected = [("s2", 2), ("s2", 1), ("s2", 0), ("s1", 0)]
            assert [(match.key.session, match.seq) for match in matches.found] == expected

    async def test_names_captions_and_tool_results_are_found(self, tmp_path: Path) -> None:
        """What a message says in its name and its parts is found; addresses and metadata say nothing."""
        image = {"type": "image", "caption": "a heron at dawn", "url": "file:///secretpath"}
        result = {"type": "tool_result", "id": "c1", "content": "forecast: drizzle"}
        said = NewMessage(
            role=Role.USER, content="look", name="Quentin", parts=(image, result), metadata={"note": "private"}
        )
        async with self.opened(tmp_path) as store:
            await store.append(append(messages=[said]))
            for word in ("heron", "drizzle", "quentin", "look"):
                assert len(await found(store, word)) == 1, word
            for word in ("secretpath", "private"):
                assert await found(store, word) == [], word

    async def test_nothing_that_is_typed_is_syntax(self, tmp_path: Path) -> None:
        """Whatever people type finds nothing more, nothing less, and breaks nothing."""
        async with self.opened(tmp_path) as store:
            await store.append(append("an ordinary message", "東京都に行きました"))
            for typed in TYPED:
                assert await found(store, typed, pieces=[typed]) == [], typed
                assert texts(await found(store, typed, "ordinary")) == ["an ordinary message"], typed
            assert await found(store) == []

    async def test_signs_are_taken_literally(self, tmp_path: Path) -> None:
        """Words that look like operators are words, and several in one string stand together."""
        async with self.opened(tmp_path) as store:
            for sign in SIGNS:
                await store.append(append(f"about {sign} today", key=key_of(session=sign)))
                await store.append(append("nothing here", key=key_of(session=sign)))
            for sign in SIGNS:
                assert texts(await found(store, sign, within=key_of(session=sign))) == [f"about {sign} today"]
            await store.append(append("hello there, say it twice"))
            assert "hello there, say it twice" not in texts(await found(store, 'say "hello" twice'))

    async def test_scripts_without_spaces_are_found_by_a_piece(self, tmp_path: Path) -> None:
        """Where words have no blanks between them, any piece of the question does, and more of them come first."""
        said = ["昨日東京都に行きました", "大阪で食べた", "ฉันชอบกินข้าวผัด", "plain words"]
        async with self.opened(tmp_path) as store:
            await store.append(append(*said))
            assert texts(await found(store, pieces=["東京都"])) == [said[0]]
            assert texts(await found(store, pieces=["東京"])) == [said[0]]
            assert texts(await found(store, pieces=["東京都", "行き"])) == [said[0]]
            assert texts(await found(store, pieces=["ข้าวผัด"])) == [said[2]]
            assert set(texts(await found(store, pieces=["東京都", "大阪で"]))) == {said[0], said[1]}
            assert texts(await found(store, pieces=["東京都", "行き", "大阪で"]))[0] == said[0]
            assert set(texts(await found(store, "plain", pieces=["大阪"]))) == {said[1], said[3]}

    async def test_composed_and_decomposed_letters_are_the_same(self, tmp_path: Path) -> None:
        """Two ways to write one letter find each other."""
        async with self.opened(tmp_path) as store:
            await store.append(append("Ame\u0301lie が\u3044\u308b", "か\u3099いる"))
            assert len(await found(store, "Am\u00e9lie")) == 1
            assert len(await found(store, "Ame\u0301lie")) == 1
            assert len(await found(store, pieces=["がいる"])) == 2

    async def test_nobody_finds_what_is_somebody_elses(self, tmp_path: Path) -> None:
        """I11: a search stays in its tenant and with its user, and with the agent and the session that are named."""
        keys = [
            key_of(user, tenant=tenant, agent=agent, session=name)
            for tenant in (TENANT, "t2")
            for user, agent in CLOSE
            for name in ("s1", "s1:s2")
        ]
        keys += [key_of(user, tenant=TENANT, agent=f"{agent} too") for user, agent in CLOSE]
        async with self.opened(tmp_path) as store:
            for key in keys:
                await store.append(append("the common secret 共通の秘密", key=key))
            for key in keys:
                mine = {other for other in keys if (other.tenant, other.user) == (key.tenant, key.user)}
                for terms, pieces in ((["secret"], []), ([], ["共通の"])):
                    hits = await found(store, *terms, pieces=pieces, tenant=key.tenant, user=key.user, limit=99)
                    assert {hit.key for hit in hits} == mine
                agents = await found(store, "secret", tenant=key.tenant, user=key.user, agent=key.agent, limit=99)
                assert {hit.key for hit in agents} == {other for other in mine if other.agent == key.agent}
                one = await found(store, "secret", tenant=key.tenant, user=key.user, within=key, limit=99)
                assert {hit.key for hit in one} == {key}
                assert await found(store, "secret", tenant=key.tenant, user="nobody", within=key) == []

    async def test_a_score_does_not_depend_on_what_others_wrote(self, tmp_path: Path) -> None:
        """I11: how rare a word is elsewhere shows in no answer."""
        async with self.opened(tmp_path) as store:
            await store.append(append("tea with bergamot", "tea with milk", "tea alone"))
            before = await found(store, "tea", "bergamot", "milk")
            assert len(before) == 3
            for number in range(20):
                await store.append(append("bergamot " * 5, "milk", key=key_of("bob", f"s{number}")))
                await store.append(append("bergamot", key=key_of(tenant="t2")))
            assert await found(store, "tea", "bergamot", "milk") == before

    async def test_what_was_reset_is_not_found_any_more(self, tmp_path: Path) -> None:
        """I12: neither by its words nor by its pieces; the other sessions are, and what is said from then on."""
        async with self.opened(tmp_path) as store:
            for name in ("s1", "s2"):
                await store.append(append("the secret 東京都", key=key_of(session=name)))
            row = await session(store)
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, row.id, now=NOW))
            for hits in (await found(store, "secret"), await found(store, pieces=["東京都"])):
                assert [hit.key.session for hit in hits] == ["s2"]
            await store.append(append("the secret again"))
            assert len(await found(store, "secret")) == 2
