from __future__ import annotations

from typing import Any

import anyio
import pytest

from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelOutputInvalid, ModelUnavailable
from anaphora.models.callable import CallableModel
from anaphora.ports.models import ChatModel

pytestmark = pytest.mark.anyio

SCHEMA = {"title": "answer", "type": "object"}
PROMPT = (
    PromptMessage(section=SectionName.INSTRUCTIONS, role=Role.SYSTEM, content="Be brief.", tokens=3),
    PromptMessage(section=SectionName.QUERY, role=Role.USER, content="What now?", tokens=3),
)


async def ask_nobody(messages: list[dict[str, Any]]) -> str:
    if "JSON schema" in messages[0]["content"]:
        return '```json\n{"number": 1}\n```'
    return ", ".join(f"{message['role']}: {message['content']}" for message in messages)


async def test_any_function_of_messages_is_a_model() -> None:
    chat: ChatModel = CallableModel("mine", ask_nobody)
    answer = await chat.complete(PROMPT, max_tokens=100, temperature=0)
    assert (answer.text, answer.model) == ("system: Be brief., user: What now?", "mine")
    assert [piece async for piece in chat.stream(PROMPT, max_tokens=100, temperature=0)] == [answer.text]


async def test_a_function_is_asked_for_json_in_words() -> None:
    answer = await CallableModel("mine", ask_nobody).complete(PROMPT, schema=SCHEMA, max_tokens=100, temperature=0)
    assert answer.text == '{"number": 1}'


async def hang(_: list[dict[str, Any]]) -> str:
    await anyio.sleep_forever()
    return ""


async def break_off(_: list[dict[str, Any]]) -> str:
    raise ConnectionResetError("gone")


async def say_nothing(_: list[dict[str, Any]]) -> str:
    return " \n"


@pytest.mark.parametrize(
    ("function", "kind"), [(hang, ModelUnavailable), (break_off, ModelUnavailable), (say_nothing, ModelOutputInvalid)]
)
async def test_a_function_that_fails_fails_like_a_model(function: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        await CallableModel("mine", function, timeout=0.05).complete(PROMPT, max_tokens=100, temperature=0)
