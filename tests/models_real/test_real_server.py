from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelUnavailable
from anaphora.models.chat import PydanticAIChat

pytestmark = [pytest.mark.anyio, pytest.mark.models]

NAME = "openai:smollm2-135m"
SCHEMA = {
    "title": "person",
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 40}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROMPT = (
    PromptMessage(section=SectionName.INSTRUCTIONS, role=Role.SYSTEM, content="Answer in one sentence.", tokens=8),
    PromptMessage(section=SectionName.QUERY, role=Role.USER, content="Alice is 31 years old. Who is she?", tokens=12),
)


@pytest.fixture
async def chat(real_model_url: str) -> AsyncIterator[PydanticAIChat]:
    model = PydanticAIChat.from_name(NAME, base_url=real_model_url, timeout=110)
    yield model
    await model.aclose()


async def test_a_real_model_answers_with_text_and_says_what_it_took(chat: PydanticAIChat) -> None:
    answer = await chat.complete(PROMPT, max_tokens=40, temperature=0)
    assert answer.text.strip()
    assert answer.input_tokens is not None
    assert answer.output_tokens is not None
    assert answer.output_tokens <= 40


async def test_a_real_model_keeps_to_a_schema_that_its_server_enforces(chat: PydanticAIChat) -> None:
    answer = await chat.complete(PROMPT, schema=SCHEMA, max_tokens=120, temperature=0)
    person = json.loads(answer.text)
    assert person.keys() == {"name", "age"}
    assert isinstance(person["age"], int)


async def test_a_real_model_streams_in_pieces(chat: PydanticAIChat) -> None:
    pieces = [piece async for piece in chat.stream(PROMPT, max_tokens=40, temperature=0)]
    assert len(pieces) > 1
    assert "".join(pieces).strip()


async def test_a_real_model_answers_again_after_a_stream_was_left(chat: PydanticAIChat) -> None:
    stream = chat.stream(PROMPT, max_tokens=400, temperature=0)
    await anext(stream)
    await stream.aclose()
    answer = await chat.complete(PROMPT, max_tokens=10, temperature=0)
    assert answer.text


async def test_a_real_model_that_is_given_no_time_is_unavailable(real_model_url: str) -> None:
    hurried = PydanticAIChat.from_name(NAME, base_url=real_model_url, timeout=0.001)
    with pytest.raises(ModelUnavailable):
        await hurried.complete(PROMPT, max_tokens=40, temperature=0)
    await hurried.aclose()
