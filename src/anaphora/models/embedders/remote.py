"""Embedders of any provider, through pydantic-ai. Names are its `provider:model`."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Final, Self, get_args
from urllib.parse import urlsplit

import anyio
from openai import AsyncOpenAI
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings, infer_embedding_model
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.models import OpenAIChatCompatibleProvider, OpenAIResponsesCompatibleProvider
from pydantic_ai.providers import Provider

from anaphora.domain.vectors import MAX_DIMENSIONS
from anaphora.errors import ConfigError, ModelOutputInvalid, ModelRefused, ModelUnavailable, UnknownName
from anaphora.models.embedders.loop import LoopThread
from anaphora.models.embedders.profiles import GENERIC
from anaphora.models.provider_errors import ProviderErrors
from anaphora.models.providers import named, provider_of, split_name
from anaphora.ports.models import EmbedderProfile

EXAMPLE: Final = "openai:text-embedding-3-small"
DEFAULT_TIMEOUT: Final = 30.0
#: texts of one request: servers take 32 and more
TEXTS_AT_A_TIME: Final = 32
#: characters of a text that are sent, for each token that the model can surely read; passages have fewer
CHARS_PER_TOKEN: Final = 4
#: what stands for a text without a letter, which providers do not take
_BLANK: Final = "-"
#: what is embedded to learn how long the vectors are
_A_WORD: Final = "word"

PROVIDERS: Final = frozenset(
    {
        "openai",
        "cohere",
        "bedrock",
        "google",
        "google-cloud",
        "voyageai",
        *get_args(OpenAIChatCompatibleProvider.__value__),
        *get_args(OpenAIResponsesCompatibleProvider.__value__),
    }
)
#: what a library makes of an answer that is JSON, but not that of an embedder
_NOT_AN_ANSWER: Final = (ValueError, TypeError, AttributeError, LookupError)


class RemoteProfile(EmbedderProfile):
    """What is known of a remote embedder. How long its vectors are is asked for when somebody wants to know.

    Reading `dimensions` may therefore block, and raise the errors of `Embedder.embed`; the rest never does.
    """

    __slots__ = ("_ask",)

    def __init__(self, known: EmbedderProfile, ask: Callable[[], int]) -> None:
        for each in fields(EmbedderProfile):
            if each.name != "dimensions":
                object.__setattr__(self, each.name, getattr(known, each.name))
        object.__setattr__(self, "_ask", ask)

    @property
    def dimensions(self) -> int:
        """How long the vectors are."""
        ask: Callable[[], int] = object.__getattribute__(self, "_ask")
        return ask()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteProfile) and self._known() == other._known()

    def __hash__(self) -> int:
        return hash(self._known())

    def __repr__(self) -> str:
        return f"RemoteProfile(id={self.id!r})"

    def _known(self) -> tuple[object, ...]:
        return tuple(getattr(self, each.name) for each in fields(EmbedderProfile) if each.name != "dimensions")


class RemoteEmbedder:
    """Fulfils `Embedder` on an embedding model of pydantic-ai. Never retries: the worker does.

    Making one touches no network. Calls block, from any thread: one event loop in a thread of its own serves them all,
    from the first call until `close`. Several texts are one request.

    Args:
        model: the model; `from_name` makes one.
        provider: where it is asked; entered and closed here.
        profile: what is known of it, but for its dimensions.
        dimensions: how long its vectors shall be; None: as the model gives them.
        timeout: seconds that one request may take.
        key: the API key, so that no error shows it.

    """

    def __init__(
        self,
        model: EmbeddingModel,
        provider: Provider[Any],
        profile: EmbedderProfile,
        *,
        dimensions: int | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        key: str | None = None,
    ) -> None:
        self._model = model
        self._known = profile
        self._wanted = EmbeddingSettings() if dimensions is None else EmbeddingSettings(dimensions=dimensions)
        self._dimensions = dimensions
        self._measured = threading.Lock()
        self._timeout = timeout
        self._who = f"embedder {profile.id}"
        too_long = "the text is longer than it takes, use another model"
        self._errors = ProviderErrors(who=self._who, timeout=timeout, key=key, too_long=too_long)
        self._loop = LoopThread(provider)
        # who forgets to close leaves no thread behind
        self._forgotten = weakref.finalize(self, self._loop.leave)

    @classmethod
    def from_name(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        profile: EmbedderProfile = GENERIC,
    ) -> Self:
        """An embedder from its name, such as `openai:text-embedding-3-small` or `ollama:nomic-embed-text`.

        Args:
            name: `provider:model`.
            base_url: where the provider answers; with `openai:` any OpenAI-compatible server, to which no key is sent
                but the one given here.
            api_key: None = what the provider's own environment variable says.
            dimensions: how long the vectors shall be; None: as the model gives them.
            timeout: seconds that one request may take.
            profile: how its cosines are to be read; its id and dimensions do not count.

        Raises:
            ConfigError: an unknown provider, a missing key or package; the line says what to set or install.

        """
        kind, model = split_name(name, base_url=base_url, api_key=api_key, what="embedder", example=EXAMPLE)
        if kind not in PROVIDERS:
            raise ConfigError(f"embedder {name}: {UnknownName('provider', kind, PROVIDERS)}")
        with named(name, what="embedder"):
            provider = provider_of(kind, base_url=base_url, api_key=api_key)
            built = infer_embedding_model(f"{kind}:{model}", provider_factory=lambda _: provider)
        if isinstance(provider.client, AsyncOpenAI):
            provider.client.max_retries = 0
        anybodys = base_url is not None or isinstance(built, OpenAIEmbeddingModel)
        place = _place(built.base_url) if anybodys else ""
        known = replace(
            profile,
            id=f"{name}{f'/{dimensions}' if dimensions else ''}{place}",
            at_once=TEXTS_AT_A_TIME,
            # other providers are told which of them are questions
            alike=isinstance(built, OpenAIEmbeddingModel),
        )
        return cls(built, provider, known, dimensions=dimensions, timeout=timeout, key=api_key)

    @property
    def profile(self) -> RemoteProfile:
        """What is known of this embedder; its `dimensions` may have to be asked for, which blocks and may fail."""
        return RemoteProfile(self._known, self._ask)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of passages, one each, `profile.dimensions` long: all of them or none.

        Raises:
            ModelUnavailable: no answer in time, no connection, a rate limit (`retry_after`), a fault of the server.
            ModelRefused: a wrong key or name, a request that the provider does not take, vectors too long to be kept.
            ModelOutputInvalid: not one vector for each text, another length, a value that is no finite number.

        """
        return self._embed(texts, "document")

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of a question.

        Raises:
            ModelError: as `embed` does.

        """
        (vector,) = self._embed([self._known.query_prefix + text], "query")
        return vector

    def close(self) -> None:
        """Close the connections and end the thread. Twice is harmless; what is asked afterwards is unavailable."""
        self._forgotten.detach()
        self._loop.close()

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._known.id!r})"

    def _embed(self, texts: Sequence[str], kind: EmbedInputType) -> list[list[float]]:
        sent = [self._sendable(text) for text in texts]
        made: list[list[float]] = []
        for start in range(0, len(sent), TEXTS_AT_A_TIME):
            made += self._request(sent[start : start + TEXTS_AT_A_TIME], kind)
        return made

    def _request(self, texts: list[str], kind: EmbedInputType) -> list[list[float]]:
        model, wanted, timeout = self._model, self._wanted, self._timeout

        async def ask() -> Sequence[Sequence[float]]:
            with anyio.fail_after(timeout):
                return (await model.embed(texts, input_type=kind, settings=wanted)).embeddings

        try:
            with self._errors.translated():
                vectors = self._loop.call(ask)
        except _NOT_AN_ANSWER:
            raise ModelOutputInvalid("unparsable", f"{self._who} sent no vectors: check the base URL") from None
        if vectors is None:
            raise ModelUnavailable(f"{self._who} is closed: open the memory again")
        if len(vectors) != len(texts):
            raise ModelOutputInvalid("unparsable", f"{self._who} sent {len(vectors)} vectors for {len(texts)} texts")
        return [self._unit(vector) for vector in vectors]

    def _unit(self, vector: Sequence[float]) -> list[float]:
        """The vector as it may be kept, brought to length 1."""
        try:
            length = math.hypot(*vector)
        except TypeError:
            raise ModelOutputInvalid("unparsable", f"{self._who} sent a vector with what is no number") from None
        if not math.isfinite(length) or length == 0:
            what = "of zeros" if length == 0 else "with a value that is no finite number"
            raise ModelOutputInvalid("out_of_range", f"{self._who} sent a vector {what}")
        expected = self._measure(len(vector))
        if len(vector) != expected:
            raise ModelOutputInvalid("out_of_range", f"{self._who} sent a vector of {len(vector)}, not of {expected}")
        return [value / length for value in vector]

    def _measure(self, length: int) -> int:
        """How long vectors are: as was said, or as the first was."""
        if length > MAX_DIMENSIONS and self._dimensions is None:
            raise ModelRefused(
                f"{self._who} makes vectors of {length}, at most {MAX_DIMENSIONS} can be kept: set embedder_dimensions"
            )
        with self._measured:
            if self._dimensions is None:
                self._dimensions = length
            return self._dimensions

    def _ask(self) -> int:
        if self._dimensions is None:
            self._request([_A_WORD], "document")
        if self._dimensions is None:
            raise AssertionError("a vector was measured")
        return self._dimensions

    def _sendable(self, text: str) -> str:
        shown = text[: self._known.max_tokens * CHARS_PER_TOKEN].encode("utf-8", "replace").decode("utf-8")
        return shown if shown.strip() else _BLANK


def _place(url: str | None) -> str:
    """Where an embedder answers, as part of its id: host and port, never a user, a key or a path."""
    if url is None:
        return ""
    parts = urlsplit(url)
    return f"@{parts.hostname}{f':{parts.port}' if parts.port else ''}"
