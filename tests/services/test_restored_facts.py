"""Facts go into what is there already: once, over nothing, and nobody gains access to anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.databases.postgres import database_of
from tests.memory.harness import conversation, opened, text
from tests.services.lives import (
    READING,
    a_fact,
    broken,
    exported,
    keep,
    known,
    listen,
    of_kind,
    own_facts,
    resummed,
    two,
)
from tests.services.test_restore import live

from anaphora.domain.facts import Fact, FactState, Visibility
from anaphora.domain.jobs import JobKind
from anaphora.errors import InvalidInput, StoreBusy
from anaphora.memory import Memory
from anaphora.services.importing.pieces import BLOCK
from anaphora.testing import FakeClock, RaiseAt
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def contents(memory: Memory, user: str = "u") -> set[str]:
    """What a user's own facts say, whatever their state."""
    return {fact.content.removeprefix("The user likes ") for fact in await own_facts(memory, user)}


async def the_fact(memory: Memory, content: str, user: str = "u") -> Fact:
    """The user's own fact that says so."""
    (found,) = [fact for fact in await own_facts(memory, user) if fact.content.endswith(content)]
    return found


# -- again, and interrupted --------------------------------------------------------------------------------------------


class Blocks:
    """How often something was written."""

    count = 0

    def __call__(self, name: str) -> None:
        self.count += name == "restore.after_block"


async def test_again_writes_nothing(tmp_path: Path) -> None:
    blocks = Blocks()
    async with two(tmp_path, chat=ScriptedChat(), failpoint=blocks, **READING) as (here, there):
        await here.subjects.create("cat", user="u", members=["v"])
        await listen(here, conversation(here, subject="cat"), "figs", "plums")
        await here.facts.add("Has 2 cats", user="u")
        await here.facts.add("Has 3 cats", user="u")
        await there.facts.add("Has 3 cats", user="u")  # under another id
        lines = await exported(here)
        await there.restore(lines)
        assert blocks.count == 2, "one for everything, and one for what names a fact that stayed out"
        before = await exported(there)
        await there.restore(lines)
        assert blocks.count == 2
        assert await exported(there) == before


@pytest.fixture(scope="module")
async def long_one(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An export with sessions and facts of several blocks."""
    async with opened(tmp_path_factory.mktemp("long"), chat=ScriptedChat(), clock=FakeClock(), **READING) as memory:
        for start in range(0, BLOCK + 100, 100):
            await conversation(memory).add_turn([{"role": "user", "content": text(start + at)} for at in range(100)])
        await memory.subjects.create("cat", user="u", members=["v"])
        await listen(memory, conversation(memory, session="t", subject="cat"), "figs", "plums")
        shared = {"subject": "cat", "visibility": Visibility.SHARED}
        await keep(memory, *(a_fact(at, f"The cat is number {at}", **shared) for at in range(BLOCK + 20)))
        return await exported(memory)


@pytest.mark.parametrize("count", [1, 4])
async def test_an_import_that_was_interrupted_goes_on_where_it_stopped(
    count: int, long_one: list[str], tmp_path: Path
) -> None:
    fault = RaiseAt("restore.after_block", StoreBusy("somebody else is writing"), count)
    async with opened(tmp_path, chat=ScriptedChat(), failpoint=fault, **READING) as memory:
        with pytest.raises(StoreBusy):
            await memory.restore(long_one)
        assert broken(memory) == []
        await memory.restore(long_one)
        assert await exported(memory) == long_one
        assert broken(memory) == []


async def test_two_imports_at_once_are_as_good_as_one(long_one: list[str], tmp_path: Path) -> None:
    async with opened(tmp_path, **READING) as one, opened(tmp_path, **READING) as other:
        async with anyio.create_task_group() as group:
            group.start_soon(one.restore, long_one)
            group.start_soon(other.restore, long_one)
        assert await exported(one) == long_one
        assert broken(one) == []


async def test_every_database_writes_the_same_lines(tmp_path: Path) -> None:
    """Names in the order of their code points, ids in the order of their bytes, whatever the database."""
    for name in ("sqlite", "postgresql", "again"):
        (tmp_path / name).mkdir()
    given: dict[str, Any] = {"chat": ScriptedChat(), "clock": FakeClock(), **READING}
    places = (str(tmp_path / "sqlite" / "memory.db"), await database_of(tmp_path / "postgresql"))
    for here, there in (places, places[::-1]):
        async with opened(tmp_path / "again", db=here, **given) as memory, opened(tmp_path / "again", db=there) as copy:
            tenant = "from one" if here == places[0] else "from the other"
            for name in ("é", "Z", "a", "\uffee", "\U0001f600"):
                await memory.subjects.create(name, user=name, members=["Z", "é", "_"], tenant=tenant)
                chat = memory.session(user="é", agent=name, session=name[::-1], subject=name, tenant=tenant)
                await listen(memory, chat, "figs", name)
            lines = await exported(memory, tenant=tenant)
            await copy.restore(lines, tenant=tenant)
            assert await exported(copy, tenant=tenant) == lines


# -- what is known already ---------------------------------------------------------------------------------------------


async def test_a_fact_that_is_here_stays_as_it_is_here(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here), "figs")
        lines = await exported(here)
        await there.restore(lines)
        (fact,) = await own_facts(there, "u")
        await there.facts.edit(fact.id, user="u", content="Hates figs")
        before = await exported(there)
        await there.restore(lines)
        assert await exported(there) == before


async def test_what_the_owner_deleted_here_stays_deleted(tmp_path: Path) -> None:
    """I12: an old export brings nothing back."""
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here), "figs", "plums")
        await here.facts.add("Sings in a choir", user="u", subject="cat")
        lines = await exported(here)
        await there.restore(lines)
        for fact in await own_facts(there, "u"):
            if "plums" not in fact.content:
                await there.facts.delete(fact.id, user="u")
        await there.restore(lines)
        assert await contents(there) == {"plums"}
        assert broken(there) == []


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_what_a_message_says_no_longer_here_is_not_quoted_again(change: str, tmp_path: Path) -> None:
    """I12."""
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here), "figs", "plums")
        plums = await the_fact(here, "plums")
        await here.facts.confirm(plums.id, user="u")
        await listen(here, conversation(here), "figs")
        lines = await exported(here)
        await there.restore(lines)
        twin = conversation(there)
        for seq in (0, 2, 4):
            await (twin.edit(seq, "Hello.") if change == "edit" else twin.delete(seq))
        assert await contents(there) == {"plums"}, "the owner stands for that one"
        await there.facts.delete(plums.id, user="u")
        await there.restore(lines)
        assert await contents(there) == set()


async def test_a_source_that_its_message_no_longer_has_stays_out_and_the_others_come(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here), "figs", "figs")
        lines = await exported(here)
        await there.restore(without_facts(lines))
        await conversation(there).edit(0, "Hello.")
        await there.restore(lines)
        assert [source.seq for source in (await the_fact(there, "figs")).sources] == [2]


def without_facts(lines: list[str]) -> list[str]:
    """The same sessions, of which nothing is known."""
    kept = [line for line in lines if not line.startswith(('{"record":"fact', '{"record":"subject'))]
    footer = {name: count for name, count in json.loads(kept[-1]).items() if not name.startswith(("fact", "subject"))}
    return resummed([*kept[:-1], json.dumps(footer)])


async def test_after_a_reset_here_what_was_learned_comes_back_with_the_session(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here), "figs", "plums")
        lines = await exported(here)
        await there.restore(lines)
        await conversation(there).reset()
        assert await own_facts(there, "u") == []
        await there.restore(lines)
        assert await known(there, "u") == await known(here, "u")
        assert of_kind(await exported(there), "chunk") == of_kind(lines, "chunk")


async def test_what_is_known_under_another_id_gets_the_sources(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here, session="1"), "figs", "plums")
        await listen(there, conversation(there, session="2"), "figs")
        mine = await the_fact(there, "figs")
        await there.restore(here.export())
        assert await contents(there) == {"figs", "plums"}
        assert {source.key.session for source in (await the_fact(there, "figs")).sources} == {"1", "2"}
        await conversation(there, session="2").reset()
        assert (await the_fact(there, "figs")).id == mine.id, "a message of the other session says so too"
        before = await exported(there, session="1")
        await there.restore(here.export())
        assert await exported(there, session="1") == before


async def test_a_fact_whose_successor_stayed_out_names_none_and_can_be_taken_back(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        old = await here.facts.add("Has 2 cats", user="u")
        await here.facts.add("Has 3 cats", user="u")
        await there.facts.add("Has 3 cats", user="u")
        await there.restore(here.export())
        found = await there.facts.get(old.id, user="u")
        assert (found.state, found.superseded_by) == (FactState.CLOSED, None)
        assert (await there.facts.history(old.id, user="u"))[-1].superseded_by is None
        again = await there.facts.undo(old.id, user="u")
        assert again is not None
        assert again.state is FactState.ACTIVE
        assert broken(there) == []


# -- the session that it was learned from ------------------------------------------------------------------------------


async def test_a_log_that_is_not_the_exported_one_is_read_again(tmp_path: Path) -> None:
    fault = RaiseAt("restore.after_block", StoreBusy("somebody else is writing"))
    model = ScriptedChat()
    async with two(tmp_path, chat=model, **READING) as (here, _):
        chat = conversation(here)
        for start in range(0, BLOCK, 100):
            await chat.add_turn([{"role": "user", "content": text(start + at)} for at in range(100)])
        await listen(here, chat, "figs", "plums")
        lines = await exported(here)
    (tmp_path / "fragile").mkdir()
    async with opened(tmp_path / "fragile", chat=model, failpoint=fault, **READING) as memory:
        with pytest.raises(StoreBusy):
            await memory.restore(lines)
        twin = conversation(memory)
        await twin.edit(0, "I like nuts.")
        await memory.restore(lines)
        assert of_kind(await exported(memory), "chunk") == of_kind(await exported(memory), "move") == []
        assert JobKind.EXTRACT in {kind for kind, *_ in await live(memory)}
        assert await contents(memory) == {"figs", "plums"}
        await memory.work()
        assert await contents(memory) == {"figs", "plums", "nuts"}
        assert {move["position"] for move in of_kind(await exported(memory), "move")} >= {BLOCK + 4}
        assert broken(memory) == []


async def test_a_session_that_is_refused_brings_no_facts_and_all_others_do(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await listen(here, conversation(here, session="1"), "figs")
        await listen(here, conversation(here, session="2"), "plums")
        await conversation(there, session="1").add("user", "something else")
        with pytest.raises(InvalidInput, match="session '1' of user 'u' holds something else here"):
            await there.restore(here.export())
        assert await contents(there) == {"plums"}


async def test_what_is_due_is_planned(tmp_path: Path) -> None:
    """Unread messages, a chunk that is stale, and one that waits for a model."""
    for at, model in enumerate((ScriptedChat(), ScriptedChat(), None)):
        (tmp_path / str(at)).mkdir()
        async with two(tmp_path / str(at), chat=model, **READING) as (here, there):
            chat = conversation(here)
            await listen(here, chat, "figs", "plums")
            if at == 0:
                await chat.add("user", "I like pears.")
            if at == 1:
                await chat.edit(0, "I like nuts.")
            await there.restore(here.export())
            assert await live(there) == await live(here)
            kinds = {kind for kind, *_ in await live(there)}
            assert kinds == {JobKind.REEXTRACT if at else JobKind.EXTRACT}
            await there.work()
            await here.work()
            assert await contents(there) == await contents(here)


async def test_where_nothing_is_read_for_facts_they_are_kept(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, _):
        await listen(here, conversation(here), "figs")
        lines = await exported(here)
    (tmp_path / "deaf").mkdir()
    async with opened(tmp_path / "deaf", extraction="none") as memory:
        await memory.restore(lines)
        assert await exported(memory) == lines
        assert await live(memory) == []
