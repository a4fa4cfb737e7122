"""Every statement can be sent to the one shard that its tenant is on: the rules of Citus and of others like it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from tests.databases.postgres import database_of
from tests.databases.postgres import opened as opened_store
from tests.memory.harness import conversation, opened, say, settle
from tests.services.lives import attentive
from tests.services.talks import TOPICS, all_of_it, following

from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector
from anaphora.ports.store import Unit
from anaphora.storage.columns import metadata
from anaphora.storage.postgres.document_search import document_words
from anaphora.storage.postgres.search import message_words
from anaphora.storage.tables import store_meta
from anaphora.testing import FakeClock
from anaphora.testing.conformance.store_laws.tools import KEY, TENANT, append, row_of
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

_INDEXES = (message_words, document_words)
_OF_TENANTS = {table.name for table in (*metadata.sorted_tables, *_INDEXES) if table is not store_meta}
_OF_TENANTS |= {"found_words", "found_document_words"}  # views of some of them
_NAMED = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+AS\s+(\w+))?", re.IGNORECASE)
_VOLATILE = re.compile(r"\b(?:now|clock_timestamp|random|gen_random_uuid|nextval|uuid_generate\w*)\s*\(", re.IGNORECASE)
#: what looks at all tenants: for workers and for upkeep
_FOR_ALL = (
    "row_number() OVER (PARTITION BY jobs.tenant_id",
    "count(*) AS count_1 \nFROM jobs",
    "row_number() OVER (PARTITION BY document_jobs.tenant_id",
    "count(*) AS count_1 \nFROM document_jobs",
    "SELECT DISTINCT sessions.tenant_id",
    "WHERE erasures.state = 'running' UNION",
)


@contextmanager
def noted() -> Iterator[set[str]]:
    """The statements that are sent to PostgreSQL within the block."""
    found: set[str] = set()

    def note(*call: Any) -> None:
        _connection, _cursor, statement, _parameters, context, _many = call
        if context is None or context.dialect.name == "postgresql":
            found.add(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


async def _live(folder: Path) -> None:
    """A life with everything in it."""
    clock = FakeClock()
    settings: dict[str, Any] = {"db": await database_of(folder), "durability": "normal"}
    async with opened(folder, chat=ScriptedChat(), clock=clock, **settings) as memory:
        chat = conversation(memory)
        await say(chat, 30)
        await settle(memory, clock)
        await chat.context("word3?")
        await chat.context("word3?", as_of=20)
        await chat.edit(3, "#3# corrected")
        await chat.delete(5)
        await settle(memory, clock)
        await chat.rebuild()
        await settle(memory, clock)
        await memory.search("word3 東京", user="u")
        await chat.summaries(as_of=20)
        await chat.versions(3)
        await memory.sessions()
        await memory.jobs.list()
        receipt = await chat.add("user", "with a key", key="k")
        assert (await memory.receipt(receipt.id)) is not None
        lines = [line async for line in memory.export()]
        await memory.restore(lines)
        await chat.end()
        await chat.reset()


async def _vectors(folder: Path) -> None:
    """Everything that is done with vectors, and how far they are."""
    space, other = Space(profile="one", dimensions=2), Space(profile="other", dimensions=2)
    async with opened_store(await database_of(folder)) as store:
        await store.append(append("a", "b", "c"))

        def work(unit: Unit) -> None:
            row = row_of(unit)
            made = [
                PassageVector(seq=m.seq, part=0, message_id=m.id, version=m.version, vector=(1.0, 0.0))
                for m in unit.embedding.pending(row, space, limit=9)
            ]
            for each in (space, other):
                assert unit.vectors.put(row, each, made) == 3
                unit.embedding.embedded(row, each, 2)
                unit.embedding.embedded(row, each, 3)
            unit.embedding.changed(row, 1)

        def look(unit: Unit) -> None:
            row = row_of(unit)
            for agent, session_id in ((None, None), (KEY.agent, row.id)):
                assert unit.embedding.is_behind(TENANT, KEY.user, agent=agent, session_id=session_id, space=space)
                found = unit.vectors.nearest(
                    TENANT, KEY.user, agent=agent, session_id=session_id, space=space, vector=(1.0, 0.0), limit=2
                )
                places = [(match.session_id, match.seq) for match in found]
                assert len(unit.lookup.voices(TENANT, places)) == len(unit.lookup.messages(TENANT, places)) == 2
            for after in (None, UUID(int=0)):
                assert len(unit.embedding.behind(TENANT, space, after=after, limit=9)) == 1

        await store.write(TENANT, work)
        await store.read(TENANT, look)
        for left in (3, 0):
            assert await store.write(TENANT, lambda u: u.embedding.forget_others(TENANT, space, limit=9)) == left


async def _facts(folder: Path) -> None:
    """Everything that is learned and known of people, and what becomes of it."""
    clock = FakeClock()
    settings: dict[str, Any] = {"db": await database_of(folder), "durability": "normal", "extraction": "turn"}
    async with opened(folder, chat=ScriptedChat(attentive), clock=clock, **settings) as memory:
        await memory.subjects.create("joe", user="u", name="Joe", members=["v"])
        await memory.subjects.remove_member("joe", "v", user="u")
        await memory.subjects.add_member("joe", "v", user="u")
        await memory.subjects.rename("joe", "Grandpa Joe", user="u")
        chat = conversation(memory)
        for text in ("I live in Bern.", "I am allergic to nuts.", "I moved to Basel last week."):
            await chat.add("user", text)
            await chat.add("assistant", "Noted.")
        await settle(memory, clock)
        assert await memory.facts.list(user="u")
        fact = await memory.facts.add("Joe loved jazz", user="u", subject="joe", importance=7)
        for act in (memory.facts.share, memory.facts.pin, memory.facts.confirm, memory.facts.undo):
            await act(fact.id, user="u")
        await memory.facts.edit(fact.id, user="u", content="Joe loved blues")
        await memory.facts.history(fact.id, user="u")
        await memory.facts.review(user="u")
        await memory.facts.list(user="v", subject="joe")
        await chat.context("Where do I live?")
        await memory.search("nuts", user="u", kinds=["messages", "facts", "chunks"])
        await chat.edit(0, "I live in Biel.")
        await chat.delete(2)
        await settle(memory, clock)
        lines = [line async for line in memory.export()]
        await memory.restore(lines)
        await memory.facts.delete(fact.id, user="u")


async def _topics(folder: Path) -> None:
    """Everything that becomes of topics."""
    clock = FakeClock()
    settings: dict[str, Any] = {"db": await database_of(folder), "durability": "normal", **TOPICS, "embedder": "local"}
    async with opened(folder, chat=ScriptedChat(following), clock=clock, **settings) as memory:
        chat = conversation(memory)
        await all_of_it(memory, chat)
        await conversation(memory, session="2").add("user", "My tomatoes have yellow leaves.")
        await chat.context("Back to the tomatoes and their leaves?")
        await chat.context("tomatoes?", as_of=10)
        await conversation(memory, session="2").context("What did you say of tomatoes?")
        await memory.topics.list(user="u")
        await memory.topics.show(3, user="u", agent="a", session="s")
        await chat.edit(3, "Take it to a workshop.")
        await chat.delete(0)
        await chat.delete(1)
        await settle(memory, clock)
        receipt = await chat.add("user", "Thank you.")
        assert (await memory.receipt(receipt.id)) is not None
        await memory.restore([line async for line in memory.export()], tenant="another")
        await chat.reset()


async def _documents(folder: Path) -> None:
    """Everything that becomes of documents."""
    settings: dict[str, Any] = {"db": await database_of(folder), "durability": "normal", "embedder": "local"}
    async with opened(folder, **settings) as memory:
        kb = memory.knowledge
        first = await kb.add("Apples grow. 東京", user="u", metadata={"tags": ["a"], "n": 1})
        await kb.add("Apples grow. 東京", user="u", metadata={"tags": ["b"], "n": 1})
        await kb.add("One.", user="u", key="k")
        await kb.add("Two.", user="u", key="k")
        await memory.work()
        where = 'tags contains "b" and not (n = 2 or exists d.e) and tags != 1'
        assert len(await kb.search("apples 東京", user="u", doc_type="document", where=where)) == 1
        assert len(await kb.list(user="u", before=first.id)) == 0
        await kb.get(first.id, user="u")
        await kb.update(first.id, user="u", text="Pears.")
        await memory._services.reindex.plan(TENANT)
        await memory._services.reindex.forget(TENANT)
        await memory.work()
        await memory.restore([line async for line in memory.export()], tenant="another")
        assert len([line async for line in memory.export(user="u", session="s")]) == 2
        await kb.delete(first.id, user="u")
        await conversation(memory).add("user", "Hello.")
        await conversation(memory).edit(0, "Hi.")
        await conversation(memory).reset()


async def _archive(folder: Path) -> None:
    """What is compressed by tokens, archived, found again in another session, and changed."""
    clock = FakeClock()
    settings: dict[str, Any] = {
        "db": await database_of(folder),
        "durability": "normal",
        "strategy": "token_budget",
        "token_budget": {"threshold_tokens": 300, "recent_messages_to_keep": 4, "archive_conversations": True},
        "recall": {"conversations": True, "agents": ("b",)},
    }
    async with opened(folder, chat=ScriptedChat(), clock=clock, **settings) as memory:
        chat = conversation(memory)
        await say(chat, 60)
        await settle(memory, clock)
        await conversation(memory, session="2").context("Remind me of word3?")
        await chat.edit(3, "#3# corrected")
        await settle(memory, clock)
        await chat.end()
        await settle(memory, clock)
        await memory.restore([line async for line in memory.export()], tenant="another")
        await chat.reset()


async def _access(folder: Path) -> None:
    """Keys, the account of changes, and a memory that rests."""
    async with opened(folder, db=await database_of(folder), durability="normal") as memory:
        new = await memory.keys.create(user="u")
        principal = await memory.keys.verify(new.key)
        assert principal is not None
        await memory.keys.list(user="u")
        await memory.keys.rotate(new.made.id)
        await memory.keys.revoke(new.made.id)
        for _ in range(2):
            await memory.audit.record(principal, "act", status=200)
        await memory.audit.list(user="u", before=9)
        await memory.audit.broken_at()
        await memory.pause(user="u")
        await memory.session(user="u", session="s").context("Who?")
        await memory.resume(user="u")


async def _erasures(folder: Path) -> None:
    """Everything that is erased, and everything that expires."""
    clock = FakeClock()
    settings: dict[str, Any] = {"db": await database_of(folder), "durability": "normal", "extraction": "batch"}
    settings |= {"retention": {"days": 1.0}, "batch_extraction": {"threshold": 2, "batch": 4}}
    async with opened(folder, clock=clock, **settings) as memory:
        for user, session in (("u", "1"), ("u", "2"), ("v", "1"), ("w", "1")):
            chat = memory.session(user=user, session=session)
            for number in range(6):
                await chat.add("user", f"I am allergic to nuts of kind {number}.", key=f"{number}")
                await chat.add("assistant", "Noted.")
        await memory.subjects.create("garden", user="u", members=["v"])
        await memory.work()
        lines = [line async for line in memory.export()]
        for target in ({"user": "u", "session": "1", "message": 2}, {"user": "u", "session": "2"}, {"source": "api"}):
            await memory.erase(**target, dry_run=True)
        await memory.erase(user="u", session="1", message=2)
        await memory.erase(user="u", session="2")
        await memory.erase(fact=(await memory.facts.list(user="u", limit=1))[0].id)
        await memory.erase(user="u", dry_run=True)
        await memory.erase(user="u")
        await memory.erase(source="agent:clerk")
        await memory.erase(source="api", user="v")
        await memory.restore(lines)
        await memory.retention.keep(2, user="w", session="1")
        clock.jump(259_200.0)
        await memory.retention.run()
        await memory.retention.expired()
        await memory.retention.restore(user="w", session="1")
        await memory.erasures()


def _without_tenant(statement: str) -> set[str]:
    """The tables of tenants, as they are called in the statement, of which no tenant is asked for."""
    found = {(alias or name) for name, alias in _NAMED.findall(statement) if name in _OF_TENANTS}
    if statement.startswith("INSERT"):
        return set() if "tenant_id" in statement else found
    one = len(found) == 1
    return {
        name
        for name in found
        if not re.search(rf"\b{name}\.tenant_id = (?:\$\d|\w+\.tenant_id\b)|= {name}\.tenant_id\b", statement)
        and not (one and re.search(r"\btenant_id = \$\d", statement))
    }


async def test_every_statement_names_the_tenant_of_every_table_and_changes_nothing_by_chance(tmp_path: Path) -> None:
    with noted() as statements:
        await _live(tmp_path)
        await _vectors(tmp_path / "vectors")
        await _facts(tmp_path / "facts")
        await _topics(tmp_path / "topics")
        await _documents(tmp_path / "documents")
        await _archive(tmp_path / "archive")
        await _erasures(tmp_path / "erasures")
        await _access(tmp_path / "access")
    ours = {
        s
        for s in statements
        if not s.startswith(("CREATE", "ALTER")) and any(name in _OF_TENANTS for name, _ in _NAMED.findall(s))
    }
    assert len(ours) > 120
    assert {name for statement in ours for name, _ in _NAMED.findall(statement)} >= _OF_TENANTS
    of_all = {s for s in ours if any(part in s for part in _FOR_ALL)}
    assert of_all, "nobody looked for work"
    assert {s: names for s in ours - of_all if (names := _without_tenant(s))} == {}
    assert [s for s in ours if s.startswith(("UPDATE", "DELETE")) and _VOLATILE.search(s)] == []
    assert not [s for s in ours if "WITH RECURSIVE" in s.upper()]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("SELECT 1 FROM messages WHERE messages.seq = $1", {"messages"}),
        ("SELECT 1 FROM messages AS m WHERE m.tenant_id = $1", set()),
        ("SELECT 1 FROM messages JOIN sessions ON sessions.tenant_id = messages.tenant_id", set()),
        (
            "SELECT 1 FROM messages JOIN sessions ON sessions.id = messages.uid WHERE messages.tenant_id = $1",
            {"sessions"},
        ),
        ("UPDATE jobs SET state = $1 WHERE jobs.id = $2", {"jobs"}),
        ("DELETE FROM heads WHERE tenant_id = $1", set()),
        ("INSERT INTO points (summary_id) VALUES ($1)", {"points"}),
    ],
)
def test_a_statement_without_its_tenant_is_seen(statement: str, found: set[str]) -> None:
    assert _without_tenant(statement) == found


def test_the_tenant_leads_every_key_and_every_reference() -> None:
    for table in (*metadata.sorted_tables, *_INDEXES):
        if table is store_meta:
            continue
        keys = [table.primary_key.columns]
        keys += [each.columns for each in table.constraints if isinstance(each, sa.UniqueConstraint)]
        leading = [next(iter(columns)).name for columns in keys]
        leading += [next(iter(index.columns)).name for index in table.indexes if index.unique]
        assert set(leading) == {"tenant_id"}, table.name
        for reference in table.foreign_key_constraints:
            assert (reference.column_keys[0], reference.elements[0].target_fullname.partition(".")[2]) == (
                "tenant_id",
                "tenant_id",
            )
