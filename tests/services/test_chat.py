"""A whole turn: the question is on disk before anybody is asked, the answer when it is there, and no call is lost."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.memory.harness import brief, check_account, conversation, opened, say

from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import (
    BudgetTooSmall,
    ConfigError,
    InvalidInput,
    KeyReused,
    ModelError,
    ModelOutputInvalid,
    ModelUnavailable,
)
from anaphora.memory import Session
from anaphora.services.chat import Turn
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

Script = Callable[[Sequence[PromptMessage], Mapping[str, Any] | None], str]


def says(answer: str) -> Script:
    return lambda _messages, _schema: answer


def fails(error: ModelError) -> Script:
    def script(*_: object) -> str:
        raise error

    return script


async def log_of(session: Session) -> list[tuple[str, str]]:
    return [(m.role.value, m.content.strip()) for m in await session.messages()]


async def test_a_turn_is_the_question_the_prompt_and_the_answer(tmp_path: Path) -> None:
    chat = ScriptedChat(says("Tea."))
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory, instructions="Be kind.")
        answer = await session.send("Tea or coffee?")
        assert await log_of(session) == [("user", "Tea or coffee?"), ("assistant", "Tea.")]
        assert str(answer).strip() == "Tea."
        assert answer.receipt.seq == 1
        assert chat.prompts == [answer.context.messages]
        assert [m.content for m in answer.context.messages] == ["Be kind.", "Tea or coffee?"]
        assert {m.source for m in await session.messages()} == {"chat"}
        assert {m.turn for m in await session.messages()} == {0}


async def test_the_question_is_on_disk_before_the_model_is_asked(tmp_path: Path) -> None:
    chat = ScriptedChat(says("Tea."))
    seen = []
    async with opened(tmp_path, chat=chat) as memory, opened(tmp_path) as other:

        async def look() -> None:
            seen.extend(await log_of(conversation(other)))

        chat.pause = look
        await conversation(memory).send("Tea or coffee?")
    assert seen == [("user", "Tea or coffee?")]


async def test_without_a_model_nothing_is_stored_and_the_line_says_what_to_set(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        with pytest.raises(ConfigError, match="set `model`"):
            await session.send("hello")
        assert await session.messages() == ()


async def test_what_was_said_before_is_recalled_without_a_model(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        old, new = conversation(memory), conversation(memory, session="new")
        await old.add("user", "My violin teacher is Mrs Okafor.")
        await new.add("user", "Who is my violin teacher?")
        (hit,) = await new.recall("Who is my violin teacher?")
        assert hit.message.content == "My violin teacher is Mrs Okafor."


@pytest.mark.parametrize("answered", [False, True])
async def test_a_question_that_is_sent_brings_back_what_was_said_before(tmp_path: Path, answered: bool) -> None:
    chat = ScriptedChat(says("Mrs Okafor.") if answered else fails(ModelUnavailable("no answer")))
    async with opened(tmp_path, chat=chat) as memory:
        old, new = conversation(memory), conversation(memory, session="new")
        await old.add("user", "My violin teacher is Mrs Okafor.")
        if not answered:
            with pytest.raises(ModelUnavailable):
                await new.send("Who is my violin teacher?")
            chat.script = says("Mrs Okafor.")
        answer = await new.send("Who is my violin teacher?" if answered else None)
        (found,) = [m for m in answer.context.messages if m.section is SectionName.RELEVANT]
        assert "My violin teacher is Mrs Okafor." in found.content
        assert [m.content for m in answer.context.messages].count("Who is my violin teacher?") == 1
        assert answer.context.coverage.counts()["verbatim"] == 1


async def test_a_model_that_fails_leaves_a_question_that_can_be_answered_again(tmp_path: Path) -> None:
    chat = ScriptedChat(fails(ModelUnavailable("no answer")))
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        with pytest.raises(ModelUnavailable):
            await session.send("Tea or coffee?", key="k")
        assert await log_of(session) == [("user", "Tea or coffee?")]
        chat.script = says("Tea.")
        await session.send(None)
        assert await log_of(session) == [("user", "Tea or coffee?"), ("assistant", "Tea.")]
        assert [m.content for m in chat.prompts[-1]] == ["Tea or coffee?"]
        with pytest.raises(InvalidInput, match="no unanswered"):
            await session.send(None)


async def test_a_retry_with_the_same_key_after_a_failure_does_not_double_the_question(tmp_path: Path) -> None:
    chat = ScriptedChat(fails(ModelUnavailable("no answer")))
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        with pytest.raises(ModelUnavailable):
            await session.send("Tea or coffee?", key="k")
        chat.script = says("Tea.")
        await session.send("Tea or coffee?", key="k")
        assert await log_of(session) == [("user", "Tea or coffee?"), ("assistant", "Tea.")]
        with pytest.raises(KeyReused):
            await session.send("Something else?", key="k")


@pytest.mark.parametrize("answer", ["", " \n"])
async def test_an_empty_answer_is_an_error_and_is_not_stored(tmp_path: Path, answer: str) -> None:
    async with opened(tmp_path, chat=ScriptedChat(says(answer))) as memory:
        session = conversation(memory)
        with pytest.raises(ModelOutputInvalid, match="empty"):
            await session.send("hello")
        assert await log_of(session) == [("user", "hello")]


async def test_nothing_to_answer_is_an_error(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat()) as memory:
        with pytest.raises(InvalidInput, match="no unanswered"):
            await conversation(memory).send(None)
        with pytest.raises(InvalidInput):
            await conversation(memory).send("")
        assert await memory.sessions() == []


async def test_an_answer_comes_in_pieces_and_is_stored_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(says("one two three"))) as memory:
        session, turn = conversation(memory), Turn()
        pieces = []
        async for piece in session.stream("count", turn=turn):
            pieces.append(piece)
            assert len(await session.messages()) == 1
        assert [p.strip() for p in pieces] == ["one", "two", "three"]
        assert await log_of(session) == [("user", "count"), ("assistant", "one two three")]
        assert turn.receipt is not None
        assert turn.receipt.seq == 1


async def _stop_listening(session: Session) -> None:
    async with aclosing(session.stream("count")) as pieces:
        async for _ in pieces:
            break


async def _be_cancelled(session: Session) -> None:
    with anyio.CancelScope() as scope:
        async with aclosing(session.stream("count")) as pieces:
            async for _ in pieces:
                scope.cancel()
                await anyio.lowlevel.checkpoint()


async def _walk_away(session: Session) -> None:
    """As people do: the stream is left where it is, and Python closes it in a task of its own."""
    async for _ in session.stream("count"):
        break
    gc.collect()
    with anyio.fail_after(10):
        while len(await session.messages()) < 2:
            await anyio.sleep(0.01)


@pytest.mark.parametrize("interrupt", [_stop_listening, _be_cancelled, _walk_away])
async def test_an_interrupted_answer_is_stored_as_far_as_it_came_and_marked(tmp_path: Path, interrupt: Any) -> None:
    chat = ScriptedChat(says("one two three"))
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        await interrupt(session)
        asked, answer = await session.messages()
        assert (answer.content.strip(), answer.metadata) == ("one", {"interrupted": True})
        assert asked.metadata == {}

        with anyio.fail_after(5):
            await session.send(None)
        assert [m.content for m in chat.prompts[-1] if m.role == "user"] == ["count", "count"]
        assert await log_of(session) == [("user", "count"), ("assistant", "one"), ("assistant", "one two three")]
        assert {m.turn for m in await session.messages()} == {0}


async def test_a_budget_too_small_is_found_before_a_model_is_asked(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat) as memory:
        with pytest.raises(BudgetTooSmall):
            await conversation(memory).send("hello", budget=10)
        assert chat.prompts == []


async def test_a_long_talk_keeps_every_prompt_small_and_accounted_for(tmp_path: Path) -> None:
    """Send after send, with the worker between: the conversation that runs."""
    replies = iter(range(1, 10_000, 2))

    def talk(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        return brief(messages, schema) if schema else f"#{next(replies)}# is what I say"

    async with opened(tmp_path, chat=ScriptedChat(talk)) as memory:
        session = conversation(memory)
        sizes = []
        for turn in range(60):
            answer = await session.send(f"#{2 * turn}# is what I ask")
            check_account(answer.context, 2 * turn + 1)
            assert answer.receipt.seq == 2 * turn + 1
            sizes.append(answer.context.tokens)
            await memory.work()
        summary, heading, verbatim = 150, 60, 16 * 12
        assert max(sizes) <= summary + heading + verbatim
        assert answer.context.tokens < answer.context.tokens_full_history / 3


async def test_other_sessions_are_not_held_up_by_an_answer(tmp_path: Path) -> None:
    chat = ScriptedChat(says("Tea."))
    asked, free = anyio.Event(), anyio.Event()

    async def think() -> None:
        asked.set()
        await free.wait()

    chat.pause = think
    async with opened(tmp_path, chat=chat) as memory, anyio.create_task_group() as group:
        group.start_soon(conversation(memory).send, "Tea?")
        await asked.wait()
        with anyio.fail_after(10):
            await say(conversation(memory, session="s2"), 4)
            await conversation(memory).context()
        free.set()


async def test_a_retry_with_the_same_key_after_a_success_gives_the_answer_that_is_there(tmp_path: Path) -> None:
    """I14: the model is not asked again, and nothing is stored twice."""
    chat = ScriptedChat(says("Tea."))
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        first = await session.send("Tea or coffee?", key="k")
        await say(session, 2, start=2)
        again = await session.send("Tea or coffee?", key="k")
        assert len(chat.prompts) == 1
        assert again.text == first.text
        assert again.context == first.context
        assert (again.receipt.id, again.receipt.range, again.receipt.repeated) == (
            first.receipt.id,
            first.receipt.range,
            True,
        )
        assert len(await session.messages()) == 4


async def test_a_retry_whose_answer_was_deleted_asks_again(tmp_path: Path) -> None:
    chat = ScriptedChat(says("Tea."))
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        await session.send("Tea or coffee?", key="k")
        await session.delete(1)
        chat.script = says("Coffee.")
        assert (await session.send("Tea or coffee?", key="k")).text.strip() == "Coffee."
        assert await log_of(session) == [("user", "Tea or coffee?"), ("assistant", "Coffee.")]
