"""T14: facts, their subjects and chunks go with the sessions that they were learned from, and with their owner."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.harness import conversation, opened, text
from tests.services.lives import NOW, READING, a_fact, broken, exported, keep, known, listen, of_kind, own_facts, two

from anaphora.domain.facts import Fact, FactState, Source
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, Session
from anaphora.ports.exchange import Scope
from anaphora.ports.store import Unit
from anaphora.settings import BatchExtractionSettings
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def test_a_session_that_was_read_for_facts_comes_back_to_the_byte_and_is_not_read_again(tmp_path: Path) -> None:
    model = ScriptedChat()
    async with two(tmp_path, chat=model, **READING) as (here, there):
        await listen(here, conversation(here), "figs", "plums", "pears")
        assert {fact.content for fact in await here.facts.list(user="u")} >= {"The user likes figs"}
        lines = await exported(here)
        assert of_kind(lines, "chunk")
        assert {move["reader"] for move in of_kind(lines, "move")} == {"live:batch_extraction"}
        await there.restore(lines)
        assert await exported(there) == lines
        asked = len(model.prompts)
        await there.work()
        assert len(model.prompts) == asked
        assert broken(there) == []


async def test_a_session_that_is_served_by_its_chunks_is_sound_here_and_there(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        **READING,
        "batch_extraction": BatchExtractionSettings(threshold=0, batch=4, idle_seconds=1000.0, keep_verbatim=1),
    }
    async with two(tmp_path, chat=ScriptedChat(), **given) as (here, there):
        await listen(here, conversation(here, strategy="batch_extraction"), "figs", "plums", "pears")
        assert broken(here) == []
        await there.restore(await exported(here))
        assert broken(there) == []


async def test_facts_of_every_kind_come_back_to_the_byte(tmp_path: Path) -> None:
    clock = FakeClock()
    async with two(tmp_path, clock, chat=ScriptedChat(), **READING) as (here, there):
        await here.subjects.create("cat", user="u", name="The cat", members=["v", "é"])
        await listen(here, conversation(here, subject="cat"), "figs", "plums", who="The cat likes")
        learned, other = await own_facts(here, "u")
        await here.facts.share(learned.id, user="u")
        await here.facts.confirm(other.id, user="u")
        by_hand = await here.facts.add("Lives in Rome", user="u", category="other", importance=10)
        await clock.advance(1)
        await here.facts.edit(by_hand.id, user="u", content="Lives in\u2028Bern")
        await here.facts.pin(by_hand.id, user="u")
        await here.facts.undo(by_hand.id, user="u")
        await here.facts.add("Has 2 cats", user="v", pinned=True)
        newer = await here.facts.add("Has 3 cats", user="v")
        await keep(
            here, a_fact(1, content="Flies to the moon", state=FactState.REVIEW, doubt="only the assistant said so")
        )
        lines = await exported(here)
        facts = of_kind(lines, "fact")
        assert {fact.get("state", "active") for fact in facts} == {"active", "review", "closed"}
        assert str(newer.id) in {fact.get("superseded_by") for fact in facts}
        assert {version["action"] for version in of_kind(lines, "fact_version")} >= {
            "added",
            "edited",
            "pinned",
            "learned",
        }
        assert [fact["restores"] for fact in facts if fact["action"] == "undone"] == [2]
        assert {fact.get("visibility") for fact in facts} == {"shared", None}
        await there.restore(lines)
        assert await exported(there) == lines
        for user in ("u", "v", "é"):
            assert await known(there, user) == await known(here, user)
        assert [fact.content for fact in await there.facts.list(user="v", subject="cat")] == [learned.content]
        assert broken(there) == []


async def test_an_export_without_facts_is_what_it_always_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await conversation(memory).add("user", "hello")
        *_, footer = await exported(memory)
        counts = ["users", "sessions", "messages", "versions", "summaries", "moves", "receipts"]
        assert list(json.loads(footer)) == ["record", *counts, "sha256"]


# -- whose, and how much -----------------------------------------------------------------------------------------------


async def test_a_user_gets_the_own_facts_and_no_other_whoever_shares_them(tmp_path: Path) -> None:
    """I11."""
    async with opened(tmp_path, chat=ScriptedChat(), **READING) as memory:
        await memory.subjects.create("cat", user="ann", members=["bob"])
        await memory.subjects.create("dog", user="ann")
        for user in ("ann", "bob", "zoe"):
            await listen(
                memory, memory.session(user=user, session="s", subject="cat"), f"{user}'s figs", who="The cat likes"
            )
            await memory.facts.add(f"Sings for {user}", user=user, subject="cat")
        for user in ("ann", "bob"):
            for fact in await own_facts(memory, user):
                await memory.facts.share(fact.id, user=user)
        assert len(await memory.facts.list(user="bob")) == 4
        for user, names in (("ann", ["cat", "dog"]), ("bob", ["cat"]), ("zoe", [])):
            lines = await exported(memory, user=user)
            assert {fact["owner"] for fact in of_kind(lines, "fact")} == {user}
            assert len(of_kind(lines, "fact")) == 2
            assert [subject["id"] for subject in of_kind(lines, "subject")] == names
            assert {source["agent"] for source in of_kind(lines, "fact_source")} == {"default"}
            others = {"ann", "bob", "zoe"} - {user}
            assert not any(f"{other}'s figs" in line or f"for {other}" in line for other in others for line in lines)


async def test_a_part_of_the_sessions_tells_what_was_learned_in_it_alone(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await here.subjects.create("cat", user="u")
        await here.subjects.create("dog", user="u")
        await listen(
            here, here.session(user="u", agent="a", session="1", subject="cat"), "figs", "plums", who="The cat likes"
        )
        await listen(
            here, here.session(user="u", agent="a", session="2", subject="cat"), "figs", "pears", who="The cat likes"
        )
        await listen(here, here.session(user="u", agent="b", session="1"), "nuts")
        by_hand = await here.facts.add("Sings", user="u", subject="cat")

        async def told(**scope: str) -> tuple[set[str], list[tuple[str, str]], list[str]]:
            lines = await exported(here, **scope)
            await there.restore(lines, tenant=str(sorted(scope.items())))
            assert await exported(there, tenant=str(sorted(scope.items()))) == lines
            sources = [(source["agent"], source["session"]) for source in of_kind(lines, "fact_source")]
            contents = {fact["content"].rpartition("likes ")[2] for fact in of_kind(lines, "fact")}
            return contents, sorted(sources), [subject["id"] for subject in of_kind(lines, "subject")]

        in_one, in_two, other = ("a", "1"), ("a", "2"), ("b", "1")
        whole = {"figs", "plums", "pears", "nuts", by_hand.content}
        assert await told(user="u") == (whole, [in_one, in_one, in_two, in_two, other], ["cat", "dog"])
        assert await told(agent="a") == (whole - {"nuts", by_hand.content}, [in_one, in_one, in_two, in_two], ["cat"])
        assert await told(agent="a", session="2") == ({"figs", "pears"}, [in_two, in_two], ["cat"])
        assert await told(user="u", agent="b") == ({"nuts"}, [other], [])


async def test_who_has_facts_and_no_session_is_found_and_counted(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        await conversation(here).add("user", "hello")
        await here.facts.add("Sings", user="zoe")
        await here.subjects.create("cat", user="yan")
        export = here._services.export
        for user, there_is in (("zoe", True), ("yan", True), ("u", True), ("x", False)):
            assert await export.finds(Scope(tenant="t", user=user)) is there_is
        assert json.loads((await exported(here))[-1])["users"] == 2
        lines = await exported(here, user="zoe")
        assert json.loads(lines[-1])["users"] == json.loads(lines[-1])["facts"] == 1
        await there.restore(here.export())
        assert await exported(there) == await exported(here)


# -- while it is written, and when there is much of it -----------------------------------------------------------------


async def test_what_is_learned_from_what_was_said_meanwhile_is_not_in_it(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        chat, other, third = (conversation(here, session=name) for name in ("1", "2", "3"))
        for each, fruit in ((chat, "figs"), (other, "plums"), (third, "pears")):
            await listen(here, each, fruit)
        lines = []
        async for line in here.export():
            lines.append(line)
            if len(lines) == 2:  # all sessions are written
                await chat.add("user", "I like nuts.")
                await listen(here, chat, "figs")
                await other.reset()
                await listen(here, other, "plums", "dates")
                await third.edit(0, "I like melons.")
                await here.work()
        told = {fact["content"].removeprefix("The user likes ") for fact in of_kind(lines, "fact")}
        assert told == {"figs", "melons"}
        assert [source["seq"] for source in of_kind(lines, "fact_source")] == [0, 0]
        await there.restore(lines)
        assert {fact.content for fact in await own_facts(there, "u")} == {"The user likes figs"}
        assert broken(there) == []


async def test_many_facts_and_many_sources_of_one_come_in_pages(tmp_path: Path) -> None:
    """More than a page of facts, of versions and of sources, and more than a block of an import."""
    async with two(tmp_path) as (here, there):
        chat, other = conversation(here, session="é"), conversation(here, session="Z")
        for each in (chat, other):
            await each.add_turn([{"role": "user", "content": text(seq)} for seq in range(300)])
        await keep(here, *(a_fact(number, content=f"Fact number {number}") for number in range(230)))
        await say_often(here, [chat, other], a_fact(1000, content="Likes figs", agent="a", trust=Trust.OWNER_SAID))
        for turn in range(520):
            await (here.facts.pin if turn % 2 else here.facts.unpin)(a_fact(7).id, user="u")
        lines = await exported(here)
        assert len(of_kind(lines, "fact")) == 231
        assert len(of_kind(lines, "fact_version")) > 500
        places = [(source["session"], source["seq"]) for source in of_kind(lines, "fact_source")]
        assert places == sorted((name, seq) for name in ("Z", "é") for seq in range(300))
        await there.restore(lines)
        assert await exported(there) == lines
        assert broken(there) == []


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8).filter(
    str.strip
)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30).filter(str.strip)
ADDED = st.fixed_dictionaries(
    {
        "content": TEXT,
        "category": st.sampled_from(["other", "preference", "instruction"]),
        "importance": st.integers(1, 10),
        "subject": st.none() | st.sampled_from(["0", "1"]),
        "pinned": st.booleans(),
    }
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["pin", "unpin", "share", "unshare", "undo", "delete"]) | TEXT),
    max_size=6,
)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Memory, Memory]]:
    """Two memories in which each example has a tenant of its own."""
    async with two(tmp_path) as both:
        yield both
        assert broken(both[1]) == []


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    subjects=st.lists(st.tuples(NAMES, TEXT, st.lists(NAMES, max_size=3)), min_size=2, max_size=2),
    users=st.dictionaries(NAMES, st.tuples(st.lists(ADDED, max_size=5), CHANGES), max_size=3),
)
async def test_whatever_is_known_comes_back_to_the_byte(
    subjects: list[tuple[str, str, list[str]]],
    users: dict[str, tuple[list[dict[str, Any]], list[tuple[int, str]]]],
    pair: tuple[Memory, Memory],
) -> None:
    here, there = pair
    tenant = str(uuid4())
    for owner, name, members in subjects:
        with suppress(InvalidInput):
            await here.subjects.create(name, user=owner, name=name[::-1], members=[*members, *users], tenant=tenant)
    for user, (added, changes) in users.items():
        for each in added:
            subject = None if each["subject"] is None else subjects[int(each["subject"])][1]
            with suppress(InvalidInput):
                await here.facts.add(**{**each, "subject": subject}, user=user, tenant=tenant)
        for at, change in changes:
            facts = await own_facts(here, user, tenant=tenant)
            if at < len(facts):
                with suppress(InvalidInput):
                    if change in {"pin", "unpin", "share", "unshare", "undo", "delete"}:
                        await getattr(here.facts, change)(facts[at].id, user=user, tenant=tenant)
                    else:
                        await here.facts.edit(facts[at].id, content=change, user=user, tenant=tenant)
    lines = await exported(here, tenant=tenant)
    assert all(line.endswith("\n") and len(line.splitlines()) == 1 for line in lines)
    await there.restore("".join(lines).splitlines(), tenant=tenant)
    assert await exported(there, tenant=tenant) == lines
    for user in users:
        assert await known(there, user, tenant=tenant) == await known(here, user, tenant=tenant)


async def say_often(memory: Memory, chats: Sequence[Session], fact: Fact) -> None:
    """As if every message of the sessions said what the fact says."""
    await keep(memory, fact)

    def work(unit: Unit) -> None:
        for chat in chats:
            row = unit.sessions.find(chat.key)
            assert row is not None
            span = SeqRange(0, row.head)
            for message in unit.messages.range("t", row.id, span, limit=row.head):
                source = Source(
                    session_id=row.id,
                    key=row.key,
                    seq=message.seq,
                    message_id=message.id,
                    quote=message.content,
                    range=span,
                    trust=message.trust,
                    model=None,
                    prompt_version=None,
                    learned_at=NOW,
                )
                unit.facts.add_source("t", fact.id, source)

    await memory._services.store.write("t", work)
