"""Every usage snippet and example that seed 001 prints, run as printed but for the place that it imports from."""

from __future__ import annotations

import ast
import inspect
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents import printed
from tests.databases.chosen import POSTGRES, SQLITE, database, on

from anaphora.agents import Agent
from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.prompts import structured_summary
from anaphora.testing.embeddings import by_topics
from anaphora.testing.model_server import ScriptedModelServer
from anaphora.testing.scripted import faithful
from anaphora.testing.wire import Request

pytestmark = pytest.mark.anyio

THERE, HERE = "from app.core.agents.api_agent import", "from anaphora.agents import Agent as"


def script(request: Request) -> str:
    """A model that summarises faithfully, and else says what it was told last."""
    if request.native_schema is None:
        return f"You said: {request.last_user_text}"
    schema = {**request.native_schema["schema"], "title": request.schema_title}
    text = str(request.messages[-1]["content"])
    if "JWT" in text and request.schema_title == structured_summary.TITLE:
        decided = {"decisions": [{"text": "Use JWT tokens with 1-hour expiration", "n": 2}]}
        return json.dumps({**json.loads(faithful(_asked(text), schema)), **decided})
    return faithful(_asked(text), schema)


def _asked(text: str) -> list[PromptMessage]:
    return [PromptMessage(section=SectionName.QUERY, role=Role.USER, content=text, tokens=0)]


@pytest.fixture(params=[SQLITE, POSTGRES])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    with on(request.param):
        yield request.param


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(script, embed=by_topics({"security": ["authentication", "JWT", "tokens"]})) as running:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", running.base_url)
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "hunter2")
        yield running


@pytest.fixture
async def folder(kind: str, server: ScriptedModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    """Where an application would keep its agents; the database of the test is the configured one."""
    monkeypatch.chdir(tmp_path)
    for name, value in (await database(tmp_path)).items():
        monkeypatch.setenv(f"ANAPHORA_{name.upper()}", value)
    monkeypatch.setenv("ANAPHORA_ENCODING", "cl100k_base")  # read in half the time
    (tmp_path / "agents").mkdir()
    return tmp_path / "agents"


def install(folder: Path, text: str, agent_id: str, **more: Any) -> None:
    """Keep a printed configuration under another id: examples name agents whose files are not printed."""
    wanted = {**json.loads(text), "agent_id": agent_id, **more}
    (folder / f"{agent_id}.json").write_text(json.dumps(wanted), encoding="utf-8")


async def run(code: str, **names: Any) -> dict[str, Any]:
    """Run a printed example; its names."""
    namespace: dict[str, Any] = {"APIAgent": Agent, **names}
    compiled = compile(code.replace(THERE, HERE), "printed", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = types.FunctionType(compiled, namespace)()
    if inspect.iscoroutine(result):
        await result
    return namespace


def prompts(server: ScriptedModelServer) -> list[str]:
    """The prompts that were to be answered, as one text each."""
    return [json.dumps(list(asked.messages)) for asked in server.requests if asked.native_schema is None]


async def test_the_basic_example_remembers_the_name(folder: Path, server: ScriptedModelServer) -> None:
    install(folder, printed.BASIC, "memory_agent")
    done = await run(printed.BASIC_EXAMPLE)
    assert done["response2"] == "You said: What's my name?"
    assert "My name is Alice" in prompts(server)[1]


async def test_loading_saving_and_clearing_as_printed(folder: Path) -> None:
    install(folder, printed.BASIC, "memory_agent")
    async with Agent("memory_agent", "user123", "session456") as agent:
        saved = await run(printed.SAVING, agent=agent, user_message="Hello")
        loaded = await run(printed.LOADING, agent=agent)
        assert loaded["conversation_history"] == [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": saved["response"]},
        ]
        assert (await run(printed.CLEARING, agent=agent))["count"] == 2
        assert (await run(printed.LOADING, agent=agent))["conversation_history"] == []


async def test_the_tools_as_printed(folder: Path) -> None:
    install(folder, printed.ARCHIVAL, "knowledge_agent")
    async with Agent("knowledge_agent", "user123", "s") as agent:
        names = {"search_knowledge_base": agent.search_knowledge_base, "list_documents": agent.list_documents}
        await agent.save_memory("user", "The authentication discussion is on Monday")
        await run(printed.TOOLS, **names)
        (found,) = await agent.search_knowledge_base("authentication discussion", "conversations")
        assert found["text"] == "The authentication discussion is on Monday"


async def test_a_long_conversation_is_compressed_as_the_example_says(folder: Path) -> None:
    install(folder, json.dumps(_config_of(printed.COMPRESSION_EXAMPLE, "agent_config")), "research_agent")
    done = await run(printed.COMPRESSION_EXAMPLE)
    agent: Agent = done["agent"]
    assert agent.config.compression.threshold_tokens == 5000
    assert agent.session is not None
    assert len(await agent.session.messages()) == 40
    await agent.cleanup()


async def test_the_second_session_is_told_what_the_first_decided(folder: Path, server: ScriptedModelServer) -> None:
    install(folder, printed.ARCHIVAL, "knowledge_agent")
    await run(printed.CROSS_SESSION_EXAMPLE)
    (asked, *_) = [request for request in reversed(server.requests) if request.native_schema is None]
    (told,) = [each["content"] for each in asked.messages if "Summaries of earlier conversations" in each["content"]]
    assert "Use JWT tokens with 1-hour expiration" in told
    assert "session1" in told
    assert [each["role"] for each in asked.messages].count("system") == 0
    async with Agent("knowledge_agent", "user123", "session3") as agent:
        assert agent.memory is not None
        (first, *_) = [each for each in await agent.list_documents("conversations") if each["session"] == "session1"]
        (kept,) = await agent.memory.knowledge.list(
            namespace=["conversations", "user123"], where='session_id = "session1"'
        )
        printed_document = ast.literal_eval(printed.ARCHIVED)
        assert first["id"] == str(kept.id)
        assert set(kept.metadata) == set(printed_document["metadata"])
        assert (kept.doc_type, kept.metadata["decisions_made"]) == (
            printed_document["doc_type"],
            ["Use JWT tokens with 1-hour expiration"],
        )


async def test_without_recall_across_sessions_nothing_of_another_session_is_shown(
    folder: Path, server: ScriptedModelServer
) -> None:
    quiet = json.loads(printed.ARCHIVAL)
    quiet["resource_config"]["knowledge_base"]["enable_cross_session_context"] = False
    install(folder, json.dumps(quiet), "knowledge_agent")
    await run(printed.CROSS_SESSION_EXAMPLE)
    assert "JWT" not in prompts(server)[-1]


async def test_the_custom_configuration_is_used(folder: Path) -> None:
    install(folder, json.dumps(_config_of(printed.CUSTOM_EXAMPLE, "memory_config")), "custom_agent")
    agent: Agent = (await run(printed.CUSTOM_EXAMPLE))["agent"]
    assert agent.config.compression.recent_messages_to_keep == 15
    await agent.cleanup()


def _config_of(code: str, name: str) -> Any:
    """The value of a name that an example assigns."""
    for node in ast.parse(code, mode="exec").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return {**ast.literal_eval(node.value), "provider": "azure_openai_cc", "model": "gpt-4o-mini"}
    raise AssertionError(name)
