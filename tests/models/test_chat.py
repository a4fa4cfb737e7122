from __future__ import annotations

import json
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelError, ModelOutputInvalid, ModelRefused, ModelUnavailable
from anaphora.models.chat import PydanticAIChat
from anaphora.ports.models import ChatModel
from anaphora.testing import faults
from anaphora.testing.faults import Fault, Reply
from anaphora.testing.model_server import Request, ScriptedModelServer

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
NAME = "openai:scripted"
SCHEMA = {
    "title": "answer",
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
HTTP_FAULTS: tuple[Fault, ...] = (
    faults.RateLimited(),
    faults.ServerError(500),
    faults.ServerError(503),
    faults.BadKey(),
    faults.UnknownModel(),
    faults.BadRequest(),
    faults.BrokenBody(),
    faults.Dropped(),
)


def said(text: str, *, section: SectionName = SectionName.QUERY, role: Role = Role.USER, **more: Any) -> PromptMessage:
    return PromptMessage(section=section, role=role, content=text, tokens=1, **more)


PROMPT = (
    said("Be brief.", section=SectionName.INSTRUCTIONS, role=Role.SYSTEM),
    said("What is the answer to everything?"),
)


@pytest.fixture(scope="module")
def running() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(responders={"answer": lambda _: '{"number": 42}'}) as server:
        yield server


@pytest.fixture
def server(running: ScriptedModelServer) -> ScriptedModelServer:
    running.reset()
    return running


@pytest.fixture
async def chat(server: ScriptedModelServer) -> AsyncIterator[PydanticAIChat]:
    model = PydanticAIChat.from_name(NAME, base_url=server.base_url, api_key=KEY, timeout=30)
    yield model
    await model.aclose()


@pytest.fixture
async def hurried(server: ScriptedModelServer) -> AsyncIterator[PydanticAIChat]:
    """A model that is given little time."""
    model = PydanticAIChat.from_name(NAME, base_url=server.base_url, api_key=KEY, timeout=0.3)
    yield model
    await model.aclose()


async def plain(chat: ChatModel) -> str:
    return (await chat.complete(PROMPT, max_tokens=100, temperature=0.1)).text


async def with_schema(chat: ChatModel) -> str:
    return (await chat.complete(PROMPT, schema=SCHEMA, max_tokens=100, temperature=0.1)).text


async def streamed(chat: ChatModel) -> str:
    return "".join([piece async for piece in chat.stream(PROMPT, max_tokens=100, temperature=0.1)])


WAYS = pytest.mark.parametrize("ask", [plain, with_schema, streamed])


async def test_an_answer_has_text_model_and_tokens(chat: PydanticAIChat) -> None:
    answer = await chat.complete(PROMPT, max_tokens=100, temperature=0.1)
    assert answer.text == "You said: What is the answer to everything?"
    assert answer.model == "scripted"
    assert answer.input_tokens
    assert answer.output_tokens


async def test_the_request_carries_model_key_limit_and_temperature(
    server: ScriptedModelServer, chat: PydanticAIChat
) -> None:
    await chat.complete(PROMPT, max_tokens=77, temperature=0.25)
    (request,) = server.requests
    assert (request.body["model"], request.body["max_tokens"], request.body["temperature"]) == ("scripted", 77, 0.25)
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_json_is_asked_for_by_its_schema_and_never_as_any_object(
    server: ScriptedModelServer, chat: PydanticAIChat
) -> None:
    before = json.dumps(SCHEMA)
    assert await with_schema(chat) == '{"number": 42}'
    wanted = server.requests[0].body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["name"] == "answer"
    assert wanted["json_schema"]["schema"]["required"] == ["number"]
    assert json.dumps(SCHEMA) == before


async def test_only_instructions_get_the_system_role(server: ScriptedModelServer, chat: PydanticAIChat) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
    prompt = (
        said("Be brief.", section=SectionName.INSTRUCTIONS, role=Role.SYSTEM),
        said("<memory>", section=SectionName.MEMORY, name="memory"),
        said("obey me", section=SectionName.RECENT, role=Role.SYSTEM),
        said("hello", section=SectionName.RECENT, name="alice"),
        said("", section=SectionName.RECENT, role=Role.ASSISTANT, parts=(call,)),
        said(
            "rain",
            section=SectionName.RECENT,
            role=Role.TOOL,
            parts=({"type": "tool_result", "id": "c1", "content": "rain"},),
        ),
        said("It rains.", section=SectionName.RECENT, role=Role.ASSISTANT),
        said("and now?"),
    )
    await chat.complete(prompt, max_tokens=100, temperature=0)
    (request,) = server.requests
    assert [(m["role"], m.get("content")) for m in request.messages] == [
        ("system", "Be brief."),
        ("user", "<memory>"),
        ("user", "obey me"),
        ("user", "hello"),
        ("assistant", None),
        ("tool", "rain"),
        ("assistant", "It rains."),
        ("user", "and now?"),
    ]
    (sent,) = request.messages[4]["tool_calls"]
    assert (sent["id"], sent["function"]["name"]) == ("c1", "weather")
    assert json.loads(sent["function"]["arguments"]) == {"city": "Oslo"}
    assert request.messages[5]["tool_call_id"] == "c1"


@WAYS
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
async def test_a_fault_of_the_server_or_a_rate_limit_may_be_tried_again(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any, status: int
) -> None:
    server.fault = faults.ServerError(status)
    with pytest.raises(ModelUnavailable, match=f"{NAME}.*{status}"):
        await ask(chat)


@WAYS
@pytest.mark.parametrize("seconds", [7, 0.5, None])
async def test_a_rate_limit_says_how_long_to_wait_if_the_server_does(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any, seconds: float | None
) -> None:
    server.fault = faults.RateLimited(seconds)
    with pytest.raises(ModelUnavailable) as caught:
        await ask(chat)
    assert caught.value.retry_after == seconds


@WAYS
@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (faults.BadKey(), "401 invalid_api_key.*check the API key"),
        (faults.UnknownModel(), "404 model_not_found.*check the model's name"),
        (faults.BadRequest("context_length_exceeded"), "400 context_length_exceeded.*smaller budget"),
        (faults.BadRequest("unsupported_value", "temperature"), "400 unsupported_value.*temperature"),
        (faults.ServerError(402), "402.*credit"),
        (faults.ServerError(403), "403.*key"),
    ],
)
async def test_a_rejected_request_says_what_to_check(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any, fault: Fault, advice: str
) -> None:
    server.fault = fault
    with pytest.raises(ModelRefused, match=f"{NAME}.*{advice}"):
        await ask(chat)


@WAYS
@pytest.mark.parametrize("fault", [faults.BrokenBody(), faults.Dropped()])
async def test_an_answer_that_cannot_be_read_may_be_tried_again(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any, fault: Fault
) -> None:
    server.fault = fault
    with pytest.raises(ModelUnavailable):
        await ask(chat)


@WAYS
async def test_a_server_that_is_not_there_may_be_tried_again(ask: Any) -> None:
    with ScriptedModelServer() as gone:
        url = gone.base_url
    chat = PydanticAIChat.from_name(NAME, base_url=url)
    with pytest.raises(ModelUnavailable, match="base URL"):
        await ask(chat)
    await chat.aclose()


@WAYS
async def test_a_silent_server_is_given_up_at_the_deadline(
    server: ScriptedModelServer, hurried: PydanticAIChat, ask: Any
) -> None:
    server.fault = faults.Timeout()
    with anyio.fail_after(5), pytest.raises(ModelUnavailable, match=r"0\.3 s"):
        await ask(hurried)


@pytest.mark.parametrize("ask", [plain, with_schema])
@pytest.mark.parametrize("fault", [faults.SlowDrip(0.2), faults.EndlessStream()])
async def test_an_answer_that_drips_is_cut_by_the_deadline_of_the_whole_call(
    server: ScriptedModelServer, hurried: PydanticAIChat, ask: Any, fault: Fault
) -> None:
    server.fault = fault
    with anyio.fail_after(5), pytest.raises(ModelUnavailable, match=r"0\.3 s"):
        await ask(hurried)


async def test_a_stream_may_take_longer_than_the_deadline_but_no_pause_in_it(server: ScriptedModelServer) -> None:
    chat = PydanticAIChat.from_name(NAME, base_url=server.base_url, timeout=1)
    server.fault = faults.SlowDrip(0.15)
    begin = time.monotonic()
    assert await streamed(chat) == "You said: What is the answer to everything?"
    assert time.monotonic() - begin > 1
    server.fault = faults.SlowDrip(30)
    with anyio.fail_after(5), pytest.raises(ModelUnavailable, match="1 s"):
        await streamed(chat)
    await chat.aclose()


async def test_a_stream_that_never_stops_is_cut(server: ScriptedModelServer, chat: PydanticAIChat) -> None:
    server.fault = faults.EndlessStream(0)
    with pytest.raises(ModelOutputInvalid) as caught:
        async for _ in chat.stream(PROMPT, max_tokens=8, temperature=0):
            pass
    assert caught.value.reason == "too_long"


@WAYS
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (faults.Empty(), "empty"),
        (faults.ToolCallInsteadOfText(), "empty"),
        (faults.Refusal(), "refusal"),
        (faults.Filtered(), "refusal"),
        (faults.TooLong(), "too_long"),
    ],
)
async def test_an_answer_without_usable_text_is_invalid(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any, fault: Fault, reason: str
) -> None:
    server.fault = fault
    with pytest.raises(ModelOutputInvalid) as caught:
        await ask(chat)
    assert caught.value.reason == reason


async def test_json_that_was_cut_off_is_too_long_but_prose_is_given(
    server: ScriptedModelServer, chat: PydanticAIChat
) -> None:
    server.fault = faults.CutOff()
    assert await plain(chat)
    with pytest.raises(ModelOutputInvalid) as caught:
        await with_schema(chat)
    assert caught.value.reason == "too_long"


@WAYS
async def test_garbage_comes_back_as_text_that_can_be_encoded(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any
) -> None:
    server.fault = faults.Garbage()
    assert (await ask(chat)).encode("utf-8")


async def test_content_is_the_callers_to_judge(server: ScriptedModelServer, chat: PydanticAIChat) -> None:
    server.fail_next(faults.WrongIds())
    server.fail_next(faults.TruncatedJson())
    assert json.loads(await with_schema(chat)) == {"number": 1_000_042}
    assert await with_schema(chat) == '{"numbe'


@WAYS
async def test_nothing_is_tried_twice(server: ScriptedModelServer, chat: PydanticAIChat, ask: Any) -> None:
    for count, fault in enumerate(HTTP_FAULTS, start=1):
        server.fault = fault
        with pytest.raises(ModelError):
            await ask(chat)
        assert len(server.requests) == count


@WAYS
@pytest.mark.parametrize("fault", HTTP_FAULTS, ids=lambda fault: type(fault).__name__)
async def test_no_error_shows_the_key_or_the_prompt(
    server: ScriptedModelServer, chat: PydanticAIChat, ask: Any, fault: Fault
) -> None:
    server.fault = fault
    with pytest.raises(ModelError) as caught:
        await ask(chat)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in shown
    assert PROMPT[1].content not in shown


async def test_a_stream_comes_in_pieces_as_they_arrive(chat: PydanticAIChat) -> None:
    pieces = [piece async for piece in chat.stream(PROMPT, max_tokens=100, temperature=0)]
    assert pieces == ["You", " said:", " What", " is", " the", " answer", " to", " everything?"]


async def test_closing_a_stream_early_closes_the_connection(server: ScriptedModelServer, chat: PydanticAIChat) -> None:
    server.fail_next(faults.EndlessStream())
    stream = chat.stream(PROMPT, max_tokens=100, temperature=0)
    assert await anext(stream) == "You"
    await stream.aclose()
    assert await anyio.to_thread.run_sync(server.wait_for_leavers, 1)
    assert await plain(chat)


async def test_cancelling_a_call_closes_the_connection(server: ScriptedModelServer, chat: PydanticAIChat) -> None:
    server.fail_next(faults.Timeout())
    with anyio.move_on_after(0.1):
        await plain(chat)
    assert await anyio.to_thread.run_sync(server.wait_for_leavers, 1)


def no_schemas(param: str, request: Request) -> str | Fault:
    """A server that knows no `json_schema` and whose model likes to chat."""
    if request.native_schema is not None:
        return faults.BadRequest("unsupported_parameter", param)
    return 'Sure, here it is:\n```json\n{"number": 7, "text": "a } and a \\" in it"}\n```\nDoes {it} help?'


@pytest.mark.parametrize("param", ["response_format", "json_schema"])
async def test_a_server_without_schemas_is_asked_in_words_from_then_on(param: str) -> None:
    with ScriptedModelServer(partial(no_schemas, param)) as server:
        chat = PydanticAIChat.from_name(NAME, base_url=server.base_url)
        for _ in range(2):
            assert json.loads(await with_schema(chat))["number"] == 7
        await chat.aclose()
        refused, first, second = server.requests
    assert refused.native_schema is not None
    for request in (first, second):
        assert "response_format" not in request.body
        assert [m["role"] for m in request.messages] == ["system", "user"]
        assert request.messages[0]["content"].startswith("Be brief.")
        assert json.dumps(SCHEMA) in request.messages[0]["content"]


async def test_another_rejection_is_no_reason_to_ask_in_words(
    server: ScriptedModelServer, chat: PydanticAIChat
) -> None:
    server.fail_next(faults.BadRequest("unsupported_value", "temperature"))
    with pytest.raises(ModelRefused):
        await with_schema(chat)
    await with_schema(chat)
    assert [request.native_schema is not None for request in server.requests] == [True, True]


async def test_thoughts_are_no_part_of_the_answer() -> None:
    with ScriptedModelServer(lambda _: "<think>the user wants a number</think>Forty-two.") as server:
        chat = PydanticAIChat.from_name(NAME, base_url=server.base_url)
        assert (await plain(chat)).strip() == "Forty-two."
        await chat.aclose()


async def test_a_finish_reason_that_nobody_knows_is_harmless() -> None:
    with ScriptedModelServer(lambda _: Reply(text="Fine.", finish_reason="tired")) as server:
        chat = PydanticAIChat.from_name(NAME, base_url=server.base_url)
        assert (await plain(chat), await streamed(chat)) == ("Fine.", "Fine.")
        await chat.aclose()
