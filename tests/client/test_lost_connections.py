"""What is not known to have arrived is sent again where that is harmless, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.client.proxy import Proxy, between
from tests.client.serving import key_of, serving
from tests.memory.harness import opened
from tests.server.harness import TENANT

from anaphora.client import Client
from anaphora.domain.changes import ChangeKind
from anaphora.errors import CommitUnknown, StoreError
from anaphora.memory import Memory
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def shaky(folder: Path, patience: float = 10.0) -> AsyncIterator[tuple[Memory, Client, Proxy]]:
    async with (
        opened(folder, chat=ScriptedChat()) as memory,
        serving(memory) as url,
        between(url) as proxy,
        Client.open(proxy.url, key=key_of("u", TENANT), patience=patience) as client,
    ):
        yield memory, client, proxy


async def test_an_append_whose_answer_is_lost_is_sent_again_and_stored_once(tmp_path: Path) -> None:
    async with shaky(tmp_path) as (memory, client, proxy):
        chat = client.session(user="u", session="s")
        proxy.lose = 1
        receipt = await chat.add("user", "I'm allergic to peanuts.")
        proxy.lose = 1
        await chat.add_turn([{"role": "user", "content": "again"}])
        assert [m.content for m in await chat.messages()] == ["I'm allergic to peanuts.", "again"]
        assert (await memory.receipt(receipt.id)).value == "appended"
        assert proxy.lose == 0


async def test_a_question_whose_answer_is_lost_is_asked_again(tmp_path: Path) -> None:
    async with shaky(tmp_path) as (_, client, proxy):
        chat = client.session(user="u", session="s")
        await chat.add("user", "I'm allergic to peanuts.")
        proxy.lose = 1
        assert len(await chat.messages()) == 1
        proxy.lose = 1
        assert (await chat.context("what?")).messages


async def test_what_is_not_harmless_is_not_sent_again_and_the_error_says_that_it_may_be_done(tmp_path: Path) -> None:
    async with shaky(tmp_path) as (memory, client, proxy):
        chat = client.session(user="u", session="s")
        await chat.add("user", "one")
        for change in (chat.send("two"), chat.edit(0, "three"), client.facts.add("I live in Paris.", user="u")):
            proxy.lose = 1
            with pytest.raises(CommitUnknown, match="it may be done"):
                await change
        there = memory.session(user="u", session="s", agent="default")
        assert [m.content for m in await there.messages() if m.role == "user"] == ["three", "two"]
        assert len(await memory.facts.list(user="u")) == 1


async def test_a_stream_of_changes_that_is_lost_is_taken_up_where_it_ended(tmp_path: Path) -> None:
    async with shaky(tmp_path) as (memory, client, proxy):
        chat = memory.session(user="u", session="s", agent="default")
        await chat.add("user", "one")
        found = client.changes(user="u")
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(_say_until, chat, proxy)
                first = await anext(found)
                proxy.cut()
                second = await anext(found)
                group.cancel_scope.cancel()
        assert (first.kind, second.kind) == (ChangeKind.MESSAGES, ChangeKind.MESSAGES)
        assert first.mark != second.mark
        await found.aclose()


async def _say_until(chat: object, proxy: Proxy) -> None:
    del proxy
    while True:
        await chat.add("user", "more")  # type: ignore[attr-defined]
        await anyio.sleep(0.2)


async def test_a_service_that_comes_back_in_time_was_never_missed_and_one_that_does_not_is_named(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as memory:
        async with serving(memory) as url, Client.open(url, key=key_of("u", TENANT), patience=0.5) as client:
            assert list(await client.sessions()) == []
        with pytest.raises(StoreError, match=f"no service answers at {url}"):
            async with Client.open(url, key=key_of("u", TENANT), patience=0.3):
                pass
