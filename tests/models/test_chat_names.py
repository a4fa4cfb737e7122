from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ConfigError
from anaphora.models.chat import PydanticAIChat
from anaphora.testing.model_server import ScriptedModelServer

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
NAME = "openai:scripted"
SCHEMA = {"title": "answer", "type": "object", "properties": {}, "additionalProperties": False}
PROMPT = (PromptMessage(section=SectionName.QUERY, role=Role.USER, content="What now?", tokens=3),)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(lambda _: '{"done": true}') as running:
        yield running


async def test_the_users_openai_key_is_not_sent_to_another_server(
    server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chat = PydanticAIChat.from_name(NAME, base_url=server.base_url)
    await chat.complete(PROMPT, max_tokens=100, temperature=0)
    await chat.aclose()
    assert KEY not in str(server.requests[0].headers)


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("openai:gpt-4.1-mini", {}, "set OPENAI_API_KEY"),
        ("azure:mine", {}, "set AZURE_OPENAI_ENDPOINT"),
        ("bedrock:nova", {}, r"pip install 'pydantic-ai-slim\[bedrock\]'"),
        ("gpt-4.1-mini", {}, "openai:gpt-4.1-mini"),
        ("openai:", {}, "openai:gpt-4.1-mini"),
        ("opnai:gpt-4.1-mini", {}, "opnai:gpt-4.1-mini names no known provider"),
        (NAME, {"base_url": "localhost:8000"}, "http://localhost:8000/v1"),
        (NAME, {"api_key": f"{KEY}\n"}, "API key"),
        ("deepseek:chat", {"api_key": KEY, "base_url": "http://127.0.0.1/v1"}, "takes no base_url"),
    ],
)
def test_a_name_that_cannot_work_says_what_to_do(name: str, options: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        PydanticAIChat.from_name(name, **options)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_ollama_is_looked_for_where_it_answers_by_default() -> None:
    chat = PydanticAIChat.from_name("ollama:llama3.2")
    assert str(chat._model.base_url).startswith("http://localhost:11434/v1")


def test_an_empty_key_in_the_environment_is_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        PydanticAIChat.from_name("openai:gpt-4.1-mini")


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-4.1-mini", "openai:gpt-5", "openai:o4-mini", "openai:qwen/qwen3-8b", "ollama:qwen3", "azure:mine"],
)
async def test_models_of_other_kinds_and_families_are_asked_without_a_warning(
    server: ScriptedModelServer, name: str
) -> None:
    chat = PydanticAIChat.from_name(name, base_url=server.base_url, api_key=KEY, timeout=30)
    for schema in (None, SCHEMA):
        assert (await chat.complete(PROMPT, schema=schema, max_tokens=100, temperature=0)).text
    assert server.requests[0].body["model"] == name.partition(":")[2]
    await chat.aclose()


async def test_openai_itself_is_asked_through_chat_completions(
    server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    chat = PydanticAIChat.from_name("openai:gpt-5", api_key=KEY, timeout=30)
    assert (await chat.complete(PROMPT, schema=SCHEMA, max_tokens=100, temperature=0)).text == '{"done": true}'
    await chat.aclose()
    (request,) = server.requests
    assert request.body["max_completion_tokens"] == 100
    assert request.body["reasoning_effort"] == "minimal"
    assert "temperature" not in request.body
