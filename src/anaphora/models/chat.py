"""Chat models of any provider, through pydantic-ai.

Names are pydantic-ai's `provider:model`, with one difference: `openai:` means Chat Completions, which every compatible
server speaks and which leaves nothing stored at the provider; `openai-responses:` is there for the other API.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Any, Self

import anyio
from openai import OpenAIError
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
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from anaphora.domain.wire import PromptMessage, to_openai
from anaphora.errors import ConfigError, ModelError, ModelOutputInvalid, ModelRefused, ModelUnavailable
from anaphora.models.prompted import json_text, with_schema
from anaphora.ports.models import Completion

#: where Ollama answers unless OLLAMA_BASE_URL or a setting says otherwise (its documentation)
OLLAMA_URL = "http://localhost:11434/v1"
DEFAULT_TIMEOUT = 60.0
#: characters of the longest token that is in use (a run of blanks in o200k_base): no answer is longer per token
LONGEST_TOKEN = 128

_TRY_AGAIN_STATUSES = frozenset({408, 409, 425, 429})
_TRY_AGAIN = (
    failures.ModelRateLimitError,
    failures.ModelUnavailableError,
    failures.ModelServerError,
    failures.ModelConnectionError,
    failures.ModelRequestTimeout,
)
_REFUSED = (failures.ModelRequestRejectedError, failures.ModelQuotaExceededError)
_SCHEMA_STATUSES = frozenset({400, 404, 422, 501})
_SCHEMA_WORDS = ("response_format", "json_schema", "structured output")
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
#: what may be shown of a provider's error: a code, never its prose, which may repeat the key or the prompt
_CODE = re.compile(r"[A-Za-z]{1,24}(?:[_.-][A-Za-z]{1,24}){0,6}|\d{3,5}")
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
        self._key = key
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
        provider, _, model = name.partition(":")
        if not (provider and model) or any(c.isspace() or not c.isprintable() for c in name):
            raise ConfigError(f"the model {name!r} has no provider: write it like openai:gpt-4.1-mini")
        if base_url is not None and not re.fullmatch(r"https?://[!-~]+", base_url):
            raise ConfigError(f"the base URL of model {name} is none: write it like http://localhost:8000/v1")
        if api_key is not None and not re.fullmatch(r"[!-~]+", api_key):
            raise ConfigError(f"the API key of model {name} is empty or holds blanks or letters that no key has")
        try:
            built = _build(provider, model, base_url=base_url, api_key=api_key)
        except ImportError:
            raise ConfigError(f"model {name} needs more packages: pip install 'pydantic-ai-slim[{provider}]'") from None
        except ValueError:
            raise ConfigError(f"model {name} names no known provider: openai, azure, ollama, anthropic, ...") from None
        except (failures.UserError, OpenAIError) as error:
            variable = _VARIABLE.search(str(error))
            advice = f"set {variable[1]}" if variable else "check its provider and what that needs to be set"
            raise ConfigError(f"model {name} cannot be used yet: {advice}") from None
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
        with self._errors(), anyio.fail_after(self._timeout):
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
        settings = self._settings(max_tokens=max_tokens, temperature=temperature, terse=False)
        room = max_tokens * LONGEST_TOKEN
        start = room
        async with AsyncExitStack() as stack:
            with self._errors(), anyio.fail_after(self._timeout):
                response = await stack.enter_async_context(
                    model_request_stream(self._model, _to_messages(to_openai(messages)), model_settings=settings)
                )
            events = aiter(response)
            while True:
                with self._errors(), anyio.fail_after(self._timeout):
                    event = await anext(events, None)
                if event is None:
                    break
                piece = _unicode(_piece_of(event))
                room -= len(piece)
                if room < 0:
                    raise ModelOutputInvalid("too_long", f"more than max_tokens={max_tokens}")
                if piece:
                    yield piece
            if response.finish_reason == "content_filter" or room == start:
                _text_of(response.get(), json=False, max_tokens=max_tokens)

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

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what a provider or a time-out raises into ours; `from None`, since theirs may show key and prompt."""
        try:
            yield
        except TimeoutError:
            raise ModelUnavailable(
                f"model {self._name} did not answer within {self._timeout:g} s: try later or allow more time"
            ) from None
        except failures.ModelHTTPError as error:
            raise self._http_error(error) from None
        except _REFUSED as error:
            raise ModelRefused(f"model {self._name} rejected the request{self._codes(error)}") from None
        except failures.ModelAPIError as error:
            what = "failed" if isinstance(error, _TRY_AGAIN) else "gave no answer that can be read"
            if isinstance(error, failures.ModelConnectionError):
                what = "cannot be reached or broke off"
            raise ModelUnavailable(
                f"model {self._name} {what}{self._codes(error)}: try later, or check the network and the base URL",
                retry_after=error.retry_after,
            ) from None
        except failures.UnexpectedModelBehavior:
            raise ModelUnavailable(
                f"model {self._name} gave no answer that can be read: try later, or check the base URL"
            ) from None
        except failures.UserError:
            raise ModelRefused(f"model {self._name} cannot take this request: choose another model") from None

    def _http_error(self, error: failures.ModelHTTPError) -> ModelError:
        status = f"{error.status_code}{self._codes(error)}"
        if error.status_code in _TRY_AGAIN_STATUSES or error.status_code >= 500:
            what = "is asked too often" if error.status_code == 429 else "failed on its server"
            return ModelUnavailable(f"model {self._name} {what} ({status}): try later", retry_after=_wait(error))
        if error.status_code in {401, 403}:
            advice = "check the API key and what it may use"
        elif error.status_code == 402:
            advice = "check the account's credit"
        elif error.status_code in {404, 405}:
            advice = "check the model's name and the base URL (most end in /v1)"
        elif isinstance(error, failures.ModelContextWindowExceededError):
            advice = "the prompt is longer than it takes, use a smaller budget"
        else:
            advice = "check the model's name and its settings"
        return ModelRefused(f"model {self._name} rejected the request ({status}): {advice}")

    def _codes(self, error: failures.ModelAPIError) -> str:
        """The provider's machine-readable words for what was wrong, with a blank before each."""
        body = error.body if isinstance(error.body, dict) else {}
        words = (error.provider_error_code, error.provider_error_type, body.get("param"))
        shown = [w for w in words if isinstance(w, str) and _CODE.fullmatch(w) and not self._shows_key(w)]
        return "".join(f" {word}" for word in dict.fromkeys(shown))

    def _shows_key(self, word: str) -> bool:
        return self._key is not None and (word in self._key or self._key in word)


def _build(provider: str, model: str, *, base_url: str | None, api_key: str | None) -> Model:
    if provider in {"openai", "openai-chat"} and base_url is not None:
        # never OpenAIProvider here: it would send the user's OpenAI key to somebody else's server
        compatible = OpenAICompatibleProvider("openai-compatible", base_url=base_url, api_key=api_key)
        profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
        return OpenAIChatModel(model, provider=compatible, profile=profile)

    def make(kind: str) -> Provider[Any]:
        factory = infer_provider_class(kind)
        if base_url is None and api_key is None:
            try:
                return infer_provider(kind)
            except failures.UserError:
                if kind != "ollama":
                    raise
                wanted = {"base_url": OLLAMA_URL}
                return factory(**wanted)
        takes = inspect.signature(factory).parameters
        given = {"azure_endpoint" if "azure_endpoint" in takes else "base_url": base_url, "api_key": api_key}
        wanted = {key: value for key, value in given.items() if value is not None}
        if not wanted.keys() <= takes.keys():
            raise ConfigError(
                f"provider {kind} takes no {', '.join(sorted(wanted.keys() - takes.keys()))}: leave it out"
            )
        return factory(**wanted)

    return infer_model(f"{'openai-chat' if provider == 'openai' else provider}:{model}", make)


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


def _wait(error: failures.ModelHTTPError) -> float | None:
    """Seconds that the server asked us to wait; pydantic-ai reads whole seconds and dates, some servers send 0.5."""
    if error.retry_after is not None:
        return error.retry_after
    sent = (error.headers or {}).get("retry-after", "")
    return float(sent) if re.fullmatch(r"\d{1,9}\.\d{1,9}", sent) else None


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


def _piece_of(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _unicode(text: str) -> str:
    """Text that any store can encode: halves of surrogate pairs, which JSON can carry, become U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
