"""Chat models of any provider, through pydantic-ai.

Names are pydantic-ai's `provider:model`, with one difference: `openai:` means Chat Completions, which every compatible
server speaks and which leaves nothing stored at the provider; `openai-responses:` is there for the other API.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any, Self

import anyio
from pydantic_ai import exceptions as failures
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from anaphora.domain.wire import PromptMessage, to_openai
from anaphora.errors import ModelOutputInvalid
from anaphora.models.prompted import json_text, with_schema
from anaphora.models.provider_errors import ProviderErrors
from anaphora.models.providers import named, provider_of, split_name
from anaphora.ports.models import Completion
from anaphora.ports.tools import Tool, ToolCall

EXAMPLE = "openai:gpt-4.1-mini"
DEFAULT_TIMEOUT = 60.0
#: characters of the longest token that is in use (a run of blanks in o200k_base): no answer is longer per token
LONGEST_TOKEN = 128

_SCHEMA_STATUSES = frozenset({400, 404, 422, 501})
_SCHEMA_WORDS = ("response_format", "json_schema", "structured output")
_NOT_A_SCHEMA_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


class PydanticAIChat:
    """Fulfils `ChatModel` on a model of pydantic-ai. Never retries: the worker does. Belongs to one event loop.

    Args:
        model: the model; `from_name` makes one.
        name: the configured name, shown in errors and summaries.
        timeout: seconds that `complete` may take all in all, and that `stream` may wait for each piece.
        key: the API key, so that no error shows it.

    """

    def __init__(self, model: Model, *, name: str, timeout: float = DEFAULT_TIMEOUT, key: str | None = None) -> None:
        self._model = model
        self._name = name
        self._timeout = timeout
        self._errors = ProviderErrors(who=f"model {name}", timeout=timeout, key=key)
        self._native_schema = bool(model.profile.get("supports_json_schema_output"))
        # models that reason choose their own; pydantic-ai would warn at every call
        self._takes_temperature = not (
            model.profile.get("openai_supports_reasoning") or model.profile.get("anthropic_disallows_sampling_settings")
        )

    @classmethod
    def from_name(
        cls, name: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> Self:
        """A model from its name, such as `openai:gpt-4.1-mini` or `ollama:llama3.2`.

        Args:
            name: `provider:model`.
            base_url: where the provider answers; with `openai:` any OpenAI-compatible server, to which no key is sent
                but the one given here.
            api_key: None = what the provider's own environment variable says.
            timeout: seconds.

        Raises:
            ConfigError: an unknown provider, a missing key or package; the line says what to set or install.

        """
        provider, model = split_name(name, base_url=base_url, api_key=api_key, what="model", example=EXAMPLE)
        with named(name, what="model"):
            built = _build(provider, model, base_url=base_url, api_key=api_key)
        return cls(built, name=name, timeout=timeout, key=api_key)

    @property
    def name(self) -> str:
        """The configured name."""
        return self._name

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        temperature: float,
    ) -> Completion:
        """One answer.

        With a schema its text is the JSON object alone. A provider that knows no `json_schema` is asked in words from
        then on, and such answers may well not conform.

        Raises:
            ModelUnavailable: no answer in time, no connection, a rate limit (`retry_after`), a fault of the server.
            ModelRefused: a wrong key or name, a request that the provider does not take.
            ModelOutputInvalid: `refusal`, `empty`, or `too_long` (cut off although JSON was wanted, or endless).

        """
        wire = to_openai(messages)
        settings = self._settings(max_tokens=max_tokens, temperature=temperature, terse=schema is not None)
        with self._errors.translated(), anyio.fail_after(self._timeout):
            if schema is None:
                response = await model_request(self._model, _to_messages(wire), model_settings=settings)
            else:
                response = await self._structured(wire, schema, settings)
        text = _text_of(response, json=schema is not None, max_tokens=max_tokens)
        return Completion(
            text=text,
            model=response.model_name or self._name,
            input_tokens=response.usage.input_tokens or None,
            output_tokens=response.usage.output_tokens or None,
        )

    async def stream(
        self, messages: Sequence[PromptMessage], *, max_tokens: int, temperature: float
    ) -> AsyncGenerator[str]:
        """The answer in pieces; closing the generator closes the connection.

        Raises:
            ModelError: as `complete` does, before the first piece or between two.

        """
        asked = self._settings(max_tokens=max_tokens, temperature=temperature, terse=False)
        async with aclosing(self._pieces(messages, asked, ModelRequestParameters(), max_tokens)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield piece

    async def stream_with_tools(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[Tool],
        may_call: bool,
        max_tokens: int,
        temperature: float,
    ) -> AsyncGenerator[str | ToolCall]:
        """The answer in pieces, then the tools that it calls; closing the generator closes the connection.

        Raises:
            ModelError: as `complete` does, before the first piece or between two.

        """
        asked = self._settings(max_tokens=max_tokens, temperature=temperature, terse=False)
        if not may_call:
            asked["tool_choice"] = "none"
        offered = [
            ToolDefinition(
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters), strict=False
            )
            for tool in tools
        ]
        wanted = ModelRequestParameters(function_tools=offered)
        async with aclosing(self._pieces(messages, asked, wanted, max_tokens)) as pieces:
            async for piece in pieces:
                yield piece

    async def _pieces(
        self,
        messages: Sequence[PromptMessage],
        settings: ModelSettings,
        wanted: ModelRequestParameters,
        max_tokens: int,
    ) -> AsyncGenerator[str | ToolCall]:
        """Text as it comes, then the calls of tools that were offered."""
        room = max_tokens * LONGEST_TOKEN
        said = False
        async with AsyncExitStack() as stack:
            with self._errors.translated(), anyio.fail_after(self._timeout):
                prompt = _to_messages(to_openai(messages))
                response = await stack.enter_async_context(
                    model_request_stream(self._model, prompt, model_settings=settings, model_request_parameters=wanted)
                )
            events = aiter(response)
            while True:
                with self._errors.translated(), anyio.fail_after(self._timeout):
                    event = await anext(events, None)
                if event is None:
                    break
                piece = _unicode(_piece_of(event))
                room -= len(piece) or _called_with(event)
                if room < 0:
                    raise ModelOutputInvalid("too_long", f"more than max_tokens={max_tokens}")
                if piece:
                    said = True
                    yield piece
            whole = response.get()
            calls = _calls_of(whole) if wanted.function_tools and settings.get("tool_choice") != "none" else ()
            if response.finish_reason == "content_filter" or not (said or calls):
                _text_of(whole, json=False, max_tokens=max_tokens)
            for call in calls:
                yield call

    async def aclose(self) -> None:
        """Close idle connections. The model is not used after this."""
        async with self._model:
            pass

    async def _structured(
        self, wire: list[dict[str, Any]], schema: Mapping[str, Any], settings: ModelSettings
    ) -> ModelResponse:
        if self._native_schema:
            title = _NOT_A_SCHEMA_NAME.sub("_", str(schema.get("title", "")))[:64] or None
            wanted = ModelRequestParameters(
                output_mode="native", output_object=OutputObjectDefinition(json_schema=dict(schema), name=title)
            )
            try:
                return await model_request(
                    self._model, _to_messages(wire), model_settings=settings, model_request_parameters=wanted
                )
            except failures.ModelHTTPError as error:
                if not _knows_no_schema(error):
                    raise
            self._native_schema = False
        return await model_request(self._model, _to_messages(with_schema(wire, schema)), model_settings=settings)

    def _settings(self, *, max_tokens: int, temperature: float, terse: bool) -> ModelSettings:
        settings = ModelSettings(max_tokens=max_tokens)
        if "max_retries" not in self._model.unsupported_settings:
            settings["max_retries"] = 0
        if self._takes_temperature:
            settings["temperature"] = temperature
        if terse:
            # thoughts count as output: they would eat what the JSON needs
            settings["thinking"] = False
        return settings


def _build(provider: str, model: str, *, base_url: str | None, api_key: str | None) -> Model:
    made = partial(provider_of, base_url=base_url, api_key=api_key)
    if provider in {"openai", "openai-chat"} and base_url is not None:
        profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
        return OpenAIChatModel(model, provider=made(provider), profile=profile)
    return infer_model(f"{'openai-chat' if provider == 'openai' else provider}:{model}", made)


def _to_messages(wire: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """OpenAI-shaped messages as pydantic-ai has them; neighbours that are not the assistant's are one request."""
    out: list[ModelMessage] = []
    tools: dict[str, str] = {}
    asked: list[ModelRequestPart] = []
    for message in wire:
        role, content = message["role"], message["content"] or ""
        if role == "assistant":
            calls = [
                ToolCallPart(call["function"]["name"], call["function"]["arguments"], tool_call_id=call["id"])
                for call in message.get("tool_calls", ())
            ]
            tools |= {call.tool_call_id: call.tool_name for call in calls}
            said: list[ModelResponsePart] = [TextPart(content)] if content or not calls else []
            if asked:
                out.append(ModelRequest(parts=asked))
            out.append(ModelResponse(parts=[*said, *calls]))
            asked = []
        elif role == "tool":
            identity = message["tool_call_id"]
            asked.append(ToolReturnPart(tools.get(identity, "tool"), content, tool_call_id=identity))
        else:
            asked.append(SystemPromptPart(content) if role == "system" else UserPromptPart(content))
    if asked:
        out.append(ModelRequest(parts=asked))
    return out


def _knows_no_schema(error: failures.ModelHTTPError) -> bool:
    body = str(error.body).lower()
    return error.status_code in _SCHEMA_STATUSES and any(word in body for word in _SCHEMA_WORDS)


def _text_of(response: ModelResponse, *, json: bool, max_tokens: int) -> str:
    """The text of an answer.

    Raises:
        ModelOutputInvalid: there is none, or it is a refusal, cut off (JSON) or longer than it may be.

    """
    text = _unicode(response.text or "")
    if response.finish_reason == "content_filter":
        raise ModelOutputInvalid("refusal", "the provider's filter or the model itself declined")
    if (json and response.finish_reason == "length") or len(text) > max_tokens * LONGEST_TOKEN:
        raise ModelOutputInvalid("too_long", f"more than max_tokens={max_tokens}")
    if not text.strip():
        called = any(isinstance(part, ToolCallPart) for part in response.parts)
        raise ModelOutputInvalid("empty", "it called a tool that it was not offered" if called else "")
    return json_text(text) if json else text


def _calls_of(response: ModelResponse) -> tuple[ToolCall, ...]:
    """What an answer calls; that it was offered is for the toolbox to see."""
    return tuple(
        ToolCall(id=_unicode(part.tool_call_id), name=_unicode(part.tool_name), arguments=_unicode(_arguments_of(part)))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )


def _arguments_of(part: ToolCallPart) -> str:
    return part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False)


def _called_with(event: ModelResponseStreamEvent) -> int:
    """How long what the event adds to a call is."""
    match event:
        case PartStartEvent(part=ToolCallPart() as part):
            return len(part.tool_name) + len(_arguments_of(part))
        case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(more))):
            return len(more)
        case _:
            return 0


def _piece_of(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _unicode(text: str) -> str:
    """Text that any store can encode: halves of surrogate pairs, which JSON can carry, become U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
