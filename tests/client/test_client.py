"""A client has what a memory has; what it cannot have, it says."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest
from tests.client.serving import Trusting, connected, key_of, serving
from tests.memory.harness import opened
from tests.server.harness import TENANT

from anaphora.client import Client, RemoteSession
from anaphora.client.facts import RemoteFacts, RemoteSubjects
from anaphora.client.kept import RemoteKnowledge, RemoteNotepad, RemoteRetention, RemoteTopics
from anaphora.client.tended import RemoteAudit, RemoteJobs, RemoteKeys
from anaphora.domain.changes import ChangeKind
from anaphora.domain.facts import FactState
from anaphora.domain.filters import And, Contains, Equals, Exists, Field, Not
from anaphora.errors import (
    AnaphoraError,
    BudgetTooSmall,
    ConfigError,
    InvalidInput,
    KeyReused,
    NotFound,
    StoreClosed,
    UnknownName,
)
from anaphora.memory import Memory
from anaphora.services.chat import Turn
from anaphora.sync.client import Client as BlockingClient
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

KINDS = (
    *(Client, RemoteSession, RemoteFacts, RemoteSubjects, RemoteKnowledge, RemoteNotepad),
    *(RemoteRetention, RemoteTopics, RemoteAudit, RemoteJobs, RemoteKeys),
)


@asynccontextmanager
async def of_u(folder: Path, **options: Any) -> AsyncIterator[tuple[Memory, Client]]:
    """A memory, and a client with the key of user `u`."""
    async with (
        opened(folder, chat=ScriptedChat(), **options) as memory,
        serving(memory) as url,
        Client.open(url, key=key_of("u", TENANT)) as client,
    ):
        yield memory, client


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nothing_of_a_memory_is_left_to_run_where_there_is_no_database(kind: type) -> None:
    remote = [each for each in kind.__mro__ if each.__module__.startswith("anaphora.client")]
    own = {name for each in remote for name in vars(each)}
    there = {
        name
        for each in kind.__mro__
        if each.__module__.startswith("anaphora.memory")
        for name, value in vars(each).items()
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, classmethod))
    }
    assert there
    assert there - own == set()


async def test_a_memory_is_moved_from_a_file_to_a_service_by_one_line(tmp_path: Path) -> None:
    async def talk(memory: Memory) -> list[str]:
        chat = memory.session(user="u", session="s1")
        await chat.add("user", "I'm allergic to peanuts.")
        await chat.send("What can I cook tonight?")
        await memory.facts.add("The user lives in Paris.", user="u")
        context = await chat.context("And tomorrow?", budget=2000)
        # each memory has a mark of its own
        return [re.sub(r"memory \d+", "memory", str(message["content"])) for message in context.to_openai()]

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with opened(tmp_path / "a", chat=ScriptedChat()) as memory:
        in_a_file = await talk(memory)
    async with of_u(tmp_path / "b") as (_, client):
        assert await talk(client) == in_a_file


async def test_whose_a_key_is_no_argument_changes(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (memory, client):
        await memory.session(user="v", session="s").add("user", "a secret")
        for asked in (
            client.session(user="v", session="s").messages(),
            client.search("secret", user="v"),
            client.sessions(user="v"),
            client.facts.list(user="v"),
            client.sessions(tenant="other"),
            client.erase(user="v"),
        ):
            with pytest.raises(InvalidInput, match=r"not the key of user 'v'|not one of tenant 'other'"):
                await asked
        assert list(await client.sessions()) == []


async def test_a_program_with_many_users_gives_the_key_of_each(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory, connected(memory, kind=Client, key=key_of) as client:
        for user in ("ann", "../bob", "Ärger /?#%2F ..", ".."):
            await client.session(user=user, session=user).add("user", f"I am {user}")
            (row,) = await client.sessions(user=user)
            assert (row.key.user, row.key.session) == (user, user)
            assert [m.content for m in await client.session(user=user, session=user).messages()] == [f"I am {user}"]
        assert {row.key.user for row in await memory.sessions()} == {"ann", "../bob", "Ärger /?#%2F ..", ".."}


async def test_a_key_that_is_of_somebody_else_than_its_name_says_is_never_used(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as memory,
        connected(memory, kind=Client, key=lambda _, tenant: key_of("bob", tenant)) as client,
    ):
        with pytest.raises(InvalidInput, match="not the key of user 'ann'"):
            await client.session(user="ann", session="s").add("user", "hello")
        assert list(await memory.sessions()) == []


WRONG: dict[str, tuple[Callable[[Client], Coroutine[Any, Any, Any]], type[AnaphoraError], str]] = {
    "no message": (lambda c: c.session(user="u", session="s").edit(7, "x"), NotFound, "7"),
    "no fact": (lambda c: c.facts.get(str(UUID(int=1)), user="u"), NotFound, "fact"),
    "no id": (lambda c: c.facts.get("fact-1", user="u"), InvalidInput, "no id of a fact"),
    "no number": (lambda c: c.sessions(limit=0), InvalidInput, "limit"),
    "no strategy": (
        lambda c: c.session(user="u", session="s", strategy="sliding_windows").add("user", "hello"),
        UnknownName,
        "did you mean 'sliding_window'",
    ),
    "no JSON": (lambda c: c.session(user="u", session="s").rebuild(from_seq=object()), InvalidInput, "JSON"),  # type: ignore[arg-type]
    "namespace": (lambda c: c.knowledge.list(namespace=["a"]), InvalidInput, "persons"),
    "work": (lambda c: c.work(), InvalidInput, "idle"),
    "figures": (lambda c: c.figures(), InvalidInput, "metrics"),
    "operators'": (lambda c: c.erasures(), ConfigError, "operate"),
    "nothing to erase": (lambda c: c.erase(user="u", fact="x", source="y"), InvalidInput, "one thing"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_an_error_is_the_one_of_the_library_in_one_line(tmp_path: Path, what: str) -> None:
    call, kind, says = WRONG[what]
    async with of_u(tmp_path) as (_, client):
        with pytest.raises(kind, match=says) as raised:
            await call(client)
        assert len(str(raised.value).splitlines()) == 1


async def test_errors_bring_what_they_know(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (_, client):
        chat = client.session(user="u", session="s")
        with pytest.raises(BudgetTooSmall) as small:
            await chat.context("hello", budget=63)
        assert (small.value.budget, small.value.needed) == (63, 64)
        await chat.add("user", "one", key="k")
        with pytest.raises(KeyReused):
            await chat.add("user", "two", key="k")


async def test_a_key_that_lets_nobody_in_and_a_url_that_is_none_are_told_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory, serving(memory, Trusting()) as url:
        with pytest.raises(ConfigError, match="API key"):
            async with Client.open(url, key="nonsense"):
                pass
    for bad in ("memory.db", "ftp://example.org", "http://", ""):
        with pytest.raises(InvalidInput, match="no URL of a service"):
            async with Client.open(bad):
                pass


async def test_a_closed_client_says_so(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (_, client):
        await client.close()
        with pytest.raises(StoreClosed):
            await client.sessions()


async def test_an_answer_comes_in_pieces_and_the_turn_is_told_at_its_end(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (memory, client):
        chat, turn = client.session(user="u", session="s"), Turn()
        pieces = [piece async for piece in chat.stream("hello there", turn=turn)]
        there = await memory.session(user="u", session="s", agent="default").messages()
        assert "".join(pieces).strip() == turn.text.strip() == (there[-1].content or "").strip()
        assert turn.receipt is not None
        assert turn.context is not None


async def test_who_walks_away_from_a_stream_leaves_what_came(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (memory, client):
        stream = client.session(user="u", session="s").stream("one two three four five six seven eight")
        await anext(stream)
        await stream.aclose()
        there = memory.session(user="u", session="s", agent="default")
        with anyio.fail_after(10):
            while len(found := await there.messages()) < 2:
                await anyio.sleep(0.02)
        assert [message.role for message in found] == ["user", "assistant"]


async def test_what_changes_is_told(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (memory, client):
        before = await client.mark(user="u")
        await memory.session(user="u", session="s", agent="default").add("user", "hello")
        with anyio.fail_after(10):
            async for change in client.changes(user="u", since=before):
                assert (change.kind, change.session) == (ChangeKind.MESSAGES, "s")
                break


async def test_what_is_known_is_tended_as_in_a_file(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (memory, client):
        fact = await client.facts.add("The user lives in Paris.", user="u")
        assert await memory.facts.get(fact.id, user="u") == fact
        assert (await client.facts.pin(fact.id, user="u")).pinned
        changed = await client.facts.edit(fact.id, user="u", content="The user lives in Lyon.")
        assert changed == await memory.facts.get(fact.id, user="u")
        assert await client.facts.history(fact.id, user="u") == await memory.facts.history(fact.id, user="u")
        await client.subjects.create("rex", user="u", name="Rex", members=["v"])
        about = await client.facts.add("Rex is a dog.", user="u", subject="rex")
        await client.facts.share(about.id, user="u")
        assert [each.id for each in await memory.facts.list(user="v")] == [about.id]
        assert list(await client.subjects.members("rex", user="u")) == ["u", "v"]
        await client.facts.delete(fact.id, user="u")
        assert [f.id for f in await client.facts.list(user="u", states=[*FactState])] == [about.id]


async def test_documents_and_the_notepad_are_kept_as_in_a_file(tmp_path: Path) -> None:
    async with of_u(tmp_path) as (memory, client):
        (tmp_path / "bread.md").write_text("# Bread\n\nBake at 220 degrees.", encoding="utf-8")
        document = await client.knowledge.add(path=tmp_path / "bread.md", user="u", metadata={"tags": ["food"]})
        assert await memory.knowledge.get(document.id, user="u") == await client.knowledge.get(document.id, user="u")
        asked = And(
            (Contains(Field.of("tags"), "food"), Not(Exists(Field.of("author"))), Not(Equals(Field.of("n"), 1)))
        )
        assert [each.id for each in await client.knowledge.list(user="u", where=asked)] == [document.id]
        assert await client.knowledge.delete(document.id, user="u")
        assert not await client.knowledge.delete(document.id, user="u")
        page = await client.notepad.edit("Likes bread.", user="u")
        assert await memory.notepad.show(user="u", agent="default") == page


async def test_a_memory_is_taken_along_rests_and_is_erased(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with of_u(tmp_path / "a") as (memory, client), opened(tmp_path / "b") as other:
        await client.session(user="u", session="s").add("user", "a line\u2028that is not two")
        copy = [line async for line in client.export()]
        assert copy == [line async for line in memory.export(user="u")]
        await other.restore(copy)
        assert await client.paused(user="u") is None
        since = await client.pause(user="u")
        assert await memory.paused(user="u") == since
        assert await client.resume(user="u")
        planned = await client.erase(user="u", dry_run=True)
        assert planned.counts["messages"] == 1
        await client.erase(user="u", session="s")
        assert list(await memory.sessions()) == []
        report = await client.restore(copy)
        assert report.erased == 1


async def test_the_blocking_client_does_the_same(tmp_path: Path) -> None:
    def talk(url: str) -> list[str]:
        with BlockingClient.open(url, key=key_of("u", TENANT)) as memory:
            chat = memory.session(user="u", session="s")
            chat.add("user", "hello")
            return [*chat.stream("and more"), *(row.key.session for row in memory.sessions())]

    async with opened(tmp_path, chat=ScriptedChat()) as memory, serving(memory) as url:
        *pieces, session = await anyio.to_thread.run_sync(talk, url)
        assert "".join(pieces).strip() == "You said: and more"
        assert session == "s"
