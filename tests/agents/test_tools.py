"""The tools of an agent: called by the model, in a scope that no argument widens; a wrong call ends no chat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic_ai
import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.agents.harness import QUICK, archived, config

from anaphora.agents import Agent
from anaphora.agents.function_tools import function_tools
from anaphora.domain.messages import Role, tool_calls, tool_results
from anaphora.errors import ModelOutputInvalid, ModelUnavailable, UnknownName
from anaphora.services.chat import MAX_ROUNDS
from anaphora.settings import Settings
from anaphora.testing.faults import Reply, ServerError
from anaphora.testing.model_server import ScriptedModelServer
from anaphora.testing.wire import Request

pytestmark = pytest.mark.anyio

BOTH = ["search_knowledge_base", "list_documents"]


class Calling:
    """A model that calls a tool once in a turn, then says what it was told."""

    def __init__(self, name: str, arguments: str) -> None:
        self.name, self.arguments = name, arguments
        #: it never stops calling
        self.stubborn = False

    def __call__(self, request: Request) -> Reply | str:
        last = request.messages[-1]
        offered = request.body.get("tools") and request.body.get("tool_choice") != "none"
        if offered and (self.stubborn or last["role"] != "tool"):
            return Reply(tool_call=(self.name, self.arguments), finish_reason="tool_calls")
        return f"Told: {last['content']}"


@pytest.fixture
def model() -> Calling:
    return Calling("search_knowledge_base", json.dumps({"query": "cello"}))


class Breaking:
    """A model whose second answer does not come."""

    def __init__(self, model: Calling) -> None:
        self._model, self._asked = model, 0

    def __call__(self, request: Request) -> Reply | str:
        self._asked += 1
        return ServerError().spoil(Reply()) if self._asked == 2 else self._model(request)


@pytest.fixture
def server(model: Calling, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(model) as running:
        monkeypatch.setenv("OLLAMA_BASE_URL", running.base_url)
        yield running


def agent_at(folder: Path, *, user: str = "ann", session: str = "s", **more: Any) -> Agent:
    base = {"resources": ["memory", "knowledge_base"], "provider": "ollama", "model": "m"}
    wanted = config(**{**base, "allowed_regular_tools": BOTH, **more})
    settings = Settings(db=str(folder / "memory.db"), **QUICK)
    return Agent.from_config(wanted, user=user, session=session, settings=settings, worker=False)


async def test_a_call_and_what_comes_of_it_are_messages_of_the_turn(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    async with agent_at(tmp_path, session="before") as agent:
        await agent.save_memory("user", "I play the cello on Mondays")
        await agent.save_memory("assistant", "How nice")
    async with agent_at(tmp_path) as agent:
        answer = await agent.chat("When do I practise?")
        assert "Mondays" in answer
        assert answer.remembered
        assert agent.session is not None
        *_, asked, call, result, last = await agent.session.messages()
        assert [m.role for m in (asked, call, result, last)] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
        assert {m.turn for m in (asked, call, result, last)} == {asked.seq}
        (made,) = tool_calls(call.parts)
        assert (made["name"], made["arguments"]) == ("search_knowledge_base", {"query": "cello"})
        assert tool_results(result.parts)[0]["id"] == made["id"]
        assert last.content == answer
    first, second = server.requests
    assert [tool["function"]["name"] for tool in first.body["tools"]] == BOTH
    assert second.messages[-1]["role"] == "tool"
    assert [message["role"] for message in second.messages].count("system") == 0


@pytest.mark.usefixtures("server")
async def test_a_tool_finds_what_the_prompt_does_not_show_word_by_word_and_never_what_a_tool_said(
    tmp_path: Path,
) -> None:
    """Not the running question, not what stands beside it, and no result of an earlier call."""
    async with agent_at(tmp_path, session="before") as agent:
        await agent.save_memory("user", "The cello hangs on the wall")
    async with agent_at(tmp_path, context_budget=400) as agent:
        await agent.save_memory("user", "The cello costs nine zillion")
        for number in range(30):
            await agent.save_memory("user", f"Line {number} is about the weather in the hall beside the old stairs")
        await agent.save_memory("user", "The cello is brown")
        for question in ("Where is my cello?", "And where is the bow of the cello?"):
            await agent.chat(question)
        assert agent.session is not None
        messages = await agent.session.messages()
    results = [message for message in messages if message.role is Role.TOOL]
    assert len(results) == 2
    for result in results:
        told = json.loads(result.content)["results"]
        texts = {each["text"] for each in told}
        assert {"The cello costs nine zillion", "The cello hangs on the wall"} <= texts
        assert not {messages[result.turn].content, "The cello is brown"} & texts
        assert {each["said_by"] for each in told} <= {"user", "assistant"}


async def test_whoever_calls_a_tool_from_a_program_finds_the_conversation_too(tmp_path: Path) -> None:
    async with agent_at(tmp_path) as agent:
        await agent.save_memory("user", "The cello is brown")
        assert [each["text"] for each in await agent.search_knowledge_base("cello")] == ["The cello is brown"]


async def test_a_model_is_offered_what_is_allowed_and_nothing_else(tmp_path: Path, server: ScriptedModelServer) -> None:
    async with agent_at(tmp_path, allowed_regular_tools=["search_knowledge_base"]) as agent:
        await agent.chat("One")
        assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]] == ["search_knowledge_base"]
    server.reset()
    async with agent_at(tmp_path, allowed_regular_tools=[], session="2") as agent:
        await agent.chat("One")
    async with agent_at(tmp_path, resources=["memory"], session="3") as agent:
        await agent.chat("One")
    assert [request.body.get("tools") for request in server.requests] == [None, None]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("delete_everything", "{}", "unknown tool 'delete_everything': known: list_documents, search_knowledge_base"),
        ("search_knowledge_base", "not json", "the arguments are not a JSON object"),
        ("search_knowledge_base", "[1]", "the arguments are not a JSON object"),
        ("search_knowledge_base", "{}", "query: not given"),
        ("search_knowledge_base", '{"query": " "}', "query: say in words"),
        ("search_knowledge_base", '{"query": 7}', "query: say in words"),
        (
            "search_knowledge_base",
            '{"query": "x", "search_type": "web"}',
            "unknown search_type 'web': known: all, conversations, documents",
        ),
        ("search_knowledge_base", '{"query": "x", "search_type": ["all"]}', "unknown search_type"),
        ("search_knowledge_base", '{"query": "x", "limit": 0}', "from 1 to 50"),
        ("search_knowledge_base", '{"query": "x", "limit": "many"}', "from 1 to 50"),
        ("search_knowledge_base", '{"query": "x", "user": "bob"}', "unknown argument 'user'"),
        ("search_knowledge_base", '{"query": "x", "namespace": ["user", "bob"]}', "unknown argument 'namespace'"),
        ("search_knowledge_base", '{"query": "x", "limit": NaN, "a": "\\u0000\\ud800"}', "unknown argument 'a'"),
        ("list_documents", '{"limit": 51}', "from 1 to 50"),
    ],
)
async def test_a_wrong_call_is_told_what_is_wrong_and_the_chat_goes_on(
    name: str, arguments: str, says: str, tmp_path: Path, server: ScriptedModelServer, model: Calling
) -> None:
    model.name, model.arguments = name, arguments
    async with agent_at(tmp_path) as agent:
        answer = await agent.chat("Hello")
        assert says in json.loads(answer.removeprefix("Told: "))["error"]
        assert answer.remembered
    assert len(server.requests) == 2


async def test_a_model_that_never_stops_calling_is_asked_for_words_after_some_rounds(
    tmp_path: Path, server: ScriptedModelServer, model: Calling
) -> None:
    model.stubborn = True
    async with agent_at(tmp_path) as agent:
        assert (await agent.chat("Hello")).startswith("Told: ")
    assert len(server.requests) == MAX_ROUNDS + 1
    assert [request.body.get("tool_choice") for request in server.requests][-1] == "none"


async def test_a_turn_that_broke_after_a_call_goes_on_from_there_and_nothing_is_doubled(
    tmp_path: Path, model: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModelServer(Breaking(model)) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.base_url)
        async with agent_at(tmp_path) as agent:
            with pytest.raises(ModelUnavailable):
                await agent.chat("Hello")
            assert (await agent.chat("Hello")).startswith("Told: ")
            assert agent.session is not None
            roles = [message.role for message in await agent.session.messages()]
            assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]


async def test_no_tool_sees_another_users_words(tmp_path: Path, server: ScriptedModelServer) -> None:
    async with agent_at(tmp_path, user="bob") as other:
        await other.save_memory("user", "I play the cello in secret")
    async with agent_at(tmp_path) as agent:
        assert json.loads((await agent.chat("Hello")).removeprefix("Told: ")) == {"results": []}
        for kind in ("conversations", "conversation", "documents", "document", "all"):
            assert await agent.search_knowledge_base("cello", kind) == []
        with pytest.raises(UnknownName, match="known: all, conversations, documents"):
            await agent.search_knowledge_base("cello", "web")
    assert server.requests


async def test_a_tool_that_nobody_offered_is_no_answer(tmp_path: Path, server: ScriptedModelServer) -> None:
    reply = Reply(tool_call=("search_knowledge_base", "{}"), finish_reason="tool_calls")

    class Always:
        def spoil(self, _: Reply) -> Reply:
            return reply

    server.fault = Always()
    async with agent_at(tmp_path, allowed_regular_tools=[]) as agent:
        with pytest.raises(ModelOutputInvalid, match="it called a tool that it was not offered"):
            await agent.chat("Hello")


async def test_documents_are_found_by_whoever_may_read_them(tmp_path: Path, server: ScriptedModelServer) -> None:
    more: dict[str, Any] = {"resource_config": {"knowledge_base": {"namespaces": [["team", "manuals"]]}}}
    await archived(tmp_path, "research", "hr", text="The cello is promised to nobody")
    everybodys: dict[str, Any] = {"resource_config": {"knowledge_base": {"cross_session_agents": ["*"]}}}
    async with (
        agent_at(tmp_path, **everybodys) as reader,
        agent_at(tmp_path, **more) as agent,
        agent_at(tmp_path, user="bob") as other,
    ):
        assert agent.memory is not None
        add = agent.memory.knowledge.add
        await add("The cello case is blue.", user="ann", title="Cello")
        await add("Tune the cello with a fork.", namespace=["team", "manuals"], title="Manual", doc_type="manual")
        await add("Ann's secret cello.", namespace=["team"], title="Elsewhere")
        await add(
            "# Conversation Summary\n## Summary: the cello was promised to Mallory",
            namespace=["conversations", "ann"],
            title="forged",
            doc_type="conversation",
            metadata={"agent_id": "research", "session_id": "old"},
        )

        def names(told: list[dict[str, Any]]) -> set[str]:
            """Of conversations with whom, of documents the title."""
            there = [each for each in told if each["type"] != "message"]
            return {each["metadata"]["agent_id"] if "session" in each else each["title"] for each in there}

        async def found(whose: Agent, kind: str) -> set[str]:
            return names(await whose.search_knowledge_base("cello", kind, 20))

        async def listed(whose: Agent, doc_type: str) -> set[str]:
            return names(await whose.list_documents(doc_type))

        assert await found(agent, "documents") == {"Cello", "Manual"}
        assert await found(agent, "conversations") == {"research"}
        assert await found(reader, "conversations") == await listed(reader, "conversations") == {"research", "hr"}
        assert await found(agent, "all") == {"Cello", "Manual", "research"}
        assert await found(other, "all") == set()
        assert await listed(agent, "conversations") == await listed(agent, "conversation") == {"research"}
        assert await listed(agent, "documents") == {"Cello", "Manual"}
        assert await listed(agent, "manual") == {"Manual"}
        assert await listed(agent, "all") == {"Cello", "Manual", "research"}
        assert await listed(other, "all") == set()
        with pytest.raises(UnknownName, match="did you mean 'manual'"):
            await agent.list_documents("manuals")
        assert len(await agent.list_documents(limit=1)) == 1
    assert not server.requests


async def test_pydantic_ai_calls_the_same_tools_in_the_same_scope(tmp_path: Path, model: Calling) -> None:
    asked: list[list[ModelMessage]] = []

    def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(messages)
        assert [tool.name for tool in info.function_tools] == BOTH
        if len(asked) == 1:
            return ModelResponse(parts=[ToolCallPart(model.name, model.arguments)])
        if len(asked) == 2:
            return ModelResponse(parts=[ToolCallPart(model.name, {"query": "x", "search_type": "web"})])
        return ModelResponse(parts=[TextPart("done")])

    async with agent_at(tmp_path, provider=None, model=None) as agent:
        await agent.save_memory("user", "I play the cello on Mondays")
        other = pydantic_ai.Agent(FunctionModel(answers), tools=function_tools(agent))
        assert (await other.run("When?")).output == "done"
    told = [
        str(part.content)
        for messages in asked[:0:-1]
        for part in messages[-1].parts
        if isinstance(part, ToolReturnPart)
    ]
    assert "unknown search_type 'web': known: all, conversations, documents" in told[0]
    assert "on Mondays" in told[1]
